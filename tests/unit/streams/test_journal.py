import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from actions.journal import Draft
from actions.proposal.book import Book
from actions.testing.contract import JournalContract
from schemas.clock import ManualClock
from schemas.errors import Fenced
from schemas.journal import JournalEntry
from streams import topics
from streams.act import OwnerPort
from streams.journal import PartitionJournal, read_journal, valid_entries
from streams.testing import MemoryLog
from streams.work import Output

NOW = datetime(2026, 3, 1, tzinfo=UTC)
PROCESSES = itertools.count()


def journal(log: MemoryLog, process: str) -> PartitionJournal:
    return PartitionJournal(log, 0, ManualClock(NOW), process)


def note(stream: str, word: str) -> Draft:
    return Draft(stream, "note", NOW, "executor", body={"word": word})


async def words(log: MemoryLog) -> list[object]:
    return [entry.body["word"] async for entry in valid_entries(log)]


def test_an_append_is_chained_and_applied_when_it_returns() -> None:
    async def scenario() -> None:
        log = MemoryLog()
        mine = journal(log, "a")
        await mine.claim()
        first, second = await mine.append("me", [note("p", "one"), note("p", "two")])
        assert (first.seq, second.seq) == (1, 2)
        assert second.prev_hash == first.hash == first.computed_hash()
        assert mine.book("me").tip("p").seq == 2

    asyncio.run(scenario())


def test_a_new_process_folds_what_the_old_one_wrote() -> None:
    async def scenario() -> None:
        log = MemoryLog()
        old = journal(log, "old")
        await old.claim()
        await old.append("me", [note("p", "one")])
        new = journal(log, "new")
        await new.claim()
        (entry,) = await new.append("me", [note("p", "two")])
        assert (entry.seq, entry.epoch) == (2, 2)

    asyncio.run(scenario())


def test_a_process_that_was_taken_over_stops_and_its_entry_counts_for_nobody() -> None:
    async def scenario() -> None:
        log = MemoryLog()
        old, new = journal(log, "old"), journal(log, "new")
        await old.claim()
        await old.append("me", [note("p", "before")])
        await new.claim()
        with pytest.raises(Fenced):
            await old.append("me", [note("p", "zombie")])
        await new.append("me", [note("p", "after")])
        assert await words(log) == ["before", "after"]
        assert new.book("me").tip("p").seq == 2

    asyncio.run(scenario())


def test_of_two_claims_of_one_epoch_the_first_counts() -> None:
    class Late(MemoryLog):
        """Another process claims between our fold and our claim."""

        rival: PartitionJournal | None = None

        async def append(self, outputs, then=()):  # type: ignore[no-untyped-def]
            if (rival := self.rival) is not None:
                self.rival = None
                await rival.claim()
            return await super().append(outputs, then)

    async def scenario() -> None:
        log = Late()
        slow, quick = journal(log, "slow"), journal(log, "quick")
        log.rival = quick
        with pytest.raises(Fenced):
            await slow.claim()
        await quick.append("me", [note("p", "quick")])
        assert await words(log) == ["quick"]

    asyncio.run(scenario())


def test_every_entry_is_kept_as_written() -> None:
    async def scenario() -> None:
        log = MemoryLog()
        mine = journal(log, "a")
        await mine.claim()
        await mine.append("me", [note("p", "one")])
        raw = [entry.type async for _, entry in read_journal(log, 0)]
        assert raw == ["epoch.claimed", "note"]
        assert len(log.entries(topics.JOURNAL)) == 2

    asyncio.run(scenario())


@dataclass
class Opened:
    log: MemoryLog
    port: OwnerPort
    book: Book

    async def stored(self) -> list[JournalEntry]:
        return [entry async for entry in valid_entries(self.log)]


class TestOwnerPort(JournalContract):
    """The port that acting gets on the log keeps the contract of every journal."""

    @asynccontextmanager
    async def world(self) -> AsyncIterator[MemoryLog]:
        yield MemoryLog()

    @asynccontextmanager
    async def open(self, world: MemoryLog, owner: str = "ann") -> AsyncIterator[Opened]:
        mine = journal(world, str(next(PROCESSES)))
        await mine.claim()
        yield Opened(world, OwnerPort(mine, owner), mine.book(owner))


def test_what_goes_beside_an_entry_is_never_left_out() -> None:
    """Killed between the two writes of a broker without transactions."""

    class Dying(MemoryLog):
        async def append(self, outputs, then=()):  # type: ignore[no-untyped-def]
            if then and outputs:
                await super().append(outputs)
                raise ConnectionError("killed")
            return await super().append(outputs, then)

    async def scenario() -> None:
        log = Dying()
        mine = journal(log, "a")
        await mine.claim()
        mine.beside = lambda entry, book: [Output(topics.EVENTS, b"me", b"beside")]
        with pytest.raises(ConnectionError):
            await mine.append("me", [note("p", "one")])
        assert len(log.entries(topics.EVENTS)) == 1
        assert await words(log) == []

    asyncio.run(scenario())
