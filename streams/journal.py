"""The journal on the log: appended under an epoch, so that of two processes only the newer one acts.

Whoever takes a partition over first appends a claim with the next epoch and folds up to it. From then on an entry of
an older epoch counts for nobody, and its writer, who reads back what it appended before it acts, finds the claim and
stops. Of two claims of one epoch the first in the log counts.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from actions.journal import Draft, Tip, seal
from actions.policy.standing import admits
from actions.proposal.book import Book
from schemas.clock import Clock
from schemas.errors import Fenced
from schemas.journal import JournalEntry
from schemas.model import Json
from streams import topics
from streams.codec import decode, encode
from streams.work import Log, Output, read_entries

RECENT = 1000
"""Entries that are kept in memory beside the books, to answer a person whose command came twice."""


class EpochFilter:
    """Lets through, in log order, what was written by the generation that was the newest at that place."""

    def __init__(self) -> None:
        self.epoch = 0

    def admits(self, entry: JournalEntry) -> bool:
        if entry.epoch < self.epoch or (entry.type == "epoch.claimed" and entry.epoch == self.epoch):
            return False
        self.epoch = entry.epoch
        return True


async def read_journal(log: Log, partition: int, start: int = 0) -> AsyncIterator[tuple[int, JournalEntry]]:
    """Every entry of a partition as written, with its offset, up to the end as of now (claims and fenced ones too)."""
    async for entry in read_entries(log, topics.JOURNAL, partition, start):
        if entry.value is not None:
            yield entry.offset, decode(JournalEntry, entry.value)


async def valid_entries(log: Log) -> AsyncIterator[JournalEntry]:
    """The journal of all partitions without claims and without what was fenced off."""
    for partition in range(log.partitions(topics.JOURNAL)):
        epochs = EpochFilter()
        async for _, entry in read_journal(log, partition):
            if epochs.admits(entry) and entry.type != "epoch.claimed":
                yield entry


async def read_books(log: Log) -> dict[str, Book]:
    """The books of all owners, for a process that only looks."""
    books: dict[str, Book] = {}
    async for entry in valid_entries(log):
        books.setdefault(entry.owner, Book(entry.owner)).apply(entry)
    return books


@dataclass(frozen=True, slots=True)
class _Asked:
    """One append that waits for its turn."""

    owner: str
    drafts: Sequence[Draft]
    answer: asyncio.Future[list[JournalEntry]]


def _tip(tips: Mapping[str, Tip], book: Book, stream: str) -> Tip:
    """Where a stream ends, with what is written in the same group before."""
    return tips.get(stream) or book.tip(stream)


def _is_alone(asked: _Asked) -> bool:
    return any(draft.type in ("acting.stopped", "acting.resumed") for draft in asked.drafts)


class PartitionJournal:
    """One partition's journal, owned by this process. All appends to it go through one writer."""

    def __init__(self, log: Log, partition: int, clock: Clock, process: str) -> None:
        """``process`` is a name that no other process has, past ones included."""
        self.books: dict[str, Book] = {}
        self.beside: Callable[[JournalEntry, Book], Sequence[Output]] = lambda entry, book: ()
        """Further records that must be durable before an entry is."""
        self._log = log
        self._partition = partition
        self._clock = clock
        self._process = process
        self._epochs = EpochFilter()
        self._mine = 0
        self._next = 0
        self._claims = Tip()
        self._newest: deque[JournalEntry] = deque(maxlen=RECENT)
        self._lock = asyncio.Lock()
        self._asked: deque[_Asked] = deque()
        self._writing: asyncio.Task[None] | None = None

    @property
    def partition(self) -> int:
        return self._partition

    @property
    def _stream(self) -> str:
        return f"epoch:{self._partition}"

    async def claim(self) -> None:
        """Fold what there is, claim the next epoch, and fold up to the claim. Fenced if somebody was quicker."""
        async with self._lock:
            await self._fold()
            self._mine = self._epochs.epoch + 1
            body: dict[str, Json] = {"process": self._process}
            draft = Draft(self._stream, "epoch.claimed", self._clock.now(), "executor", body=body)
            await self._write(seal([draft], owner="", epoch=self._mine, tip=lambda _: self._claims))

    def caused_by(self, cause: str) -> list[JournalEntry]:
        """What this trigger or command has led to, if that was among the newest entries."""
        return [entry for entry in self._newest if entry.cause == cause]

    def has_seen(self, owner: str, cause: str) -> bool:
        """Has this trigger or command of the owner's led to an entry already?"""
        return owner in self.books and self.books[owner].has_seen(cause)

    async def position(self) -> int:
        """Where the events of this partition end now."""
        return await self._log.end(topics.EVENTS, self._partition)

    def book(self, owner: str) -> Book:
        if owner not in self.books:
            self.books[owner] = Book(owner)
        return self.books[owner]

    async def append(self, owner: str, drafts: Sequence[Draft]) -> list[JournalEntry]:
        """Durable and applied when it returns; Fenced when another process has taken over.

        What many runs append at the same time becomes durable together, in the order of the calls. A caller that is
        cancelled does not take back what it asked for.
        """
        asked = _Asked(owner, drafts, asyncio.get_running_loop().create_future())
        self._asked.append(asked)
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write_all())
        return await asked.answer

    async def _write_all(self) -> None:
        while self._asked:
            async with self._lock:
                group = self._group()
                try:
                    await self._write_group(group)
                except BaseException as error:
                    for asked in group:
                        if not asked.answer.done():
                            asked.answer.set_exception(error)
                            asked.answer.exception()  # whoever asked may be gone: then nobody else needs to hear of it

    def _group(self) -> list[_Asked]:
        """What may be written at once: what says whether anything may begin at all is written alone."""
        group: list[_Asked] = []
        while self._asked and not (group and (_is_alone(self._asked[0]) or _is_alone(group[-1]))):
            group.append(self._asked.popleft())
        return group

    async def _write_group(self, group: Sequence[_Asked]) -> None:
        tips: dict[str, Tip] = {}
        answers: list[list[JournalEntry]] = []
        for asked in group:
            book = self.book(asked.owner)
            drafts = asked.drafts if admits(book, asked.drafts) else ()
            entries = seal(drafts, owner=asked.owner, epoch=self._mine, tip=partial(_tip, tips, book))
            tips |= {entry.stream: Tip(entry.seq, entry.epoch, entry.hash) for entry in entries}
            answers.append(entries)
        written = [entry for entries in answers for entry in entries]
        if written:
            await self._write(written)
        for asked, entries in zip(group, answers, strict=True):
            if not asked.answer.done():  # else whoever asked was cancelled
                asked.answer.set_result(entries)

    async def _write(self, entries: Sequence[JournalEntry]) -> None:
        """What goes beside comes first: written twice it is recognised by its id, and it must not be left out."""
        outputs = [Output(topics.JOURNAL, e.owner.encode(), encode(e), self._partition) for e in entries]
        beside = [output for entry in entries for output in self.beside(entry, self.book(entry.owner))]
        await self._log.append(beside, then=outputs)
        wanted = {entry.hash for entry in entries}
        wanted -= await self._fold()
        if wanted or self._epochs.epoch != self._mine:
            raise Fenced(f"another process has taken over partition {self._partition} of the journal")

    async def _fold(self) -> set[str]:
        """Take in what is new; the hashes of the entries that count."""
        seen = set()
        async for offset, entry in read_journal(self._log, self._partition, self._next):
            self._next = offset + 1
            if not self._epochs.admits(entry):
                continue
            seen.add(entry.hash)
            if entry.type == "epoch.claimed":
                self._claims = Tip(entry.seq, entry.epoch, entry.hash)
            else:
                self.book(entry.owner).apply(entry)
                self._newest.append(entry)
        return seen
