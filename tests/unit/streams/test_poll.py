import asyncio
import random
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from pydantic import BaseModel, ConfigDict

from extractors.connector import Context, Delete, Page, Question, Rejected, Upsert
from schemas.account import AccountState
from schemas.clock import ManualClock
from schemas.deadletter import DeadLetter
from schemas.errors import AuthError, CursorExpired, TransientError
from schemas.event import Event
from schemas.record import PollDue, Record
from streams import topics
from streams.accounts import accounts, cursors
from streams.codec import decode, encode
from streams.poll import PollAgent, PollDeps
from streams.testing import MemoryLog, batch_of
from streams.work import Output

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ZONE = ZoneInfo("Europe/Berlin")


class Config(BaseModel):
    model_config = ConfigDict(extra="forbid")
    path: str = ""


@dataclass
class Scripted:
    """A connector that says what it is told to: one script a poll."""

    scripts: list[Callable[[Any], Sequence[Page]]]
    cursors: list[Any] = field(default_factory=list)
    name: str = "scripted"
    config: type[BaseModel] = Config

    async def pull(self, config: BaseModel, cursor: Any, context: Context) -> AsyncIterator[Page]:
        self.cursors.append(cursor)
        for page in self.scripts.pop(0)(cursor):
            yield page


class Stage:
    """A poll agent on a log in memory, and what it wrote."""

    def __init__(self, *scripts: Callable[[Any], Sequence[Page]]) -> None:
        self.log = MemoryLog()
        self.clock = ManualClock(NOW)
        self.connector = Scripted(list(scripts))
        self.agent = self.fresh_agent()

    def fresh_agent(self) -> PollAgent:
        deps = PollDeps(
            self.log, accounts(self.log), cursors(self.log), {"scripted": self.connector},  # type: ignore[dict-item]
            ZONE, self.clock, random.Random(1),
        )  # fmt: skip
        return PollAgent(deps)

    async def add(self, **changes: Any) -> None:
        state = AccountState(id="a", owner="me", connector="scripted", created_at=NOW).model_copy(update=changes)
        await self.log.append([accounts(self.log).output(state)])

    async def poll(self) -> None:
        await self.log.append([Output(topics.POLLS, b"a", encode(PollDue(account="a", due_at=self.clock.now())))])
        await self.agent.assigned(0)
        await self.agent.handle(batch_of(self.log.entries(topics.POLLS)[-1:]))

    def records(self) -> list[Record]:
        return [decode(Record, entry.value or b"") for entry in self.log.entries(topics.RECORDS)]

    def events(self) -> list[str]:
        return [decode(Event, entry.value or b"").kind for entry in self.log.entries(topics.EVENTS)]

    async def cursor(self) -> Any:
        fold = cursors(self.log)
        await fold.refresh()
        return fold.get("a")

    async def account(self) -> AccountState:
        fold = accounts(self.log)
        await fold.refresh()
        state = fold.get("a")
        assert state is not None
        return state


def upsert(name: str, version: str = "1") -> Upsert:
    return Upsert(name, version, name.encode(), "text/plain")


def raising(error: Exception) -> Callable[[Any], Sequence[Page]]:
    def script(cursor: Any) -> Sequence[Page]:
        raise error

    return script


def pages(*given: Page) -> Callable[[Any], Sequence[Page]]:
    return lambda cursor: given


def test_records_and_cursor_become_durable_together() -> None:
    async def scenario() -> None:
        stage = Stage(pages(Page(upserts=[upsert("m1"), upsert("m2")], next_cursor={"at": 2}, complete=True)))
        await stage.add()
        await stage.poll()
        assert [record.native_id for record in stage.records()] == ["m1", "m2"]
        assert (await stage.cursor()).cursor == {"at": 2}

    asyncio.run(scenario())


def test_a_poll_resumes_from_the_stored_cursor_also_in_a_new_process() -> None:
    async def scenario() -> None:
        stage = Stage(pages(Page(next_cursor="one", complete=True)), pages(Page(complete=True)))
        await stage.add()
        await stage.poll()
        stage.agent = stage.fresh_agent()
        await stage.poll()
        assert stage.connector.cursors == [None, "one"]

    asyncio.run(scenario())


def test_what_fails_between_pages_keeps_the_pages_before() -> None:
    def breaks(cursor: Any) -> Any:
        yield Page(upserts=[upsert("m1")], next_cursor="one")
        raise TransientError("connection cut")

    async def scenario() -> None:
        stage = Stage(breaks, pages(Page(upserts=[upsert("m2")], next_cursor="two", complete=True)))
        await stage.add()
        await stage.poll()
        state = await stage.cursor()
        assert (state.cursor, state.failures, state.error) == ("one", 1, "connection cut")
        assert state.retry_at > NOW
        await stage.poll()
        assert [record.native_id for record in stage.records()] == ["m1", "m2"]
        assert (await stage.cursor()).failures == 0

    asyncio.run(scenario())


def test_an_expired_cursor_means_a_full_listing() -> None:
    def once_expired(cursor: Any) -> Sequence[Page]:
        if cursor is not None:
            raise CursorExpired("410")
        return [Page(upserts=[upsert("m1")], next_cursor="new", complete=True, reset=True)]

    async def scenario() -> None:
        stage = Stage(pages(Page(next_cursor="old", complete=True)), once_expired, once_expired)
        await stage.add()
        await stage.poll()
        await stage.poll()
        assert stage.connector.cursors == [None, "old", None]
        assert (await stage.cursor()).cursor == "new"

    asyncio.run(scenario())


def test_an_account_that_needs_a_person_says_so_once_and_recovers() -> None:
    async def scenario() -> None:
        gone = raising(AuthError("the folder cannot be read", remedy="chmod it"))
        stage = Stage(pages(Page(complete=True)), gone, gone, pages(Page(complete=True)))
        await stage.add()
        for _ in range(3):
            await stage.poll()
        assert (await stage.account()).status == "needs_reauth"
        assert stage.events() == ["account.connected", "account.needs_reauth"]
        await stage.poll()
        assert (await stage.account()).status == "active"
        assert stage.events()[-1] == "account.recovered"

    asyncio.run(scenario())


def test_a_wrong_setting_is_reported_with_its_name() -> None:
    async def scenario() -> None:
        stage = Stage()
        await stage.add(config={"pth": "x"})
        await stage.poll()
        assert "'pth'" in (await stage.account()).reason

    asyncio.run(scenario())


def test_a_rejected_item_becomes_one_dead_letter_however_often_it_is_seen() -> None:
    async def scenario() -> None:
        page = Page(rejected=[Rejected("box/1", "too_deep", "nested 1,000 deep", b"x" * 9000)], complete=True)
        stage = Stage(pages(page), pages(page))
        await stage.add()
        await stage.poll()
        await stage.poll()
        letters = [decode(DeadLetter, entry.value or b"") for entry in stage.log.entries(topics.DEAD)]
        assert len({letter.id for letter in letters}) == 1
        assert (letters[0].code, letters[0].key, letters[0].account) == ("too_deep", "box/1", "a")

    asyncio.run(scenario())


def test_questions_are_kept_for_the_person() -> None:
    async def scenario() -> None:
        question = Question("date_order", "Is 03/04 the 3rd of April?", choices={"DMY": ["2026-04-03"]})
        stage = Stage(pages(Page(questions=[question], complete=True)))
        await stage.add()
        await stage.poll()
        assert (await stage.cursor()).questions[0]["code"] == "date_order"

    asyncio.run(scenario())


@pytest.mark.parametrize("status", ["paused", "removed"])
def test_an_account_that_is_not_active_is_not_polled(status: str) -> None:
    async def scenario() -> None:
        stage = Stage()
        await stage.add(status=status)
        await stage.poll()
        assert stage.connector.cursors == []

    asyncio.run(scenario())


def test_deletes_are_records_too() -> None:
    async def scenario() -> None:
        stage = Stage(pages(Page(deletes=[Delete("m1", "gone", {"title": "Rent"})], complete=True)))
        await stage.add()
        await stage.poll()
        (record,) = stage.records()
        assert (record.op, record.meta, record.is_new) == ("delete", {"title": "Rent"}, False)

    asyncio.run(scenario())


def test_a_source_that_goes_quiet_is_silent_once_and_recovers_once() -> None:
    async def scenario() -> None:
        days = [0, 1, 2, 3, 4, 20, 21, 22]
        talks = {0, 1, 2, 3, 4, 22}
        scripts = [
            pages(Page(upserts=[upsert(f"m{day}")] if day in talks else [], next_cursor=day, complete=True))
            for day in days
        ]
        stage = Stage(*scripts)
        await stage.add()
        for day in days:
            stage.clock.advance_to(NOW + timedelta(days=day))
            await stage.poll()
        assert stage.events() == ["account.connected", "account.silent", "account.recovered"]

    asyncio.run(scenario())


def test_what_only_time_has_brought_is_no_sign_of_life() -> None:
    """A birthday of next year that comes within the horizon does not end a calendar's silence."""

    async def scenario() -> None:
        stage = Stage(
            pages(Page(upserts=[upsert("e1")], next_cursor=1, complete=True)),
            pages(Page(upserts=[upsert("e2")], next_cursor=2, complete=True, spoke=False)),
        )
        await stage.add()
        await stage.poll()
        stage.clock.advance_to(NOW + timedelta(days=3))
        await stage.poll()
        assert len((await stage.cursor()).arrivals) == 1
        assert len(stage.records()) == 2

    asyncio.run(scenario())


def test_a_consent_that_ends_soon_is_told_once_and_its_renewal_too() -> None:
    async def scenario() -> None:
        soon, late = NOW + timedelta(days=10), NOW + timedelta(days=180)
        stage = Stage(
            pages(Page(consent_expires_at=soon, complete=True)),
            pages(Page(consent_expires_at=soon, complete=True)),
            pages(Page(consent_expires_at=late, complete=True)),
            pages(Page(consent_expires_at=late, complete=True)),
        )
        await stage.add()
        for _ in range(4):
            await stage.poll()
            stage.clock.advance_to(stage.clock.now() + timedelta(days=1))
        assert stage.events() == ["account.connected", "account.consent_expiring", "account.recovered"]
        assert (await stage.account()).consent_expires_at == late
        (told,) = [e for e in stage.log.entries(topics.EVENTS) if b"consent_expiring" in (e.value or b"")]
        assert decode(Event, told.value or b"").due_at == soon

    asyncio.run(scenario())


def test_somebody_who_signs_in_again_is_heard_of_at_the_next_poll() -> None:
    """``accounts auth`` makes the account active before it is polled."""

    async def scenario() -> None:
        stage = Stage(raising(AuthError("revoked")), raising(AuthError("revoked")), pages(Page(complete=True)))
        await stage.add()
        await stage.poll()
        await stage.poll()
        await stage.add(status="active")
        await stage.poll()
        assert stage.events() == ["account.needs_reauth", "account.recovered", "account.connected"]

    asyncio.run(scenario())
