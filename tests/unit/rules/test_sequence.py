"""Sequence: one thing and then another within a time, against an obvious model, whatever the order of arrival."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.prepared import PreparedRule, Shared
from rules.testing import Player, make_event, run_examples
from schemas.event import Event
from schemas.model import Json
from schemas.rule import Rule
from schemas.trigger import Trigger
from tests.scale import scaled

Make = Callable[..., Player]
UTC_ZONE = ZoneInfo("UTC")
START = datetime(2026, 3, 2, tzinfo=UTC)

REFUND: dict[str, Any] = {
    "when": {"kind": "mail.received", "match": {"title": {"words": ["order"]}}},
    "sequence": {
        "then": [
            {"kind": "mail.received", "match": {"title": {"words": ["shipped"]}}, "where": "matter == first.matter"},
            {"kind": "bank.posted", "where": "matter == step2.matter && amount < 0"},
        ],
        "within": "5d",
        "without": {"kind": "mail.received", "where": "title == 'stop' && matter == first.matter"},
    },
    "key": "matter",
    "says": "{{ first.matter }}: {{ step2.title }} and {{ step3.amount | money }}",
}  # fmt: skip
LETTERS = {"a": "order", "b": "shipped", "w": "stop"}


def letter(number: int, hour: int, what: str, matter: str = "m", **more: Json) -> Event:
    """``a``, ``b`` and ``c`` are the steps, ``w`` is what must not come between."""
    short: dict[str, Json] = (
        {"kind": "bank.posted", "amount": "-5.00 EUR"} if what == "c" else {"kind": "mail.received"}
    )
    event = make_event(short | {"title": LETTERS.get(what, ""), "matter": matter} | more, number, UTC_ZONE)
    at = START + timedelta(hours=hour)
    return event.model_copy(update={"observed_at": at, "occurred_at": at})


Stream = list[tuple[int, str, str]]
streams: st.SearchStrategy[Stream] = st.lists(
    st.tuples(st.integers(0, 24 * 8), st.sampled_from("abcw"), st.sampled_from("mn")),
    max_size=12,
    unique_by=lambda entry: entry[0],
).map(sorted)


def obvious(stream: Stream, matter: str, until: int) -> set[tuple[int, int]]:
    """First and last hour of the sequences that are there at ``until``: the nearest first step for each last one."""
    mine = [(hour, what) for hour, what, of in stream if of == matter and hour <= until]
    found: dict[int, int] = {}
    for start in [hour for hour, what in mine if what == "a"]:
        b = next((hour for hour, what in mine if what == "b" and hour > start), None)
        c = next((hour for hour, what in mine if what == "c" and b is not None and hour > b), None)
        if c is None or c > start + 120 or any(what == "w" and start < hour < c for hour, what in mine):
            continue
        found[c] = max(start, found.get(c, 0))
    return {(start, last) for last, start in found.items()}


def hours(at: datetime) -> int:
    return int((at - START).total_seconds() // 3600)


@settings(max_examples=scaled(80, 10_000), deadline=None)
@given(streams)
def test_sequences_in_order_are_those_of_the_obvious_model(player: Make, stream: Stream) -> None:
    played = player("UTC", REFUND).play([letter(n, *entry) for n, entry in enumerate(stream)])
    for matter in "mn":
        fired = {(hours(t.evidence[0].occurred_at), hours(t.evidence[-1].occurred_at)) for t in played.triggers()
                 if t.key == matter}  # fmt: skip
        assert fired == obvious(stream, matter, 10_000)
    assert played.standing() == played.triggers()


@settings(max_examples=scaled(80, 10_000), deadline=None)
@given(streams, st.data())
def test_the_order_of_arrival_does_not_matter_to_what_stands(player: Make, stream: Stream, data: Any) -> None:
    events = [letter(n, *entry) for n, entry in enumerate(stream)]
    seen = START + timedelta(days=9)
    shuffled = [
        event.model_copy(update={"observed_at": seen + timedelta(seconds=n)})
        for n, event in enumerate(data.draw(st.permutations(events)))
    ]
    played = player("UTC", REFUND | {"max_age": "60d"}).play(shuffled)
    for matter in "mn":
        lasts = {hours(t.evidence[-1].occurred_at) for t in played.standing() if t.key == matter}
        assert bool(lasts) == bool(obvious(stream, matter, 10_000))


@settings(max_examples=scaled(40, 2000), deadline=None)
@given(streams, st.data())
def test_a_restart_or_a_second_delivery_changes_nothing(player: Make, stream: Stream, data: Any) -> None:
    events = [letter(n, *entry) for n, entry in enumerate(stream)]
    straight = player("UTC", REFUND).play(events)
    broken = player("UTC", REFUND)
    for event in events:
        if data.draw(st.booleans()):
            stored = json.loads(json.dumps(dict(broken.state.items())))
            broken.state = type(broken.state)()
            broken.state.load(stored)
        broken.play([event])
        if data.draw(st.booleans()):
            assert broken.evaluate(event).signals == []
    assert broken.signals == straight.signals
    assert dict(broken.state.items()) == dict(straight.state.items())


def test_the_trigger_names_all_steps_and_their_values(player: Make) -> None:
    (trigger,) = player("UTC", REFUND).play([letter(0, 0, "a"), letter(1, 5, "b"), letter(2, 9, "c")]).triggers()
    assert trigger.title == "m: shipped and -5.00 EUR"
    assert [item.event for item in trigger.evidence] == ["example-0-", "example-1-", "example-2-"]
    assert trigger.explanation.reason == "followed"


def kinds(played: Player) -> list[str]:
    return [f"{s.type} {s.reason}" if s.type == "retraction" else s.type for s in played.signals]


def test_a_step_that_the_source_takes_back_withdraws_the_trigger(player: Make) -> None:
    events = [letter(0, 0, "a"), letter(1, 5, "b"), letter(2, 9, "c", subject="row")]
    gone = make_event({"kind": "bank.removed", "subject": "row", "at": "+1d"}, 3, UTC_ZONE)
    played = player("UTC", REFUND).play([*events, gone])
    assert kinds(played) == ["trigger", "retraction removed"]
    played.play([letter(4, 48, "c")])
    assert kinds(played) == ["trigger", "retraction removed", "trigger"]


def test_a_step_that_is_taken_back_before_the_last_one_leads_to_nothing(player: Make) -> None:
    gone = letter(3, 6, "b", subject="s").model_copy(update={"op": "retract", "title": ""})
    played = player("UTC", REFUND).play([letter(0, 0, "a"), letter(1, 5, "b", subject="s"), gone, letter(2, 9, "c")])
    assert kinds(played) == []


def test_a_newer_version_that_no_longer_fits_withdraws_and_one_that_fits_does_not(player: Make) -> None:
    events = [letter(0, 0, "a"), letter(1, 5, "b"), letter(2, 9, "c", subject="row")]
    same = letter(3, 10, "c", subject="row", version="2", amount="-6.00 EUR")
    other = letter(4, 11, "c", subject="row", version="3", amount="6.00 EUR")
    played = player("UTC", REFUND).play([*events, same])
    assert kinds(played) == ["trigger"]
    played.play([other])
    assert kinds(played) == ["trigger", "retraction resolved"]


def test_what_must_not_come_between_and_is_seen_late_withdraws(player: Make) -> None:
    late = letter(3, 12, "w").model_copy(update={"occurred_at": START + timedelta(hours=7)})
    played = player("UTC", REFUND).play([letter(0, 0, "a"), letter(1, 5, "b"), letter(2, 9, "c"), late])
    assert kinds(played) == ["trigger", "retraction resolved"]


def test_a_change_long_after_the_steps_were_forgotten_withdraws_nothing_that_still_fits(player: Make) -> None:
    events = [letter(0, 0, "a"), letter(1, 5, "b"), letter(2, 9, "c", subject="row")]
    played = player("UTC", REFUND).play(events)
    played.evaluate(letter(8, 24 * 20, "a", matter="other"))
    played.evaluate(make_event({"kind": "clock.day", "at": "+21d"}, 9, UTC_ZONE))
    again = letter(3, 24 * 22, "c", subject="row", version="2")
    assert played.evaluate(again).signals == []


def test_a_sequence_within_days_counts_local_days_across_a_clock_change(player: Make) -> None:
    berlin = ZoneInfo("Europe/Berlin")
    rule: dict[str, Any] = {
        "when": {"kind": "mail.received"},
        "sequence": {"then": {"kind": "mail.sent", "where": "payload.thread == first.payload.thread"}, "within": "1d"},
    }
    first = make_event({"kind": "mail.received", "at": "2026-03-28 18:00", "payload": {"thread": "t"}}, 0, berlin)
    for minute, count in (("18:00", 1), ("18:01", 0)):
        second = make_event({"kind": "mail.sent", "at": f"2026-03-29 {minute}", "payload": {"thread": "t"}}, 1, berlin)
        assert len(player("Europe/Berlin", rule).play([first, second]).triggers()) == count


def test_a_thing_may_follow_its_own_earlier_state(player: Make) -> None:
    rule: dict[str, Any] = {
        "when": {"kind": "calendar.scheduled"},
        "sequence": {"then": {"kind": "calendar.cancelled", "where": "subject == first.subject"}, "within": "1h"},
    }
    events = [
        make_event({"kind": kind, "subject": "s", "at": f"+{n}m"}, n, UTC_ZONE)
        for n, kind in enumerate(["calendar.scheduled", "calendar.cancelled"])
    ]
    assert kinds(player("UTC", rule).play(events)) == ["trigger"]


def test_the_examples_of_a_sequence_are_played() -> None:
    rule = Rule.model_validate({
        "id": "test-charge", "title": "A small charge, then a large one",
        "when": {"kind": "bank.posted", "match": {"amount": {"above": -2, "below": 0}}},
        "sequence": {
            "then": {"kind": "bank.posted", "where": "amount < -100 && merchant == first.merchant"},
            "within": "2d",
        },
        "propose": {"title": "{{ step2.amount }} after a charge of {{ amount }}"},
        "examples": {
            "fires": [{
                "events": [{"kind": "bank.posted", "amount": "-1.00 EUR", "payload": {"merchant": "x"}},
                           {"kind": "bank.posted", "amount": "-250.00 EUR", "at": "+1d", "payload": {"merchant": "x"}}],
                "says": "-250.00 EUR after a charge of -1.00 EUR",
            }],
            "silent": [{
                "events": [{"kind": "bank.posted", "amount": "-1.00 EUR", "payload": {"merchant": "x"}},
                           {"kind": "bank.posted", "amount": "-250.00 EUR", "at": "+3d", "payload": {"merchant": "x"}}],
            }],
        },
    })  # fmt: skip
    results = list(run_examples(PreparedRule(rule, Shared(UTC_ZONE))))
    assert [result.why for result in results] == ["", ""]


@pytest.mark.parametrize("count", [400])
def test_what_is_remembered_is_bounded(player: Make, count: int) -> None:
    played = player("UTC", REFUND)
    for number in range(count):
        played.evaluate(letter(number, 0, "a", matter=f"m{number}"))
    assert len([name for name, _ in played.state.items("recent/")]) <= 301
    assert not [signal for signal in played.signals if isinstance(signal, Trigger)]
