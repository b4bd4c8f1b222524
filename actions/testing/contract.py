"""JournalContract: what every journal port must keep, as a mixin; a class of tests inherits it and opens its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime
from typing import Any, Protocol

from actions.journal import UNADDRESSED, Draft, JournalPort
from actions.policy import audit
from actions.proposal.book import Book
from schemas.errors import Fenced
from schemas.journal import JournalEntry

AT = datetime(2025, 3, 1, 12, tzinfo=UTC)


class OpenJournal(Protocol):
    """A port, the book that it applies to, and what is durable."""

    port: JournalPort
    book: Book

    async def stored(self) -> list[JournalEntry]: ...


def note(stream: str, text: str, cause: str = "") -> Draft:
    return Draft(stream, "note", AT, "executor", cause, {"code": "test", "text": text})


class JournalContract:
    """Implement ``world`` (a new empty store) and ``open`` (take it over, as a restarted process would)."""

    def world(self) -> AbstractAsyncContextManager[Any]:
        """By default nothing: override to make a folder, a broker, a log."""
        return _nothing()

    def open(self, world: Any, owner: str = "ann") -> AbstractAsyncContextManager[OpenJournal]:
        raise NotImplementedError

    def test_an_append_is_durable_and_applied_when_it_returns(self) -> None:
        async def story() -> None:
            async with self.world() as world, self.open(world) as journal:
                (entry,) = await journal.port.append([note("p1", "one", cause="c1")])
                assert await journal.stored() == [entry]
                assert journal.book.tip("p1").seq == 1
                assert journal.book.has_seen("c1")

        asyncio.run(story())

    def test_entries_of_one_append_are_chained_in_order_and_by_stream(self) -> None:
        async def story() -> None:
            async with self.world() as world, self.open(world) as journal:
                drafts = [note("p1", "one"), note("p2", "two"), note("p1", "three")]
                entries = await journal.port.append(drafts)
                assert [(e.stream, e.seq, e.body["text"]) for e in entries] == [
                    ("p1", 1, "one"),
                    ("p2", 1, "two"),
                    ("p1", 2, "three"),
                ]
                assert audit.verify(await journal.stored()) == []

        asyncio.run(story())

    def test_a_restarted_journal_goes_on_where_the_old_one_ended(self) -> None:
        async def story() -> None:
            async with self.world() as world:
                async with self.open(world) as first:
                    await first.port.append([note("p1", "one")])
                async with self.open(world) as second:
                    (entry,) = await second.port.append([note("p1", "two")])
                    assert (entry.seq, entry.prev_hash) == (2, (await second.stored())[0].hash)
                    assert audit.verify(await second.stored()) == []

        asyncio.run(story())

    def test_a_journal_that_was_taken_over_is_fenced_and_leaves_nothing(self) -> None:
        async def story() -> None:
            async with self.world() as world, self.open(world) as old, self.open(world) as new:
                await new.port.append([note("p1", "new")])
                try:
                    await old.port.append([note("p1", "old"), note("p2", "old")])
                except Fenced:
                    pass
                else:
                    raise AssertionError("the old journal could still write")
                book = Book("ann")
                for entry in await new.stored():
                    book.apply(entry)
                assert (book.tip("p1").seq, book.tip("p2").seq) == (1, 0)

        asyncio.run(story())

    def test_appends_that_come_at_once_do_not_tear(self) -> None:
        async def story() -> None:
            async with self.world() as world, self.open(world) as journal:
                await asyncio.gather(*(journal.port.append([note("p1", str(n)), note("p1", "x")]) for n in range(10)))
                entries = await journal.stored()
                assert [entry.seq for entry in entries] == list(range(1, 21))
                assert [entry.body["text"] for entry in entries[1::2]] == ["x"] * 10
                assert audit.verify(entries) == []

        asyncio.run(story())

    def test_a_refusal_without_a_proposal_has_its_own_stream(self) -> None:
        async def story() -> None:
            async with self.world() as world, self.open(world) as journal:
                body: dict[str, Any] = {"code": "unknown_proposal", "message": "there is no proposal x"}
                await journal.port.append([Draft(UNADDRESSED, "command.refused", AT, "person:ann", "c1", body)])
                assert journal.book.proposals == {}
                assert journal.book.has_seen("c1")

        asyncio.run(story())


@asynccontextmanager
async def _nothing() -> AsyncIterator[None]:
    yield None
