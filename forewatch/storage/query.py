"""SQL of a person over history: run in a process of its own that can read the history folder and do nothing else.

It works with and without a running service, and sees whole batches only. See ``guard.py`` for what is refused.
"""

from __future__ import annotations

import json
import signal
import subprocess
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, Literal

from forewatch.storage import manifest, process
from schemas import clock
from schemas.errors import ConfigError, Refused, TransientError
from schemas.model import Json

WORKER = "forewatch.storage.query_worker"
Form = Literal["csv", "parquet"]

_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class Limits:
    """``rows`` and ``page_bytes`` bound a page; exports are bound by the deadline only. ``memory_mb`` is DuckDB's own
    limit; nothing is spilled to disk."""

    rows: int = 1_000
    page_bytes: int = 32 << 20
    deadline_s: float = 8.0
    export_deadline_s: float = 120.0
    memory_mb: int = 512
    threads: int = 2


@dataclass(frozen=True, slots=True)
class Column:
    """``type`` is DuckDB's name of it."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Table:
    """A page of a result, JSON-able: decimals and wide integers as text, instants as ISO 8601 with the offset of the
    session's zone, days and times as ISO 8601, blobs as base64, nested values as JSON. ``truncated``: there are more
    rows than the limit."""

    columns: tuple[Column, ...]
    rows: list[list[Json]]
    truncated: bool


class HistoryQuery:
    """Every call blocks for as long as the query runs, 0.3 s at least; any number may run at once, from any thread.

    TransientError when files go away faster than they can be read, which the grace of ``compaction.Tuning`` prevents.
    """

    def __init__(self, root: Path, zone: str, limits: Limits = Limits()) -> None:
        """``zone`` is the owner's: what TIMESTAMPTZ shows in and what ``today()`` means. ConfigError if unknown."""
        self._root = root.absolute()
        self._zone = clock.zone(zone).key
        self._limits = limits

    def page(self, sql: str, rows: int | None = None) -> Table:
        """The first rows of the result. Refused, with one line for the person, for whatever may not or cannot run."""
        received = bytearray()
        limit = self._limits.rows if rows is None else rows
        self._run({"sql": sql, "rows": limit, "form": "page"}, self._limits.deadline_s, received.extend)
        table = json.loads(received)
        columns = tuple(Column(name, kind) for name, kind in table["columns"])
        return Table(columns, table["rows"], table["truncated"])

    def export(self, sql: str, form: Form, out: IO[bytes]) -> int:
        """The whole result as a CSV or Parquet file into ``out``; its size. After an error ``out`` holds a part of it.

        In CSV instants are as in ``page``, but with a space for the T and a short offset, as DuckDB writes them.
        """
        size = 0

        def receive(chunk: bytes) -> None:
            nonlocal size
            size += len(chunk)
            out.write(chunk)

        self._run({"sql": sql, "form": form}, self._limits.export_deadline_s, receive)
        return size

    def _run(self, request: dict[str, Any], deadline_s: float, receive: Callable[[bytes], object]) -> None:
        """Once more where a file went away between listing and opening it, as long as nothing was passed on."""
        if not manifest.exists(self._root):
            raise ConfigError(
                f"there is no history in {self._root}", remedy="run `forewatch serve` or `forewatch demo`"
            )
        job = request | {"root": str(self._root), "zone": self._zone, "limits": asdict(self._limits)}
        job["cpu_s"] = int(deadline_s * self._limits.threads) + 2
        text = json.dumps(job).encode()
        received = False

        def passed_on(chunk: bytes) -> None:
            nonlocal received
            received = True
            receive(chunk)

        try:
            _work(text, deadline_s, passed_on)
        except TransientError:
            if received:
                raise
            _work(text, deadline_s, receive)


def _work(job: bytes, deadline_s: float, receive: Callable[[bytes], object]) -> None:
    """One worker, from its start to its end. Refused or TransientError where it ended badly."""
    late = threading.Event()
    with process.start(WORKER) as worker:

        def stop() -> None:
            late.set()
            worker.kill()

        timer = threading.Timer(deadline_s, stop)
        timer.start()
        try:
            error = _converse(worker, job, receive)
        except BaseException:
            worker.kill()
            raise
        finally:
            timer.cancel()
    if late.is_set() or worker.returncode == -signal.SIGXCPU:
        raise Refused(
            f"the query took longer than {deadline_s:g} s and was stopped",
            code="too_slow",
            remedy="narrow it, for instance by occurred_at or account",
        )
    if worker.returncode:
        raise _ended_badly(worker.returncode, error)


def _converse(worker: subprocess.Popen[bytes], job: bytes, receive: Callable[[bytes], object]) -> bytes:
    """Give the job, pass on the result; what the worker says on stderr (little, so no pipe can block)."""
    assert worker.stdin is not None
    assert worker.stdout is not None
    assert worker.stderr is not None
    try:
        worker.stdin.write(job)
        worker.stdin.close()
    except BrokenPipeError:
        pass  # it died; its exit code says why
    while chunk := worker.stdout.read1(_CHUNK):  # type: ignore[attr-defined]  # a BufferedReader
        receive(chunk)
    return worker.stderr.read()


def _ended_badly(code: int, error: bytes) -> Exception:
    if code == process.REFUSED:
        said = json.loads(error)
        if said["code"] == "vanished":
            return TransientError(said["message"], remedy=said["remedy"])
        return Refused(said["message"], code=said["code"], remedy=said["remedy"])
    if code < 0:
        return Refused(
            f"the query needed more memory than it may have, or broke the engine ({signal.Signals(-code).name})",
            code="too_large",
            remedy="narrow it, or aggregate in smaller steps",
        )
    return RuntimeError(f"the query worker failed: {error.decode(errors='replace')}")
