"""Both journals that ship for tests keep the contract of the real ones."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from actions.journal import JournalPort
from actions.proposal.book import Book
from actions.testing.contract import JournalContract
from actions.testing.memory import MemoryLog
from actions.testing.sqlite import SqliteJournal
from schemas.journal import JournalEntry


@dataclass
class InMemory:
    port: JournalPort
    book: Book
    log: MemoryLog

    async def stored(self) -> list[JournalEntry]:
        return list(self.log.entries)


class TestMemoryJournal(JournalContract):
    @asynccontextmanager
    async def world(self) -> AsyncIterator[MemoryLog]:
        yield MemoryLog()

    @asynccontextmanager
    async def open(self, world: Any, owner: str = "ann") -> AsyncIterator[InMemory]:
        journal = world.open(owner)
        yield InMemory(journal, journal.book, world)


@dataclass
class OnDisk:
    port: SqliteJournal
    book: Book

    async def stored(self) -> list[JournalEntry]:
        return self.port.entries()


class TestSqliteJournal(JournalContract):
    @asynccontextmanager
    async def world(self) -> AsyncIterator[Path]:
        with TemporaryDirectory() as folder:
            yield Path(folder) / "journal.db"

    @asynccontextmanager
    async def open(self, world: Any, owner: str = "ann") -> AsyncIterator[OnDisk]:
        journal = SqliteJournal(world, owner)
        try:
            yield OnDisk(journal, journal.book)
        finally:
            journal.close()
