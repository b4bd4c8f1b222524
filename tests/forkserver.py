"""A process that has imported the product and forks itself for each ``python -c`` that is asked of it.

It has one thread, and a keeper for each fork: a process that waits for its end and tells ``forks.py`` of it.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Sequence
from importlib import import_module
from types import CodeType

IMPORTED = (
    "forewatch.cli.commands",
    "forewatch.cli.main",
    "forewatch.demo",
    "forewatch.doctor",
    "forewatch.egress",
    "forewatch.serve",
    "faust.worker",
    "httpcore",
    "httpx",
    "networkx",
    "rich.progress",
    "streams.embedded.log",
    "streams.embedded.transport",
    "uvicorn.protocols.http.h11_impl",
)
"""And with them most of what a command or the service imports, at once or when it needs it."""
WORKERS = (
    "forewatch.storage.parquet_worker",
    "forewatch.storage.query_worker",
    "forewatch.storage.viewfile_worker",
)
"""What reads and writes history with DuckDB, each time in a process of its own."""
REQUEST_CAP = 1 << 17
STREAMS = ("stdin", "stdout", "stderr")
NUMBER = 4
"""Bytes: of a process id, and of the status that a process ends with."""


def serve(control: socket.socket, imported: Sequence[str]) -> CodeType:
    """Returns in the forks only: what the fork is to run, as the last thing that its ``__main__`` does."""
    for module in imported:
        import_module(module)
    # an interrupt is for the forks, and nobody asks how a keeper ended
    before = [(number, signal.signal(number, signal.SIG_IGN)) for number in (signal.SIGINT, signal.SIGCHLD)]
    gc.freeze()
    while True:
        request, files, _, _ = socket.recv_fds(control, REQUEST_CAP, maxfds=4)
        if not request:
            os._exit(0)
        if os.fork() == 0:
            control.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            streams = _keep(files)
            for number, handler in before:
                signal.signal(number, handler)
            return _become(json.loads(request), streams)
        for file in files:
            os.close(file)


def _keep(files: list[int]) -> list[int]:
    """Returns in the fork of the keeper only: its streams."""
    *streams, told = files
    child = os.fork()
    if child == 0:
        os.close(told)
        return streams
    os.write(told, child.to_bytes(NUMBER))
    for stream in (*streams, 0, 1, 2):
        os.close(stream)
    _, status = os.waitpid(child, 0)
    os.write(told, status.to_bytes(NUMBER))
    os._exit(0)


def _become(request: dict[str, object], streams: list[int]) -> CodeType:
    """The process that ``python -c`` would have been."""
    for number, (name, mode, stream) in enumerate(zip(STREAMS, "rww", streams, strict=True)):
        os.dup2(stream, number)
        os.close(stream)
        _open_again(name, mode, number)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environment"])
    time.tzset()
    sys.argv[:] = ["-c", *request["arguments"]]
    return compile(request["code"], "<string>", "exec")


def _open_again(name: str, mode: str, number: int) -> None:
    """What an interpreter makes of a stream depends on what it finds there when it starts."""
    found = getattr(sys, name)
    buffering = 1 if found.line_buffering else -1
    fresh = open(number, mode, buffering, found.encoding, found.errors, closefd=False)  # noqa: SIM115 - for ever
    setattr(sys, name, fresh)
    setattr(sys, f"__{name}__", fresh)
