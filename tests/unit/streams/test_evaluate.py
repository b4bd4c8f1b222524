import asyncio
import itertools
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.engine import Engine
from rules.loader import load
from rules.ruleset import RuleSet
from schemas import ids
from schemas.event import Event, Party
from schemas.fact import DueFact, InvoiceFact
from schemas.money import Money
from streams import ticks, topics
from streams.codec import decode, encode
from streams.evaluate import EvaluateAgent
from streams.testing import MemoryLog, batch_of
from streams.work import Entry, Output

ZONE = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 3, 1, 8, tzinfo=UTC)
RULE = """
rules:
  - id: pay
    title: Pay it
    when: {kind: mail.received, where: "has(fact.invoice)"}
    deadline: {at: fact.due, lead: [2d]}
    key: subject
    propose: {title: "Pay {{ fact.invoice.number }}", goal: "Pay it in time."}
    examples:
      fires:
        - events: [{kind: mail.received, facts: {invoice: {number: "1"}, due: {on: +10d}}}]
      silent:
        - events: [{kind: mail.received}]
"""


@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> RuleSet:
    path: Path = tmp_path_factory.mktemp("rules") / "pay.yaml"
    path.write_text(RULE)
    return load([path], zone=ZONE)


def mail(number: int, due: date) -> Event:
    return Event(
        id=ids.event_id("mail", "mail.received", str(number), "1"),
        owner="me",
        account="mail",
        source="maildir",
        kind="mail.received",
        subject=f"m{number}",
        version="1",
        occurred_at=NOW,
        observed_at=NOW + timedelta(minutes=number),
        title=f"Invoice {number}",
        parties=(Party(role="from", address="a@b.example"),),
        amount=Money.of("-5", "EUR"),
        facts=(
            InvoiceFact(number=str(number), origin="text", certainty=1, due=due),
            DueFact(on=due, origin="text", certainty=1),
        ),
    )


def agent(log: MemoryLog, rules: RuleSet) -> EvaluateAgent:
    return EvaluateAgent(log, lambda owner: Engine(rules, owner, ZONE))


def entries(*outputs: Output) -> list[Entry]:
    return [Entry(o.topic, 0, n, o.key, o.value) for n, o in enumerate(outputs)]


def stream(count: int) -> list[Entry]:
    mails = [Output(topics.EVENTS, b"me", encode(mail(n, date(2026, 3, 10 + n)))) for n in range(count)]
    days = [NOW + timedelta(days=n) for n in range(1, 20)]
    clock = [ticks.clock_event("me", "clock.tick", at, at.date(), ZONE) for at in days]
    return entries(*mails, *clock)


async def run(rules: RuleSet, found: list[Entry], cuts: list[int], deaths: set[int]) -> list[bytes]:
    """Evaluate in batches cut at ``cuts``; after the batches in ``deaths`` the agent dies, in turn before and after
    its result became durable, and a new one goes on (and sees the last batch again where it was not)."""
    log, signals = MemoryLog(), list[bytes]()
    current = agent(log, rules)
    await current.assigned(0)
    edges = [0, *cuts, len(found)]
    for number, (start, end) in enumerate(itertools.pairwise(edges)):
        if start == end:
            continue
        batch = batch_of(found[start:end])
        result = await current.handle(batch)
        if number in deaths and number % 2:
            current = agent(log, rules)
            await current.assigned(0)
            result = await current.handle(batch)
        signals += [output.value for output in result.outputs if output.value]
        await log.append(result.state)
        if number in deaths and not number % 2:
            current = agent(log, rules)
            await current.assigned(0)
            again = await current.handle(batch)
            assert not again.outputs
    return signals


def test_a_timer_fires_on_the_tick_that_finds_it_due(rules: RuleSet) -> None:
    signals = asyncio.run(run(rules, stream(1), [], set()))
    assert [signal.count(b'"trigger"') > 0 for signal in signals] == [True]


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_batches_and_deaths_anywhere_change_no_signal(rules: RuleSet, data: st.DataObject) -> None:
    found = stream(5)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(found)), max_size=6)))
    deaths = data.draw(st.sets(st.integers(0, 7)))
    assert asyncio.run(run(rules, found, cuts, deaths)) == asyncio.run(run(rules, found, [], set()))


def test_events_that_come_twice_change_no_signal(rules: RuleSet) -> None:
    found = stream(3)
    doubled = entries(*(Output(e.topic, e.key, e.value) for e in found for _ in range(2)))
    assert asyncio.run(run(rules, doubled, [], set())) == asyncio.run(run(rules, found, [], set()))


def test_the_next_timer_is_known_also_after_a_restart(rules: RuleSet) -> None:
    async def scenario() -> None:
        log = MemoryLog()
        first = agent(log, rules)
        await first.assigned(0)
        result = await first.handle(batch_of(entries(Output(topics.EVENTS, b"me", encode(mail(0, date(2026, 3, 10)))))))
        await log.append(result.state)
        second = agent(log, rules)
        await second.assigned(0)
        assert second.next_timer() == first.next_timer() == ("me", datetime(2026, 3, 8, 8, tzinfo=UTC))

    asyncio.run(scenario())


def test_of_state_that_was_replaced_or_removed_a_restart_decodes_nothing(rules: RuleSet) -> None:
    async def scenario() -> None:
        log = MemoryLog()
        first = agent(log, rules)
        await first.assigned(0)
        result = await first.handle(batch_of(entries(Output(topics.EVENTS, b"me", encode(mail(0, date(2026, 3, 10)))))))
        replaced = [Output(output.topic, output.key, b"no JSON") for output in result.state]
        removed = [Output(topics.RULE_STATE, b"me\x1fgone", value) for value in (b"no JSON", None)]
        await log.append([*replaced, *removed, *result.state])
        second = agent(log, rules)
        await second.assigned(0)
        assert second.next_timer() == first.next_timer() is not None

    asyncio.run(scenario())


def test_a_revoked_partition_is_forgotten(rules: RuleSet) -> None:
    async def scenario() -> None:
        current = agent(MemoryLog(), rules)
        await current.assigned(0)
        assert current.owns(0)
        await current.revoked(0)
        assert not current.owns(0)
        assert current.next_timer() is None

    asyncio.run(scenario())


def test_time_never_goes_backwards_for_an_owner(rules: RuleSet) -> None:
    """A late tick of an earlier instant must not take a timer back."""

    async def scenario() -> None:
        late = ticks.clock_event("me", "clock.tick", NOW + timedelta(days=30), date(2026, 3, 31), ZONE)
        early = ticks.clock_event("me", "clock.tick", NOW, date(2026, 3, 1), ZONE)
        current = agent(MemoryLog(), rules)
        await current.assigned(0)
        result = await current.handle(batch_of(entries(late, early)))
        assert not result.outputs
        (now,) = [o.value for o in result.state if o.key and o.key.endswith(b"\x1fnow")]
        assert now == b'"2026-03-31T08:00:00+00:00"'

    asyncio.run(scenario())


def test_the_last_day_that_was_announced_is_known(rules: RuleSet) -> None:
    async def scenario() -> None:
        current = agent(MemoryLog(), rules)
        await current.assigned(0)
        assert current.last_day("me") is None
        await current.handle(batch_of(entries(ticks.clock_event("me", "clock.day", NOW, date(2026, 3, 1), ZONE))))
        assert current.last_day("me") == date(2026, 3, 1)

    asyncio.run(scenario())


def test_decoded_events_are_what_rules_see(rules: RuleSet) -> None:
    event = mail(1, date(2026, 3, 11))
    assert decode(Event, encode(event)) == event
