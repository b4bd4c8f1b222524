"""Real programs that tests start on this machine: where they are kept, how they start, and what a missing one means."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, NamedTuple, TypeVar

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
PEERS = CHECKOUT / ".peers"
"""What ``make peers`` fetched; CI may cache it."""

_START_S = 60.0

T = TypeVar("T")


class Left(NamedTuple):
    """A program that was left running: its process group, and where it listens."""

    group: int
    port: int

    def is_up(self) -> bool:
        try:
            os.killpg(self.group, 0)
        except ProcessLookupError:
            return False
        return True

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):  # it died by itself
            os.killpg(self.group, signal.SIGKILL)


class PeerMissing(Exception):
    """The program cannot be had on this machine; the text says how to get it."""


def provided(start: Callable[[Path], AbstractContextManager[T]], folder: Path) -> Iterator[T]:
    """The body of a fixture. Skips, or with FOREWATCH_REQUIRE=all fails, where the program cannot be had."""
    try:
        with start(folder) as peer:
            yield peer
    except PeerMissing as missing:
        if os.environ.get("FOREWATCH_REQUIRE") == "all":
            pytest.fail(str(missing))
        pytest.skip(str(missing))


def needed(look: Callable[[], T]) -> T:
    """The same for what is only looked up: a schema, a program that runs and ends."""
    try:
        return look()
    except PeerMissing as missing:
        if os.environ.get("FOREWATCH_REQUIRE") == "all":
            pytest.fail(str(missing))
        pytest.skip(str(missing))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def running(
    command: Sequence[str], port: int, log: Path, environment: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """The program, once it listens on ``port``; killed with all that it started."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**os.environ, **(environment or {})},
        )
    try:
        _until_listening(command, port, log, lambda: process.poll() is None)
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):  # it died by itself, and what it said is in the error
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextmanager
def shared(folder: Path, start: Callable[[Path], Left]) -> Iterator[int]:
    """The port of a program that is one for all workers of a run, which give the same ``folder``: the first that comes
    starts it, in a folder of its own, and the last that goes kills it. A worker that dies has gone."""
    said = folder / "left.json"
    with (folder / "users").open("w") as users:
        with _one_after_another(folder):
            fcntl.flock(users, fcntl.LOCK_SH)
            if not said.exists():
                said.write_text(json.dumps(start(Path(tempfile.mkdtemp(dir=folder)))))
            left = Left(*json.loads(said.read_text()))
        try:
            yield left.port
        finally:
            with _one_after_another(folder):
                if _has_nobody_else(users):
                    said.unlink()
                    left.kill()


@contextmanager
def _one_after_another(folder: Path) -> Iterator[None]:
    with (folder / "turn").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        yield


def _has_nobody_else(users: IO[str]) -> bool:
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def leave_running(command: Sequence[str], port: int, log: Path) -> Left:
    """Start a program that outlives this process, once it listens on ``port``."""
    script = '"$@" >"$0" 2>&1 & echo $$'
    started = subprocess.run(
        ["sh", "-c", script, str(log), *command], start_new_session=True, stdout=subprocess.PIPE, text=True, check=True
    )
    left = Left(int(started.stdout), port)
    try:
        _until_listening(command, port, log, left.is_up)
    except BaseException:
        left.kill()
        raise
    return left


def _until_listening(command: Sequence[str], port: int, log: Path, is_up: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline and is_up():
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError(f"{command!r} does not listen on {port}:\n{log.read_text(errors='replace')[-2_000:]}")
