"""Conflicts: what is said of a calendar that changes, against a look at all pairs after every change."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import combinations
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.testing import Player, make_event, tick
from schemas.event import Event
from schemas.model import Json

Make = Callable[..., Player]
BERLIN = ZoneInfo("Europe/Berlin")
START = make_event({"kind": "clock.tick"}, 0, BERLIN).observed_at

CLASH: dict[str, Any] = {
    "when": {"kind": ["calendar.scheduled", "calendar.changed"]},
    "conflict": {"ahead": "10d", "min_overlap": "5m"},
    "says": "{{ title }} and {{ conflict.title }}",
}


def entry(number: int, subject: str, begins_h: int | None, lasts_h: int = 1, **more: Json) -> Event:
    """An entry that begins so many hours after the start of the play; None: it is cancelled."""
    kind = "calendar.cancelled" if begins_h is None else "calendar.changed"
    short: dict[str, Json] = {"kind": kind, "at": f"+{number}h", "subject": subject, "title": subject}
    if begins_h is not None:
        short |= {"starts": f"+{begins_h}h", "ends": f"+{begins_h + lasts_h}h"}
    return make_event(short | more, number, BERLIN)


changes = st.lists(
    st.tuples(st.sampled_from("abcde"), st.none() | st.integers(0, 24 * 20), st.integers(1, 4) | st.just(0)),
    max_size=30,
)
"""Who, when (None: cancelled), how many hours (0: an hour that is marked as free)."""


def pairs(times: dict[str, tuple[int, int]], now_h: int) -> set[frozenset[str]]:
    """All pairs that overlap, are not over, and begin to overlap within ten days."""
    found = set()
    for one, other in combinations(times, 2):
        begins = max(times[one][0], times[other][0])
        ends = min(times[one][1], times[other][1])
        if begins < ends and ends > now_h and begins - 240 <= now_h:
            found.add(frozenset((one, other)))
    return found


@settings(max_examples=200, deadline=None)
@given(changes)
def test_what_stands_is_what_overlaps(player: Make, given_changes: list[tuple[str, int | None, int]]) -> None:
    played = player("Europe/Berlin", CLASH)
    times: dict[str, tuple[int, int]] = {}
    over: set[frozenset[str]] = set()
    for number, (subject, begins_h, lasts_h) in enumerate(given_changes):
        played.run_to(START + timedelta(hours=number))
        over |= {pair for pair in _standing(played) if _is_over(pair, times, number)}
        times.pop(subject, None)
        if begins_h is not None and lasts_h:
            times[subject] = (begins_h, begins_h + lasts_h)
        is_free: dict[str, Json] = {} if lasts_h else {"payload": {"transparent": True}}
        played.evaluate(entry(number, subject, begins_h, lasts_h or 1, **is_free))
        assert _standing(played) - over == pairs(times, number) - over, given_changes[: number + 1]


def _standing(played: Player) -> set[frozenset[str]]:
    return {
        frozenset((str(trigger.values["title"].v), str(trigger.values["conflict.title"].v)))
        for trigger in played.standing()
    }


def _is_over(pair: frozenset[str], times: dict[str, tuple[int, int]], now_h: int) -> bool:
    return all(subject in times for subject in pair) and min(times[subject][1] for subject in pair) <= now_h


@pytest.mark.parametrize(
    "other",
    [
        {"all_day": True},
        {"payload": {"transparent": True}},
        {"payload": {"status": "cancelled"}},
        {"payload": {"uid": "a"}},
        {"title": "a", "starts": "+50h", "ends": "+52h"},
        {"starts": "+51h 55m"},
        {"starts": "+40h", "ends": "+64h"},
        {"starts": "+52h", "ends": "+53h"},
        {"starts": "+51h", "ends": "+51h"},
    ],
)
def test_what_blocks_no_time_does_not_clash(player: Make, other: dict[str, Json]) -> None:
    if other.get("starts") == "+51h 55m":
        other = {"starts": "2026-03-04 13:58", "ends": "2026-03-04 15:00"}
    second = entry(1, "b", 51, 1, **other)
    played = player("Europe/Berlin", CLASH).play([entry(0, "a", 50, 2), second])
    assert played.triggers() == []


@pytest.mark.parametrize(("counts", "fires"), [(True, 1), (False, 0)])
def test_a_tentative_entry_counts_if_the_rule_says_so(player: Make, counts: bool, fires: int) -> None:
    rule = CLASH | {"conflict": {"tentative": counts}}
    second = entry(1, "b", 50, 1, payload={"status": "tentative"})
    played = player("Europe/Berlin", rule).play([entry(0, "a", 50), second])
    assert len(played.triggers()) == fires


def test_two_series_that_clash_every_week_are_one_thing_to_say(player: Make) -> None:
    rule = CLASH | {"cooldown": "60d"}
    events = []
    for week in range(8):
        for uid, subject in (("u", f"u{week}"), ("v", f"v{week}")):
            payload: Json = {"uid": uid, "recurring": True, "recurrence_id": str(week)}
            events.append(entry(len(events), subject, 100 + 168 * week, 2, title=uid, payload=payload))
    played = player("Europe/Berlin", rule).play(events, until=START + timedelta(days=58))
    assert len(played.triggers()) == 1


def test_a_clash_that_was_missed_is_told_late_if_it_is_not_over(player: Make) -> None:
    played = player("Europe/Berlin", CLASH).play([entry(0, "a", 480, 9), entry(1, "b", 480, 9)])
    played.evaluate(tick(START + timedelta(days=13), played.owner, played.zone))
    assert [trigger.late for trigger in played.triggers()] == [True]
    played = player("Europe/Berlin", CLASH).play([entry(0, "a", 480, 9), entry(1, "b", 480, 9)])
    played.evaluate(tick(START + timedelta(days=23), played.owner, played.zone))
    assert [signal.type for signal in played.signals] == ["suppression"]


def test_the_evidence_names_both_entries(player: Make) -> None:
    played = player("Europe/Berlin", CLASH).play([entry(0, "a", 50), entry(1, "b", 50)])
    (trigger,) = played.triggers()
    assert [item.title for item in trigger.evidence] == ["b", "a"]
    assert trigger.values["conflict.event"].v == "example-0-"
    assert trigger.title == "b and a"


def test_entries_that_are_over_are_forgotten(player: Make) -> None:
    played = player("Europe/Berlin", CLASH).play([entry(n, f"s{n}", 20 + n, 2) for n in range(40)])
    midnight = datetime(2026, 4, 1, tzinfo=UTC)
    played.run_to(midnight)
    played.evaluate(tick(midnight, played.owner, played.zone, "clock.day"))
    assert {name.split("/")[0] for name, _ in played.state.items()} == {"seen"}
    assert played.state.next_timer() is None
