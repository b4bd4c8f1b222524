"""Group commit: everything that waits while one transaction syncs goes into the next one."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

from streams.embedded.file import SHIFT, connect
from streams.failure import LogFailed, log_failed

_T = TypeVar("_T")
_CHUNK = 500
"""Rows of one INSERT: sqlite3 gives up the GIL per statement, so a row each would starve behind a busy loop."""


class Record(NamedTuple):
    part: int
    ts: int
    key: bytes | None
    value: bytes | None


class Commit(NamedTuple):
    group: str
    part: int
    offset: int


@dataclass(slots=True)
class Unit:
    """Records and committed offsets that become durable together or not at all."""

    records: Sequence[Record]
    commits: Sequence[Commit]
    done: asyncio.Future[list[int]]
    """The records' offsets, once they are durable."""


@dataclass(frozen=True, slots=True)
class Written:
    offsets: list[list[int]]
    """Of each unit's records."""
    heads: dict[int, int]
    """The next offset of each part that grew."""


def write(db: sqlite3.Connection, units: Sequence[Unit]) -> Written:
    """All units in one transaction. Offsets are allocated inside of it, so that other processes may append too."""
    db.execute("BEGIN IMMEDIATE")
    try:
        written = _insert(db, units)
        db.executemany(
            "INSERT INTO committed VALUES(?,?,?) ON CONFLICT DO UPDATE SET off=excluded.off",
            [commit for unit in units for commit in unit.commits],
        )
        db.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):  # SQLite may have rolled back by itself
            db.execute("ROLLBACK")
        raise
    return written


def _insert(db: sqlite3.Connection, units: Sequence[Unit]) -> Written:
    counts = Counter(record.part for unit in units for record in unit.records)
    heads = {part: _allocate(db, part, count) for part, count in counts.items()}
    rows: list[tuple[int, int, bytes | None, bytes | None]] = []
    offsets: list[list[int]] = []
    for unit in units:
        taken = []
        for part, ts, key, value in unit.records:
            taken.append(offset := heads[part])
            heads[part] = offset + 1
            rows.append((part << SHIFT | offset, ts, key, value))
        offsets.append(taken)
    for start in range(0, len(rows), _CHUNK):
        chunk = rows[start : start + _CHUNK]
        marks = ",".join(["(?,?,?,?)"] * len(chunk))
        db.execute(f"INSERT INTO log(id, ts, key, value) VALUES{marks}", [value for row in chunk for value in row])
    return Written(offsets, heads)


def _allocate(db: sqlite3.Connection, part: int, count: int) -> int:
    """The first of ``count`` offsets."""
    found = db.execute("UPDATE part SET head=head+? WHERE id=? RETURNING head", (count, part)).fetchall()
    head: int = found[0][0]
    return head - count


class Writer:
    """The one thread of this process that writes to the file.

    Fail-stop: after a failed write nothing more is accepted, because a later offset must never become durable when
    an earlier record did not.
    """

    def __init__(self, path: Path, sync: str, *, on_written: Callable[[dict[int, int]], None]) -> None:
        self._path = path
        self._db = connect(path, sync)
        self._thread = ThreadPoolExecutor(1, "forewatch-log")
        self._waiting: list[Unit] = []
        self._flusher: asyncio.Task[None] | None = None
        self._on_written = on_written
        self.failure: LogFailed | None = None
        self.on_failure: list[Callable[[LogFailed], None]] = []

    def submit(self, records: Sequence[Record], commits: Sequence[Commit] = ()) -> asyncio.Future[list[int]]:
        """Queues one unit; LogFailed at once if an earlier write failed."""
        if self.failure is not None:
            raise self.failure
        loop = asyncio.get_running_loop()
        unit = Unit(records, commits, loop.create_future())
        self._waiting.append(unit)
        if self._flusher is None:
            self._flusher = loop.create_task(self._flush())
        return unit.done

    async def run(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        """Runs ``work`` on the writer's thread, between two transactions."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work, self._db)
        except sqlite3.Error as error:
            raise self._fail(error) from error

    async def close(self) -> None:
        """Writes what is queued, then lets go of the file."""
        if self._flusher is not None:
            await asyncio.wait([self._flusher])
        self._thread.shutdown(wait=True)
        self._db.close()

    async def _flush(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while self._waiting and self.failure is None:
                units, self._waiting = self._waiting, []
                try:
                    written = await loop.run_in_executor(self._thread, write, self._db, units)
                except Exception as error:
                    self._refuse(units, self._fail(error))
                    return
                self._on_written(written.heads)
                for unit, taken in zip(units, written.offsets, strict=True):
                    if not unit.done.done():
                        unit.done.set_result(taken)
        finally:
            self._flusher = None

    def _fail(self, error: BaseException) -> LogFailed:
        if self.failure is None:
            self.failure = log_failed(self._path, error)
            for callback in self.on_failure:
                callback(self.failure)
        return self.failure

    def _refuse(self, units: Sequence[Unit], failure: LogFailed) -> None:
        for unit in [*units, *self._waiting]:
            if not unit.done.done():
                unit.done.set_exception(failure)
        self._waiting.clear()
