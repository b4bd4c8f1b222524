"""Flatlines: a key that came and is silent, on the clock of the owner's zone, with restarts at any point."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.engine import Engine
from rules.language import ConditionErrors
from rules.lint import lint
from rules.state import RuleState
from rules.testing import Player, make_event, tick
from schemas.event import Event
from schemas.model import Json
from tests.scale import scaled

Make = Callable[..., Player]
BERLIN = ZoneInfo("Europe/Berlin")

SILENT: dict[str, Any] = {
    "when": {"kind": "record.steps"},
    "key": "account",
    "flatline": {"after": "36h", "min_history": 3},
    "says": "{{ account }} came {{ flatline.times }} times and is silent for {{ flatline.after }}",
}


def row(number: int, at: str, **more: Json) -> Event:
    short: dict[str, Json] = {"kind": "record.steps", "at": at, "account": "watch", "payload": {"stream": "steps"}}
    return make_event(short | more, number, BERLIN)


def rows(*hours: int) -> list[Event]:
    return [row(number, f"+{hour}h") for number, hour in enumerate(hours)]


def kinds(played: Player) -> list[str]:
    return [signal.type for signal in played.signals]


def test_a_key_that_came_and_is_silent_is_told_and_withdrawn_when_it_comes_again(player: Make) -> None:
    events = rows(0, 24, 48)
    played = player("Europe/Berlin", SILENT).play(events, until=events[-1].observed_at + timedelta(days=9))
    (trigger,) = played.triggers()
    assert trigger.title == "watch came 3 times and is silent for 36h"
    assert trigger.fired_at - events[-1].observed_at == timedelta(hours=36)
    assert trigger.explanation.reason == "fell_silent"
    played.play([row(9, "+300h")])
    assert kinds(played) == ["trigger", "retraction"]


def test_what_came_too_rarely_is_not_missed(player: Make) -> None:
    for events in (rows(0, 24), rows(0, 48, 96, 144), rows(0, 24, 24, 24)):
        played = player("Europe/Berlin", SILENT).play(events, until=events[-1].observed_at + timedelta(days=9))
        assert kinds(played) == []


def test_whole_days_are_told_at_a_time_of_day_across_a_change_of_clocks(player: Make) -> None:
    rule = SILENT | {"flatline": {"after": "2d", "time": "08:00"}}
    events = [row(n, f"+{24 + n}d 18:00") for n in range(3)]  # the last on 28 March 2026, before clocks change
    played = player("Europe/Berlin", rule).play(events, until=events[-1].observed_at + timedelta(days=9))
    (trigger,) = played.triggers()
    assert trigger.fired_at.astimezone(BERLIN).isoformat() == "2026-03-31T08:00:00+02:00"


def test_each_key_is_silent_on_its_own(player: Make) -> None:
    events = sorted(
        [*rows(0, 24, 48), *(row(10 + n, f"+{24 * n}h", account="scale") for n in range(9))],
        key=lambda event: event.observed_at,
    )
    played = player("Europe/Berlin", SILENT).play(events)
    assert [trigger.key for trigger in played.triggers()] == ["watch"]


def test_history_that_is_read_late_is_read_to_its_end_first(player: Make) -> None:
    played = player("Europe/Berlin", SILENT)
    played.play([row(n, "+10d", occurred=f"+{n}d") for n in range(11)])
    assert kinds(played) == []
    played.play([row(n, "+40d", occurred=f"+{n}d") for n in range(11, 20)])
    played.run_to(make_event({"kind": "clock.tick", "at": "+90d"}, 0, BERLIN).observed_at)
    assert kinds(played) == ["trigger", "retraction"], "what was silent 20 days ago is history"


def test_after_a_stop_of_the_service_the_sources_are_read_before_anything_is_said(player: Make) -> None:
    played = player("Europe/Berlin", SILENT).play(rows(0, 24, 48))
    late = make_event({"kind": "clock.tick", "at": "+5d"}, 0, BERLIN).observed_at
    played.evaluate(tick(late, played.owner, played.zone))
    assert kinds(played) == []
    played.play([row(4, "+7220m", occurred="+72h"), row(5, "+7230m", occurred="+100h")])
    assert kinds(played) == []


def test_a_row_that_is_removed_does_not_end_the_series(player: Make) -> None:
    events = rows(0, 24, 48)
    played = player("Europe/Berlin", SILENT).play(events)
    played.evaluate(row(4, "+49h", subject=events[-1].subject, op="retract"))
    played.run_to(events[-1].observed_at + timedelta(days=3))
    assert kinds(played) == ["trigger"]


def test_lint_asks_for_a_key(player: Make) -> None:
    codes = [warning.code for warning in lint(player("UTC", {**SILENT, "key": ()}).rules)]
    assert "series_without_key" in codes


def expected(hours: list[int], until: int) -> list[tuple[int, str]]:
    """Hour by hour: silent for 36 hours after three or more that were never longer apart."""
    said: list[tuple[int, str]] = []
    times, is_told = 0, False
    for number, hour in enumerate(hours):
        times = times + 1 if number and hour - hours[number - 1] <= 36 else 1
        if is_told:
            said.append((hour, "retraction"))
        following = hours[number + 1] if number + 1 < len(hours) else until + 1
        is_told = times >= 3 and hour + 36 <= following
        if is_told:
            said.append((hour + 36, "trigger"))
    return said


@settings(max_examples=scaled(40, 1500), deadline=None)
@given(st.lists(st.integers(1, 60), max_size=20), st.data())
def test_it_agrees_with_the_model_whatever_is_repeated_or_interrupted(player: Make, gaps: list[int], data: Any) -> None:
    hours = [sum(gaps[:number]) for number in range(1, len(gaps) + 1)]
    played = player("Europe/Berlin", SILENT)
    start = row(0, "+0h").observed_at
    until = (hours[-1] if hours else 0) + 100
    played.play(rows(*hours), until=start + timedelta(hours=until))
    state, stored, said = RuleState(), {}, []
    for event in played.log:
        if data.draw(st.booleans()):
            stored.update(json.loads(json.dumps(state.take_changes())))
            state = RuleState()
            state.load({name: value for name, value in stored.items() if value is not None})
        engine = Engine(played.rules, played.owner, BERLIN)
        hour = round((event.observed_at - start) / timedelta(hours=1))
        said += [(hour, signal.type) for signal in engine.evaluate(event, state, event.observed_at).signals]
        assert engine.evaluate(event, state, event.observed_at).signals == []
    assert said == expected(hours, until)


def test_a_silence_of_no_length_is_refused(player: Make) -> None:
    with pytest.raises(ConditionErrors, match="some time"):
        player("UTC", SILENT | {"flatline": {"after": "0h"}})
