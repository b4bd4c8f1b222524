"""Other rules while the service runs are an event of the log, so a restart or a replay has the rules of then (L2)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from rules.engine import Engine
from rules.ruleset import RuleSet
from schemas import ids
from schemas.event import Event
from schemas.money import Money
from schemas.payloads import BankPayload
from schemas.rule import Rule
from schemas.trigger import Retraction, Trigger
from streams import ticks, topics
from streams.codec import decode, encode
from streams.evaluate import EvaluateAgent, rebuilt
from streams.rulebook import RuleBook
from streams.testing import MemoryLog, batch_of
from streams.work import Output

ZONE = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 3, 1, 8, tzinfo=UTC)
PROPOSE = {"title": "{{ amount }}"}


def rule(name: str, **more: Any) -> Rule:
    given = {"id": name, "title": name, "when": {"kind": "bank.posted"}, "propose": PROPOSE, **more}
    return Rule.model_validate(given)


COUNTS = rule("often", count={"over": "5d", "at_least": 3})
BIG = rule("big", when={"kind": "bank.posted", "where": "amount < -40"}, **{"for": "1d"})
SMALL = rule("big", when={"kind": "bank.posted", "where": "amount < -10"}, **{"for": "1d"})
STRANGER = rule("stranger", new_value={"value": "payload.merchant", "min_history": 2})
FIRST = RuleSet.of([COUNTS, BIG], zone=ZONE)
SECOND = RuleSet.of([COUNTS, SMALL, STRANGER], zone=ZONE)


def row(day: int, amount: str, merchant: str = "acme") -> Event:
    at = NOW + timedelta(days=day)
    return Event(
        id=ids.event_id("bank", "bank.posted", str(day), "1"),
        owner="me",
        account="bank",
        source="bankfile",
        kind="bank.posted",
        subject=f"r{day}",
        version="1",
        occurred_at=at,
        observed_at=at,
        amount=Money.of(amount, "EUR"),
        payload=BankPayload(merchant=merchant),
    )


HALVES = (
    [row(1, "-50"), row(2, "-20", "shop"), row(3, "-5"), row(4, "-45", "shop")],
    [row(5, "-30"), row(6, "-60", "elsewhere"), row(20, "-41"), row(21, "-1"), row(22, "-1")],
)


class Process:
    """An evaluate agent, fed from the log; whatever it says is in the log afterwards."""

    def __init__(self, log: MemoryLog, given: RuleSet) -> None:
        self.log = log
        self.agent = EvaluateAgent(log, lambda owner: Engine(given, owner, ZONE))
        self.read_to = 0

    async def start(self) -> None:
        await self.agent.assigned(0)

    async def take(self, most: int = 1000) -> None:
        """What the service does, one batch at a time, and a tick for each timer that is due before the next event."""
        while entries := await self.log.read(topics.EVENTS, 0, self.read_to, most):
            result = await self.agent.handle(batch_of(entries))
            await self.log.append([*result.outputs, *result.state])
            self.read_to = entries[-1].offset + 1

    async def feed(self, events: Sequence[Event]) -> None:
        for event in events:
            await self.run_to(event.observed_at)
            await self.log.append([Output(topics.EVENTS, b"me", encode(event))])
            await self.take()

    async def run_to(self, until: datetime) -> None:
        while (timer := self.agent.next_timer()) and timer[1] <= until:
            await self.log.append([ticks.clock_event("me", "clock.tick", timer[1], timer[1].date(), ZONE)])
            await self.take()


def signals(log: MemoryLog) -> list[bytes]:
    return [entry.value for entry in log.entries(topics.TRIGGERS) if entry.value]


def state(log: MemoryLog) -> dict[bytes, bytes]:
    found: dict[bytes, bytes] = {}
    for entry in log.entries(topics.RULE_STATE):
        found.pop(entry.key or b"", None)
        if entry.value is not None:
            found[entry.key or b""] = entry.value
    return found


async def half_way() -> Process:
    """The first half has come, and the second rules were brought into use."""
    log = MemoryLog()
    await RuleBook(log).bring_into_use(FIRST, ["me"], NOW)
    process = Process(log, FIRST)
    await process.start()
    await process.take()
    await process.feed(HALVES[0])
    await RuleBook(log).bring_into_use(SECOND, ["me"], NOW + timedelta(days=4, hours=1))
    return process


async def changed_while_running() -> MemoryLog:
    process = await half_way()
    await process.take()
    await process.feed(HALVES[1])
    return process.log


async def restarted_with_other_files() -> MemoryLog:
    second = Process((await half_way()).log, SECOND)
    await second.start()
    await second.take()
    await second.feed(HALVES[1])
    return second.log


def test_a_change_while_running_is_what_a_restart_with_other_files_is() -> None:
    running, restarted = asyncio.run(changed_while_running()), asyncio.run(restarted_with_other_files())
    assert signals(running) == signals(restarted)
    assert state(running) == state(restarted)
    said = [one.rule for value in signals(running) if (one := _trigger(value)) is not None]
    assert {"often", "big", "stranger"} <= set(said)


def _trigger(value: bytes) -> Trigger | None:
    return decode(Trigger, value) if b'"type":"trigger"' in value else None


def test_whoever_starts_later_uses_the_rules_of_then_whatever_the_files_say() -> None:
    async def scenario() -> None:
        log = await changed_while_running()
        before = len(signals(log))
        other = Process(log, RuleSet.of([], zone=ZONE))
        await other.start()
        other.read_to = await log.end(topics.EVENTS, 0)
        await other.feed([row(40, "-99", "new again")])
        await other.run_to(NOW + timedelta(days=45))
        assert {found.rule for value in signals(log)[before:] if (found := _trigger(value))} == {"big", "stranger"}

    asyncio.run(scenario())


@pytest.mark.parametrize("files", [FIRST, SECOND])
def test_the_state_made_again_from_zero_is_the_same(files: RuleSet) -> None:
    async def scenario() -> None:
        log = await changed_while_running()
        again = await rebuilt(log, 0, lambda owner: Engine(files, owner, ZONE))
        assert {o.key: o.value for o in again if o.value is not None} == state(log)

    asyncio.run(scenario())


def test_the_same_rules_again_are_no_change() -> None:
    async def scenario() -> None:
        log = MemoryLog()
        assert await RuleBook(log).bring_into_use(FIRST, ["me"], NOW)
        assert not await RuleBook(log).bring_into_use(FIRST, ["me"], NOW + timedelta(hours=1))
        assert len(log.entries(topics.EVENTS)) == 1

    asyncio.run(scenario())


class DyingLog(MemoryLog):
    """Dies after so many records were written."""

    left = 10_000

    async def append(self, outputs: Sequence[Output], then: Sequence[Output] = ()) -> list[int]:
        offsets = []
        for output in (*outputs, *then):
            if self.left == 0:
                raise ConnectionError("killed")
            self.left -= 1
            offsets += await super().append([output])
        return offsets


@pytest.mark.parametrize("records", range(8))
def test_a_kill_at_any_record_of_a_change_is_completed_by_the_next_start(records: int) -> None:
    async def scenario() -> None:
        log = DyingLog()
        await RuleBook(log).bring_into_use(FIRST, ["me"], NOW)
        process = Process(log, FIRST)
        await process.start()
        await process.take()
        await process.feed(HALVES[0])
        log.left = records
        at = NOW + timedelta(days=4, hours=1)
        try:
            await RuleBook(log).bring_into_use(SECOND, ["me"], at)
        except ConnectionError:
            assert records < 5, "a change is 5 records"
        log.left = 10_000
        await process.take()
        await RuleBook(log).bring_into_use(SECOND, ["me"], at + timedelta(seconds=1))
        second = Process(log, SECOND)
        await second.start()
        second.read_to = process.read_to
        await second.take()
        await second.feed(HALVES[1])
        whole = await changed_while_running()
        assert [_about(value) for value in signals(log)] == [_about(value) for value in signals(whole)]

    asyncio.run(scenario())


def _about(value: bytes) -> tuple[str, str]:
    kind = Retraction if b'"type":"retraction"' in value else Trigger
    found = decode(kind, value)
    return found.id, found.rule


def test_every_revision_of_a_rule_is_kept_with_the_time_it_came_into_use() -> None:
    async def scenario() -> None:
        log = MemoryLog()
        book = RuleBook(log)
        for number, rules in enumerate((FIRST, SECOND, FIRST)):
            await book.bring_into_use(rules, ["me"], NOW + timedelta(days=number))
        later = RuleBook(log)
        await later.refresh()
        found = later.revisions("big")
        assert [one.revision for one in found] == [FIRST.by_id["big"].revision, SECOND.by_id["big"].revision]
        assert [one.at for one in found] == [NOW, NOW + timedelta(days=1)]
        events = [decode(Event, entry.value) for entry in log.entries(topics.EVENTS) if entry.value]
        assert [event.title for event in events] == [
            "Rules: 2 added", "Rules: 1 added, 1 changed", "Rules: 1 changed, 1 removed",
        ]  # fmt: skip
        assert len({event.id for event in events}) == 3

    asyncio.run(scenario())


def test_a_rule_of_the_log_that_cannot_be_read_any_more_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        log = MemoryLog()
        await RuleBook(log).bring_into_use(FIRST, ["me"], NOW)
        (key,) = [entry.key for entry in log.entries(topics.RULES) if (entry.key or b"").startswith(b"rule/big")]
        broken = b'{"rule":"big","revision":"x","at":"2026-03-01T08:00:00Z","model":{"id":"big","gone":1}}'
        await log.append([Output(topics.RULES, key, broken)])
        book = RuleBook(log)
        await book.refresh()
        digest = book.used("me")
        assert digest
        assert [one.id for one in await book.rules(digest, ZONE)] == ["often"]
        assert "rule big" in caplog.text

    asyncio.run(scenario())


def test_revisions_that_are_compiled_are_not_compiled_again() -> None:
    async def scenario() -> None:
        log = MemoryLog()
        book = RuleBook(log)
        await book.bring_into_use(SECOND, ["me"], NOW)
        await book.refresh()
        found = (await book.rules(book.used("me") or "", ZONE, FIRST)).by_id
        assert found["often"] is FIRST.by_id["often"]
        assert found["big"].revision == SECOND.by_id["big"].revision != FIRST.by_id["big"].revision
        assert set(found) == {"often", "big", "stranger"}

    asyncio.run(scenario())


def test_a_rule_that_was_turned_off_in_its_file_is_on_until_the_log_says_otherwise() -> None:
    off = RuleSet.of([COUNTS.model_copy(update={"enabled": False}), BIG], zone=ZONE)

    async def scenario() -> None:
        log = MemoryLog()
        await RuleBook(log).bring_into_use(FIRST, ["me"], NOW)
        process = Process(log, FIRST)
        await process.start()
        await process.take()
        again = Process(log, off)
        await again.start()
        await again.feed([row(1, "-5"), row(2, "-6"), row(3, "-7")])
        assert [decode(Trigger, value).rule for value in signals(log)] == ["often"]

    asyncio.run(scenario())
