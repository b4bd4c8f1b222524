"""SqliteJournal: the journal port over one SQLite file, for tests that kill processes."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

from actions.journal import Draft, seal
from actions.policy.standing import admits
from actions.proposal.book import Book
from actions.testing.points import nowhere
from schemas.errors import Fenced
from schemas.journal import JournalEntry

_TABLES = """
create table if not exists entry(n integer primary key, stream text, seq int, json text, unique(stream, seq));
create table if not exists lease(one int primary key check (one = 1), epoch int);
insert or ignore into lease values (1, 0);
"""


class SqliteJournal:
    """Opening it takes over: a journal opened earlier on the same file is fenced. Survives kill -9, not power loss."""

    def __init__(self, file: Path, owner: str, point: Callable[[str], None] = nowhere) -> None:
        self._db = sqlite3.connect(file, isolation_level=None, timeout=10)
        self._db.executescript(f"pragma journal_mode=wal; pragma synchronous=normal; {_TABLES}")
        (self._epoch,) = self._db.execute("update lease set epoch = epoch + 1 returning epoch").fetchone()
        self._point = point
        self._lock = asyncio.Lock()
        self.book = Book(owner)
        for entry in self.entries():
            self.book.apply(entry)

    def entries(self) -> list[JournalEntry]:
        rows = self._db.execute("select json from entry order by n")
        return [JournalEntry.model_validate_json(text) for (text,) in rows]

    def close(self) -> None:
        self._db.close()

    async def position(self) -> int:
        """It carries no events."""
        return 0

    async def append(self, drafts: Sequence[Draft]) -> list[JournalEntry]:
        async with self._lock:
            names = "+".join(draft.type for draft in drafts)
            self._point(f"before append {names}")
            if not admits(self.book, drafts):
                return []
            sealed = seal(drafts, owner=self.book.owner, epoch=self._epoch, tip=self.book.tip)
            self._write(sealed)
            self._point(f"after append {names}")
            for entry in sealed:
                self.book.apply(entry)
            return sealed

    def _write(self, sealed: list[JournalEntry]) -> None:
        with self._db:
            self._db.execute("begin immediate")
            (epoch,) = self._db.execute("select epoch from lease").fetchone()
            if epoch != self._epoch:
                raise Fenced(f"generation {epoch} has taken over from {self._epoch}")
            self._db.executemany(
                "insert into entry(stream, seq, json) values (?, ?, ?)",
                [(entry.stream, entry.seq, entry.model_dump_json()) for entry in sealed],
            )
