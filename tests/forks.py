"""``python -c CODE`` as a process of its own, but without its start: forked from one that has imported the product.

``Popen`` and ``run`` are used like those of ``subprocess``. What a fork could not do as a real start would gets a real
start: other arguments than ``[sys.executable, "-c", CODE, ...]``, a terminal, an environment that differs in more than
``FREE``. A test of the start itself uses ``subprocess``. ``test_forks.py`` holds both ways to the same behaviour.
"""

from __future__ import annotations

import atexit
import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from inspect import signature
from itertools import cycle
from pathlib import Path
from typing import Any

from tests.forkserver import IMPORTED, NUMBER, WORKERS

ROOT = Path(__file__).parents[1]
FREE = ("FOREWATCH_", "PYTEST_")
"""How the names of variables begin that neither the interpreter nor an import reads."""
SERVE = """
import socket, sys
from tests.forkserver import serve
exec(serve(socket.socket(fileno=int(sys.argv[1])), sys.argv[2:]))
"""
WORKER = """
import importlib, os, sys
module = importlib.import_module(sys.argv.pop())
sys.argv.append(str(os.getppid()))
module.main()
"""
"""Its parent, with which it dies, is the keeper."""

_parameters = signature(subprocess.Popen._execute_child)  # type: ignore[attr-defined]


class Popen(subprocess.Popen[Any]):
    """The parent of the process is its keeper, which tells by ``_keeper`` its id and how it ended."""

    servers = staticmethod(cache(lambda: _Servers(IMPORTED)))
    _keeper: socket.socket | None = None

    def _execute_child(self, *given: Any) -> None:
        start = _parameters.bind(self, *given).arguments
        environment = dict(os.environ if start["env"] is None else start["env"])
        ours = (start["p2cread"], start["c2pwrite"], start["errwrite"])
        streams = [number if stream == -1 else stream for number, stream in enumerate(ours)]
        if not (_is_plain(start) and self.servers().suit(environment) and not any(map(os.isatty, streams))):
            super()._execute_child(*given)  # type: ignore[misc]
            return
        _, _, code, *arguments = map(str, start["args"])
        cwd = os.path.abspath(start["cwd"] or ".")
        request = {"code": code, "arguments": arguments, "cwd": cwd, "environment": environment}
        self._keeper = self.servers().fork(request, streams)
        self.pid = _number(self._keeper)
        self._child_created = True
        pipes = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
        self._close_pipe_fds(*(start[pipe] for pipe in pipes))  # type: ignore[attr-defined]

    def _try_wait(self, flags: int) -> tuple[int, int]:
        if self._keeper is None:
            return super()._try_wait(flags)  # type: ignore[misc, no-any-return]
        self._keeper.setblocking(not flags & os.WNOHANG)
        try:
            status = _number(self._keeper)
        except BlockingIOError:
            return 0, 0
        self._keeper.close()
        return self.pid, status

    def _internal_poll(self, *given: Any, **named: Any) -> int | None:
        if self._keeper is None:
            return super()._internal_poll(*given, **named)  # type: ignore[misc, no-any-return]
        if self.returncode is None:
            with suppress(subprocess.TimeoutExpired):
                self._wait(0)
        return self.returncode


def run(
    arguments: Sequence[object],
    *,
    input: str | None = None,
    capture_output: bool = False,
    timeout: float | None = None,
    check: bool = False,
    **options: Any,
) -> subprocess.CompletedProcess[Any]:
    """As ``subprocess.run``, which takes no other Popen than its own."""
    if input is not None:
        options["stdin"] = subprocess.PIPE
    if capture_output:
        options |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with Popen(list(map(str, arguments)), **options) as process:
        try:
            out, err = process.communicate(input, timeout)
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(process.args, process.returncode, out, err)
    if check:
        done.check_returncode()
    return done


def start_worker(module: str) -> subprocess.Popen[bytes]:
    """In place of ``forewatch.storage.process.start``: most of the CPU of a query in a test went into starting an
    interpreter and importing DuckDB."""
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", WORKER, module]
    return _Worker(command, stdin=pipe, stdout=pipe, stderr=pipe, env=_Worker.servers().environment, cwd="/")


class _Worker(Popen):
    servers = staticmethod(cache(lambda: _Servers(WORKERS)))


def _is_plain(start: Mapping[str, Any]) -> bool:
    is_code = not start["shell"] and list(start["args"][:2]) == [sys.executable, "-c"]
    return is_code and not any(start[extra] for extra in ("executable", "preexec_fn", "pass_fds", "start_new_session"))


def _number(keeper: socket.socket) -> int:
    said = keeper.recv(NUMBER)
    if not said:
        raise RuntimeError("the keeper of a fork has ended without a word")
    return int.from_bytes(said)


def _fixed(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if not name.startswith(FREE)}


class _Servers:
    """Two, asked in turn: as with real starts, a process and the next one do not have the same hash seed."""

    def __init__(self, imported: Sequence[str]) -> None:
        self.environment = _fixed(os.environ)
        self._controls, self._processes = zip(*(_server(imported) for _ in range(2)), strict=True)
        self._next = cycle(self._controls)
        atexit.register(self.close)

    def suit(self, environment: Mapping[str, str]) -> bool:
        return _fixed(environment) == self.environment

    def fork(self, request: Mapping[str, object], streams: Sequence[int]) -> socket.socket:
        ours, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(next(self._next), [json.dumps(request).encode()], [*streams, theirs.fileno()])
        return ours

    def close(self) -> None:
        for control, process in zip(self._controls, self._processes, strict=True):
            control.close()
            process.wait()


def _server(imported: Sequence[str]) -> tuple[socket.socket, subprocess.Popen[bytes]]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        command = [sys.executable, "-c", SERVE, str(theirs.fileno()), *imported]
        devnull = subprocess.DEVNULL
        return ours, subprocess.Popen(command, cwd=ROOT, stdin=devnull, stdout=devnull, pass_fds=[theirs.fileno()])
