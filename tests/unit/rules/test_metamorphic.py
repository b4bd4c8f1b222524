"""Whatever the rules and the events are: how they are delivered makes no difference to what is said (laws L2, L6).

Rules are drawn over all detectors and modifiers, streams over all kinds of events, in four zones, across a change of
clocks and with stops of the service.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from array import array
from binascii import a2b_base64
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

from hypothesis import event as note
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.engine import Engine
from rules.replay import replay
from rules.ruleset import RuleSet
from rules.state import RuleState
from rules.testing import Player
from schemas.event import Event
from schemas.model import Json
from streams import topics
from streams.codec import decode_event, encode
from streams.evaluate import EvaluateAgent
from streams.testing import MemoryLog, batch_of
from streams.work import Entry
from tests.scale import scaled
from tests.unit.rules.drawing import (
    ANSWERED,
    SINGLE,
    STREAMS,
    ZONES,
    Stream,
    events_of,
    instant,
    made,
    rule_lists,
    rules,
)
from tests.unit.rules.living import OWNER, Live, said

zones = st.sampled_from(ZONES).map(ZoneInfo)
stops = st.lists(st.tuples(st.integers(0, 40 * 24), st.integers(1, 72)), max_size=3)
usual = settings(max_examples=scaled(60, 3000), deadline=None)


def lived(rules: RuleSet, stream: Stream, stopped: list[tuple[int, int]]) -> Live:
    events = [event.model_copy(update={"owner": OWNER}) for event in events_of(stream, rules.zone)]
    return Live(rules, stopped).play(events)


def texts(signals: list[Any]) -> list[str]:
    return [signal.model_dump_json() for signal in signals]


@usual
@given(rule_lists(), STREAMS, stops, zones, st.randoms(use_true_random=False))
def test_restarts_and_second_deliveries_anywhere_change_nothing(
    rules: Any, stream: Stream, stopped: Any, zone: ZoneInfo, chance: Any
) -> None:
    live = lived(made(rules, zone), stream, stopped)
    stored: dict[str, Json | None] = {}
    state, signals = RuleState(), list[Any]()
    ruleset = made(rules, zone)
    for position, event in enumerate(live.log):
        if chance.random() < 0.3:
            stored.update(json.loads(json.dumps(state.take_changes())))
            state = RuleState()
            state.load({name: value for name, value in stored.items() if value is not None})
            ruleset = made(rules, zone) if chance.random() < 0.05 else ruleset
        engine = Engine(ruleset, OWNER, zone)
        signals += engine.evaluate(decode_event(encode(event)), state, event.observed_at).signals
        if chance.random() < 0.3:
            again = live.log[chance.randrange(position + 1)]
            before = dict(state.items())
            assert engine.evaluate(again, state, event.observed_at).signals == []
            assert dict(state.items()) == before
    assert texts(signals) == texts(live.signals)
    assert dict(state.items()) == dict(live.state.items())
    ids = [signal.id for signal in signals]
    assert len(ids) == len(set(ids))


async def in_batches(rules: RuleSet, log: list[Event], cuts: list[int], deaths: set[int]) -> list[bytes]:
    """Through the agent; after some batches it dies, before or after what it made was durable, and sees them again."""
    entries = [Entry(topics.EVENTS, 0, n, event.owner.encode(), encode(event)) for n, event in enumerate(log)]
    memory, signals = MemoryLog(), dict[str, bytes]()
    agent = EvaluateAgent(memory, lambda owner: Engine(rules, owner, rules.zone))
    await agent.assigned(0)
    for number, (start, end) in enumerate(itertools.pairwise([0, *cuts, len(entries)])):
        batch = batch_of(entries[start:end])
        result = await agent.handle(batch)
        if number in deaths and number % 2 == 0:
            await memory.append(result.state)
        if number in deaths:
            agent = EvaluateAgent(memory, lambda owner: Engine(rules, owner, rules.zone))
            await agent.assigned(0)
            again = await agent.handle(batch)
            assert number % 2 or not again.outputs
            result.outputs, result.state = [*result.outputs, *again.outputs], again.state
        signals |= {json.loads(output.value)["id"]: output.value for output in result.outputs if output.value}
        await memory.append(result.state)
    return list(signals.values())


@settings(max_examples=scaled(40, 2000), deadline=None)
@given(rule_lists(), STREAMS, stops, zones, st.data())
def test_batches_cut_anywhere_and_repeated_after_deaths_say_the_same(
    rules: Any, stream: Stream, stopped: Any, zone: ZoneInfo, data: st.DataObject
) -> None:
    ruleset = made(rules, zone)
    live = lived(ruleset, stream, stopped)
    cuts = sorted(data.draw(st.sets(st.integers(1, max(len(live.log) - 1, 1)), max_size=6)))
    deaths = data.draw(st.sets(st.integers(0, 6)))
    found = asyncio.run(in_batches(ruleset, live.log, cuts, deaths))
    assert found == [encode(signal) for signal in live.told]


@usual
@given(rule_lists(), STREAMS, stops, zones)
def test_a_backtest_of_all_and_of_each_says_what_was_said_live(
    rules: Any, stream: Stream, stopped: Any, zone: ZoneInfo
) -> None:
    ruleset = made(rules, zone)
    live = lived(ruleset, stream, stopped)
    assert said(replay(ruleset, live.log, owner=OWNER, zone=zone)) == live.said()
    for rule in ruleset:
        alone = replay(ruleset.with_inhibitors([rule.id]), live.log, owner=OWNER, zone=zone)
        assert said(signal for signal in alone if signal.rule == rule.id) == live.said(rule.id)


@usual
@given(rule_lists(), STREAMS, zones)
def test_a_rule_that_was_not_in_use_says_in_a_backtest_what_it_would_have_said(
    rules: Any, stream: Stream, zone: ZoneInfo
) -> None:
    ruleset = made(rules, zone)
    without, live = lived(RuleSet([], zone), stream, []), lived(ruleset, stream, [])
    assert said(replay(ruleset, without.log, owner=OWNER, zone=zone)) == live.said()


# --- the order of arrival --------------------------------------------------------------------------------------------

EXACT = ("match", "deadline", "absence", "conflict", "count", "few", "distinct", "sum", "mean", "rate", "spike", "drop")
"""Whatever the order within a burst, the same triggers stand: they are about what occurred, not about when it is seen.

Of the others less is the same. ``sequence``: which keys stand (of chains that share a step the first that is complete
is told). ``threshold`` and ``flatline``: that too, for what is not clear or silent is decided by the newest value; but
older ones are passed over (``outdated``) and not counted, so that ``min_history`` and a bound of its own for ``clear``
may be reached later. ``change`` compares each value with the one before it, ``anomaly`` and ``new_value`` with those
that were known: what they remember in the end is the same, what they say on the way is not. ``cooldown``, ``consumes``,
``group`` and ``inhibit`` let the first that is seen speak or settle.
"""
KEYS = ("sequence", "periodic")
ORDERLY: dict[str, Any] = {
    "for": "2h", "schedule": {"quiet": {"hours": "22:00-07:00"}}, "key": ["account", "subject"], "unless": ANSWERED,
}  # fmt: skip


def bursts(stream: Stream, zone: ZoneInfo, chance: Any | None) -> list[Event]:
    """What occurred within six hours is seen together, after it: in the order in which it occurred, or in any."""
    found: list[Event] = []
    by_time = events_of([(hour, 0, short) for hour, _, short in stream], zone)
    for _, burst in itertools.groupby(by_time, key=lambda event: int(event.occurred_at.timestamp() // 21_600)):
        events = list(burst)
        last = events[-1].occurred_at
        if chance is not None:
            chance.shuffle(events)
        found += [event.model_copy(update={"observed_at": last + timedelta(seconds=n)}) for n, event in
                  enumerate(events, 1)]  # fmt: skip
    return found


def standing(rules: RuleSet, events: list[Event]) -> set[tuple[str, str]]:
    """Key and occurrence (whatever number of time it is) of the triggers that stand."""
    played = Player(rules, rules.zone).play(events, until=instant("+80d", rules.zone))
    return {(trigger.key, trigger.occurrence.partition("#")[0]) for trigger in played.standing()}


@usual
@given(st.data(), st.sampled_from([*EXACT, *KEYS]), SINGLE, zones, st.randoms(use_true_random=False))
def test_the_order_of_arrival_within_a_burst_makes_no_difference_to_what_stands(
    data: st.DataObject, detector: str, stream: Stream, zone: ZoneInfo, chance: Any
) -> None:
    rule = data.draw(rules("a-rule", detectors=[detector], modified=False))
    modifier = data.draw(st.sampled_from([None, *ORDERLY]))
    if modifier is not None:
        rule = {modifier: ORDERLY[modifier]} | rule
    ruleset = made([rule], zone)
    in_order, shuffled = (standing(ruleset, bursts(stream, zone, how)) for how in (None, chance))
    note(f"{detector} {'stands' if in_order else 'is silent'}")
    if detector in EXACT:
        assert shuffled == in_order
    else:
        assert {key for key, _ in shuffled} == {key for key, _ in in_order}


def logarithms(entry: str) -> array[float]:
    """The values of a baseline's entry."""
    found = array("f")
    found.frombytes(a2b_base64(entry.partition(" ")[2]))
    return found


LEARNED = ("anomaly", "new_value", "change", "threshold", "flatline")


@usual
@given(st.data(), st.sampled_from(LEARNED), SINGLE, zones, st.randoms(use_true_random=False))
def test_whatever_the_order_the_same_is_remembered(
    data: st.DataObject, detector: str, stream: Stream, zone: ZoneInfo, chance: Any
) -> None:
    """Values that are compared, as a set; of those of which the newest counts, that one."""
    rule = data.draw(rules("a-rule", detectors=[detector], modified=False))
    ruleset = made([rule], zone)
    known = []
    for how in (None, chance):
        played = Player(ruleset, zone).play(bursts(stream, zone, how))
        if detector == "flatline":
            known.append({key: case["data"]["last"] for key, case in played.state.items("case/")})
        elif detector in ("change", "threshold"):
            known.append({key: entry[1] for key, entry in played.state.items("base/")})
        elif detector == "anomaly":
            known.append({key: sorted(logarithms(entry)) for key, entry in played.state.items("base/")})
        else:
            known.append({key: sorted(map(str, entry[1:])) for key, entry in played.state.items("base/")})
    assert known[0] == known[1]
