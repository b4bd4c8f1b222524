"""MemoryJournal: the journal port over a list; passes the same contract as the real ones."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from actions.journal import Draft, seal
from actions.policy.standing import admits
from actions.proposal.book import Book
from actions.run import waits
from actions.testing.points import nowhere
from schemas.clock import Clock
from schemas.errors import Fenced
from schemas.event import Event
from schemas.journal import JournalEntry


@dataclass
class MemoryLog:
    """What survives a crash: the entries, and the newest generation that opened it."""

    entries: list[JournalEntry] = field(default_factory=list)
    epoch: int = 0
    events: list[Event] = field(default_factory=list)
    """What the owner's sources have said, in order."""

    def open(self, owner: str, point: Callable[[str], None] = nowhere) -> MemoryJournal:
        """Take over: older journals on this log are fenced from now on."""
        self.epoch += 1
        book = Book(owner)
        for entry in self.entries:
            book.apply(entry)
        return MemoryJournal(self, book, self.epoch, point)


class MemoryJournal:
    def __init__(self, log: MemoryLog, book: Book, epoch: int, point: Callable[[str], None] = nowhere) -> None:
        self.book = book
        self._log = log
        self._epoch = epoch
        self._point = point
        self._lock = asyncio.Lock()

    async def position(self) -> int:
        return len(self._log.events)

    async def feed(self, clock: Clock) -> None:
        """Show the waits what has come since their cursors, as the act agent does."""
        for offset, event in enumerate(self._log.events):
            for proposal, uid in self.book.waits.found_by(event, offset):
                drafts = waits.arrived(self.book.proposals[proposal], uid, event, clock.now())
                if drafts:
                    await self.append(drafts)

    async def append(self, drafts: Sequence[Draft]) -> list[JournalEntry]:
        async with self._lock:
            names = "+".join(draft.type for draft in drafts)
            self._point(f"before append {names}")
            await asyncio.sleep(0)
            if self._epoch != self._log.epoch:
                raise Fenced(f"generation {self._log.epoch} has taken over from {self._epoch}")
            if not admits(self.book, drafts):
                return []
            sealed = seal(drafts, owner=self.book.owner, epoch=self._epoch, tip=self.book.tip)
            self._log.entries.extend(sealed)
            self._point(f"after append {names}")
            for entry in sealed:
                self.book.apply(entry)
            return sealed
