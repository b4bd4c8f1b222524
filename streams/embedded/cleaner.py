"""Compaction and retention: what may go is found on a thread of its own and deleted in slices between commits."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

from streams.embedded.file import SHIFT, connect
from streams.embedded.store import Store
from streams.failure import LogFailed

_T = TypeVar("_T")
SLICE = 1_000
"""Records deleted in one go: a few milliseconds in which nothing is written."""
DIRTY = 10_000
"""Records written to compacted topics since the last time that make a new round worth it."""
EVERY_S = 3_600.0
TOMBSTONE_MS = 24 * 3_600_000
"""A tombstone stays as long, so that whoever reads the topic meanwhile sees the deletion."""


class _Part(NamedTuple):
    id: int
    cleanup: str
    retention_ms: int | None
    head: int
    cleaned: int


def superseded(db: sqlite3.Connection, part: int, head: int, tombstones_before: int) -> list[int]:
    """Ids of the records that a later one of the same key replaces, and of old tombstones; never the last record."""
    newest: dict[bytes | None, int] = {}
    dead: list[int] = []
    low, last = part << SHIFT, part << SHIFT | head - 1
    rows = db.execute("SELECT id, key, value IS NULL, ts FROM log WHERE id BETWEEN ? AND ? ORDER BY id", (low, last))
    tombstones: dict[bytes | None, int] = {}
    for id_, key, is_tombstone, ts in rows:
        if key in newest:
            dead.append(newest[key])
        newest[key] = id_
        if is_tombstone and ts < tombstones_before and id_ != last:
            tombstones[key] = id_
        else:
            tombstones.pop(key, None)
    return sorted([*dead, *tombstones.values()])


def expired(db: sqlite3.Connection, part: int, head: int, before_ms: int) -> tuple[int, int]:
    """The range of ids that retention may delete: old, read by every group, and not the last record."""
    low, last = part << SHIFT, part << SHIFT | head - 1
    (read_to,) = db.execute("SELECT min(off) FROM committed WHERE part=?", (part,)).fetchone()
    young = db.execute(
        "SELECT id FROM log WHERE id BETWEEN ? AND ? AND ts >= ? ORDER BY id LIMIT 1", (low, last, before_ms)
    ).fetchone()
    ends = [last]
    if read_to is not None:
        ends.append(low | read_to)
    if young is not None:
        ends.append(young[0])
    return low, min(ends)


class Cleaner:
    """Runs from ``start`` to ``close``, at start, hourly, and when enough was written to compacted topics."""

    def __init__(self, store: Store, path: Path, clock: Callable[[], int]) -> None:
        self._store = store
        self._path = path
        self._clock = clock
        self._due = asyncio.Event()
        self._compacted: dict[int, int] = {}
        """The head of each compacted part when it was last cleaned."""
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._store.listeners.add(self._notice)
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def close(self) -> None:
        self._store.listeners.discard(self._notice)
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def clean(self) -> int:
        """One round over all partitions; how many records went."""
        removed = 0
        for part in await self._parts():
            if part.cleanup == "compact":
                removed += await self._compact(part)
            elif part.cleanup == "expire" and part.retention_ms is not None:
                removed += await self._expire(part, self._clock() - part.retention_ms)
        return removed

    async def _run(self) -> None:
        while True:
            with contextlib.suppress(LogFailed):  # whoever writes next hears of it too
                await self.clean()
            self._due.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(EVERY_S):
                    await self._due.wait()

    def _notice(self) -> None:
        heads = self._store.file.heads
        if sum(heads[part] - cleaned for part, cleaned in self._compacted.items()) >= DIRTY:
            self._due.set()

    async def _parts(self) -> list[_Part]:
        def query(db: sqlite3.Connection) -> list[_Part]:
            rows = db.execute("SELECT id, cleanup, retention_ms, head, cleaned FROM part WHERE head > 1")
            return [_Part(*row) for row in rows]

        return await self._store.writer.run(query)

    async def _compact(self, part: _Part) -> int:
        self._compacted[part.id] = part.head
        if part.head == part.cleaned:
            return 0
        before = self._clock() - TOMBSTONE_MS
        ids = await asyncio.to_thread(self._read, lambda db: superseded(db, part.id, part.head, before))
        for start in range(0, len(ids), SLICE):
            await self._store.writer.run(partial(_delete, ids=ids[start : start + SLICE]))
        await self._store.writer.run(partial(_note_cleaned, part=part))
        return len(ids)

    async def _expire(self, part: _Part, before_ms: int) -> int:
        low, end = await asyncio.to_thread(self._read, lambda db: expired(db, part.id, part.head, before_ms))
        removed = 0
        while True:
            gone = await self._store.writer.run(partial(_delete_range, low=low, end=end))
            removed += gone
            if gone < SLICE:
                return removed

    def _read(self, query: Callable[[sqlite3.Connection], _T]) -> _T:
        with closing(connect(self._path, "normal")) as db:
            return query(db)


def _delete(db: sqlite3.Connection, ids: list[int]) -> None:
    db.execute(f"DELETE FROM log WHERE id IN ({','.join('?' * len(ids))})", ids)


def _note_cleaned(db: sqlite3.Connection, part: _Part) -> None:
    db.execute("UPDATE part SET cleaned=? WHERE id=?", (part.head, part.id))


def _delete_range(db: sqlite3.Connection, low: int, end: int) -> int:
    deleted = db.execute(
        "DELETE FROM log WHERE id IN (SELECT id FROM log WHERE id >= ? AND id < ? ORDER BY id LIMIT ?)",
        (low, end, SLICE),
    )
    return deleted.rowcount
