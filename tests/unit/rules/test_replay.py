"""A replay says the same, whatever was delivered twice, split, or interrupted by a restart (laws L2, L6)."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from hypothesis import given, settings
from hypothesis import strategies as st

from rules import shorthand
from rules.engine import Engine
from rules.library import library_paths
from rules.loader import load
from rules.ruleset import RuleSet
from rules.shorthand import BASE_DAY
from rules.state import TIMER, RuleState
from rules.testing import Player, example_events, make_event, tick
from schemas.event import Event
from schemas.model import Json
from streams.codec import decode_event, encode
from tests.scale import scaled

ZONE = ZoneInfo("Europe/Berlin")
RULES = load(library_paths(), zone=ZONE)

companies = st.sampled_from(
    ["ACME <billing@acme.example>", "Town Hall <office@town.example>", "Ben <ben@friend.example>"]
)
days = st.integers(-3, 40).map(lambda day: f"{day:+d}d")
facts: st.SearchStrategy[dict[str, Json]] = st.fixed_dictionaries(
    {},
    optional={
        "invoice": st.fixed_dictionaries(
            {"number": st.sampled_from("12"), "amount": st.just("50.00 EUR"), "due": days}
        ),
        "due": st.fixed_dictionaries({"on": days, "what": st.sampled_from(["return", "answer"])}),
        "expiry": st.fixed_dictionaries({"on": days, "category": st.sampled_from(["document", "trial", "contract"])}),
        "question": st.just(True),
        "resolution": st.sampled_from(["paid", "cancelled", "extended"]),
        "reservation": st.fixed_dictionaries(
            {"code": st.just("X1"), "status": st.sampled_from(["confirmed", "cancelled"])}
        ),
    },
)
threads = st.sampled_from(["t1", "t2"])
mails: st.SearchStrategy[dict[str, Json]] = st.fixed_dictionaries(
    {"kind": st.just("mail.received"), "from": companies, "facts": facts, "matter": threads,
     "payload": st.fixed_dictionaries({"thread": threads})}
)  # fmt: skip
sent: st.SearchStrategy[dict[str, Json]] = st.fixed_dictionaries(
    {"kind": st.just("mail.sent"), "payload": st.fixed_dictionaries({"thread": threads})}
)
rows: st.SearchStrategy[dict[str, Json]] = st.fixed_dictionaries(
    {"kind": st.sampled_from(["bank.posted", "bank.posted", "bank.removed"]), "subject": st.sampled_from("pqrs"),
     "amount": st.sampled_from(["-50.00 EUR", "-5.00 EUR", "900.00 EUR", "-800.00 EUR"]),
     "payload": st.just({"merchant": "acme", "counterparty": "ACME"})}
)  # fmt: skip
entries: st.SearchStrategy[dict[str, Json]] = st.builds(
    lambda kind, subject, hour, lasts: {
        "kind": kind, "subject": subject, "title": subject, "starts": f"+{hour}h", "ends": f"+{hour + lasts}h"
    },
    st.sampled_from(["calendar.scheduled", "calendar.changed", "calendar.cancelled"]),
    st.sampled_from("abc"),
    st.integers(24 * 30, 24 * 31),
    st.integers(1, 6),
)  # fmt: skip
accounts: st.SearchStrategy[dict[str, Json]] = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["account.silent", "account.recovered"]),
        "account": st.just("bank"),
        "subject": st.just("x"),
    }
)
streams = st.lists(st.tuples(st.integers(0, 30 * 24), mails | mails | sent | rows | entries | accounts), max_size=25)


HISTORY: list[dict[str, Json]] = [
    {"kind": "bank.posted", "at": "-60d", "amount": "-5.00 EUR", "repeat": {"times": 12, "every": "4d"}},
    {"kind": "bank.posted", "at": "2025-11-15", "amount": "900.00 EUR", "repeat": {"times": 4, "every": "month"}},
]


def events_of(stream: list[tuple[int, dict[str, Json]]]) -> list[Event]:
    """Habits of an account, and then whatever comes."""
    payload: Json = {"merchant": "acme", "counterparty": "ACME"}
    made = [
        event
        for number, short in enumerate(HISTORY)
        for event in shorthand.events(short | {"payload": payload}, 1000 + number, "example", ZONE)
    ]
    made += [
        make_event(short | {"at": f"+{hour}h", "version": str(number)}, number, ZONE)
        for number, (hour, short) in enumerate(stream)
    ]
    return sorted(made, key=lambda event: event.observed_at)


def played(stream: list[tuple[int, dict[str, Json]]]) -> Player:
    player = Player(RULES, ZONE)
    return player.play(events_of(stream), until=datetime(2026, 5, 20, tzinfo=ZONE))


def said(signals: list[Any]) -> list[str]:
    return [signal.model_dump_json() for signal in signals]


@settings(max_examples=scaled(25, 600), deadline=None)
@given(streams)
def test_the_log_played_again_says_the_same(stream: list[tuple[int, dict[str, Json]]]) -> None:
    first = played(stream)
    engine, state = Engine(RULES, first.owner, ZONE), RuleState()
    again = [signal for event in first.log for signal in engine.evaluate(event, state, event.observed_at).signals]
    assert said(again) == said(first.signals)
    assert dict(state.items()) == dict(first.state.items())


@settings(max_examples=scaled(25, 600), deadline=None)
@given(streams)
def test_events_as_the_log_decodes_them_say_the_same(stream: list[tuple[int, dict[str, Json]]]) -> None:
    first = played(stream)
    engine, state = Engine(RULES, first.owner, ZONE), RuleState()
    decoded = [decode_event(encode(event)) for event in first.log]
    signals = [signal for event in decoded for signal in engine.evaluate(event, state, event.observed_at).signals]
    assert said(signals) == said(first.signals)
    again = RuleState()
    again.load(json.loads(json.dumps(dict(state.items()))))
    assert engine.evaluate(decoded[-1], again, decoded[-1].observed_at).signals == []


@settings(max_examples=scaled(25, 600), deadline=None)
@given(streams, st.data())
def test_a_restart_between_any_two_events_changes_nothing(stream: list[tuple[int, dict[str, Json]]], data: Any) -> None:
    first = played(stream)
    stored: dict[str, Json | None] = {}
    state = RuleState()
    signals: list[Any] = []
    for event in first.log:
        if data.draw(st.booleans()):
            stored.update(json.loads(json.dumps(state.take_changes())))
            state = RuleState()
            state.load({name: value for name, value in stored.items() if value is not None})
        engine = Engine(RULES, first.owner, ZONE)
        signals += engine.evaluate(event, state, event.observed_at).signals
    assert said(signals) == said(first.signals)
    assert dict(state.items()) == dict(first.state.items())


@settings(max_examples=scaled(25, 600), deadline=None)
@given(streams, st.data())
def test_an_event_that_comes_again_changes_nothing(stream: list[tuple[int, dict[str, Json]]], data: Any) -> None:
    first = played(stream)
    engine, state = Engine(RULES, first.owner, ZONE), RuleState()
    signals: list[Any] = []
    for position, event in enumerate(first.log):
        signals += engine.evaluate(event, state, event.observed_at).signals
        before = dict(state.items())
        earlier = first.log[data.draw(st.integers(0, position))]
        assert engine.evaluate(earlier, state, event.observed_at).signals == []
        assert dict(state.items()) == before
    assert said(signals) == said(first.signals)


@settings(max_examples=scaled(25, 600), deadline=None)
@given(streams)
def test_no_trigger_is_sent_twice_and_none_is_withdrawn_twice(stream: list[tuple[int, dict[str, Json]]]) -> None:
    player = played(stream)
    ids = [signal.id for signal in player.signals]
    assert len(ids) == len(set(ids))
    triggers = {trigger.id for trigger in player.triggers()}
    assert all(signal.trigger in triggers for signal in player.signals if signal.type == "retraction")


@settings(max_examples=scaled(20, 200), deadline=None)
@given(streams)
def test_when_all_is_over_only_what_was_learned_is_left(stream: list[tuple[int, dict[str, Json]]]) -> None:
    player = played(stream)
    player.run_to(datetime(2029, 6, 1, tzinfo=ZONE))
    midnight = datetime(2029, 6, 1, tzinfo=ZONE)
    player.evaluate(tick(midnight, player.owner, ZONE, "clock.day"))
    assert {name.split("/")[0] for name, _ in player.state.items()} <= {"seen", "base"}
    assert player.state.next_timer() is None


def test_a_rule_that_is_gone_leaves_no_timer_behind() -> None:
    player = Player(RULES, ZONE)
    short: dict[str, Json] = {"kind": "mail.received", "facts": {"invoice": {"number": "1", "due": "+20d"}}}
    player.play([make_event(short, 0, ZONE)])
    timers = [name for name, _ in player.state.items(TIMER)]
    assert timers
    engine = Engine(RuleSet.of([], zone=ZONE), player.owner, ZONE)
    for _ in timers:
        due = player.state.next_timer()
        if due is not None:
            assert engine.evaluate(tick(due, player.owner, ZONE), player.state, due).signals == []
    assert player.state.next_timer() is None


def test_examples_are_played_from_a_fixed_day() -> None:
    rule = RULES.by_id["invoice-unpaid"].model
    first = example_events(rule.examples.fires[0], ZONE)[0]
    assert first.observed_at.astimezone(ZONE).date() == BASE_DAY
    assert first.observed_at.astimezone(ZONE).hour == 10
    assert timedelta(0) == first.observed_at - first.occurred_at
