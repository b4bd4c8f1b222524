"""Real programs that tests start on this machine: where they are kept, how they start, and what a missing one means."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TypeVar

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
PEERS = CHECKOUT / ".peers"
"""What ``make peers`` fetched; CI may cache it."""

_START_S = 60.0

T = TypeVar("T")


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
        _until_listening(process, port, log)
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):  # it died by itself, and what it said is in the error
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _until_listening(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError(f"{process.args!r} does not listen on {port}:\n{log.read_text(errors='replace')[-2_000:]}")
