"""Changes: a value against the one before it, of a thing or of a key, against a slow model on random streams."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.engine import Engine
from rules.language import ConditionErrors
from rules.lint import lint
from rules.state import RuleState
from rules.testing import Player, make_event
from schemas.event import Event
from schemas.model import Json
from tests.scale import scaled

Make = Callable[..., Player]
BERLIN = ZoneInfo("Europe/Berlin")

RISE: dict[str, Any] = {
    "when": {"kind": "bank.posted", "where": "amount < 0"},
    "change": {"value": "-amount", "by": ["account", "merchant"], "direction": "up", "min_percent": 5, "steady": 2},
    "key": ["account", "merchant"],
    "says": "{{ change.before }} to {{ change.after }}, {{ change.percent }} % after {{ change.times }}",
}
MOVED: dict[str, Any] = {
    "when": {"kind": ["calendar.scheduled", "calendar.changed"]},
    "change": {"value": "starts_at"},
    "says": "from {{ change.before | time }} to {{ change.after | time }}",
}


def charge(number: int, cents: int, merchant: str = "m", **more: Json) -> Event:
    short: dict[str, Json] = {
        "kind": "bank.posted",
        "at": f"+{number}d",
        "amount": f"-{cents / 100:.2f} EUR",
        "payload": {"merchant": merchant},
    }
    return make_event(short | more, number, BERLIN)


def kinds(played: Player) -> list[str]:
    return [signal.type for signal in played.signals]


def test_a_price_that_stood_and_rises_is_told_with_both_prices(player: Make) -> None:
    played = player("Europe/Berlin", RISE).play([charge(0, 999), charge(30, 999), charge(60, 1299)])
    (trigger,) = played.triggers()
    assert trigger.title == "9.99 EUR to 12.99 EUR, 30 % after 2"
    assert trigger.explanation.reason == "changed"
    assert trigger.explanation.values[-1].condition == "before it: 9.99 EUR, 2 times"
    assert trigger.values["change.before"].type == "Money"
    assert trigger.values["change.before"].integrity == "known"


@pytest.mark.parametrize(
    ("cents", "reason"),
    [
        ([999, 999, 999], "unchanged"),
        ([999, 999, 1005], "below_floor"),
        ([999, 999, 499], "other_direction"),
        ([999, 1299], "no_history"),
    ],
)
def test_it_says_why_it_is_quiet(player: Make, cents: list[int], reason: str) -> None:
    played = player("Europe/Berlin", RISE).play([charge(n * 30, c) for n, c in enumerate(cents)])
    assert (kinds(played), played.explanations[-1].reason) == ([], reason)


def test_a_price_that_goes_back_withdraws_what_was_said(player: Make) -> None:
    played = player("Europe/Berlin", RISE).play([charge(n * 10, c) for n, c in enumerate([999, 999, 1299, 999, 1299])])
    assert kinds(played) == ["trigger", "retraction", "trigger"], "and what rises again is told again"
    assert played.signals[1].says == "It is 9.99 EUR again."  # type: ignore[union-attr]


def test_a_row_that_the_bank_takes_back_was_no_change(player: Make) -> None:
    played = player("Europe/Berlin", RISE).play([charge(0, 999), charge(10, 999), charge(20, 1299, subject="odd")])
    played.evaluate(charge(21, 1299, kind="bank.removed", subject="odd"))
    played.evaluate(charge(30, 1299))
    assert kinds(played) == ["trigger", "retraction", "trigger"]
    assert played.triggers()[1].values["change.before"].v == {"amount": "9.99", "currency": "EUR"}


def test_a_corrected_row_is_compared_with_the_row_before_it(player: Make) -> None:
    played = player("Europe/Berlin", RISE).play([charge(0, 999), charge(10, 999), charge(20, 1299, subject="odd")])
    played.evaluate(charge(20, 999, subject="odd", version="2"))
    played.evaluate(charge(30, 1299))
    assert kinds(played) == ["trigger", "retraction", "trigger"]
    assert played.triggers()[1].values["change.times"].v == 3


def test_what_comes_too_soon_is_no_series(player: Make) -> None:
    """Coffee costs the same three times, and then there are two of them."""
    rule = RISE | {"change": RISE["change"] | {"apart": "20d"}}
    played = player("Europe/Berlin", rule)
    played.play([charge(n, cents) for n, cents in enumerate([350, 350, 350, 700])])
    assert (kinds(played), played.explanations[-1].reason) == ([], "irregular")
    played.play([charge(n * 30, cents) for n, cents in enumerate([700, 700, 900], 1)])
    assert kinds(played) == ["trigger"]


def test_currencies_and_keys_are_apart(player: Make) -> None:
    played = player("Europe/Berlin", RISE).play([charge(0, 999), charge(1, 999), charge(2, 5000, "n")])
    played.evaluate(charge(3, 0, amount="-1500 JPY"))
    assert kinds(played) == []


def test_what_is_older_than_the_last_value_is_passed_over(player: Make) -> None:
    played = player("Europe/Berlin", RISE).play([charge(0, 999), charge(1, 999)])
    played.evaluate(charge(9, 1299, occurred="-5d"))
    assert (kinds(played), played.explanations[-1].reason) == ([], "outdated")


def test_old_statements_teach_and_do_not_fire(player: Make) -> None:
    old = [charge(n, c, at=f"+{100 + n}d", occurred=f"+{n}d") for n, c in enumerate([999, 999, 1299, 1299])]
    played = player("Europe/Berlin", RISE).play(old)
    assert kinds(played) == ["suppression"]
    played.evaluate(charge(110, 1599))
    assert played.triggers()[0].title.startswith("12.99 EUR to 15.99 EUR")


def test_a_meeting_is_told_each_time_it_moves_and_withdrawn_when_it_is_where_it_was(player: Make) -> None:
    starts = ["+9d 09:00", "+9d 11:00", "+9d 11:00", "+9d 15:00", "+9d 11:00", "+9d 09:00"]
    played = player("Europe/Berlin", MOVED)
    for n, start in enumerate(starts):
        kind = "calendar.changed" if n else "calendar.scheduled"
        short: dict[str, Json] = {"kind": kind, "subject": "s", "version": str(n), "at": f"+{n}h", "starts": start}
        played.evaluate(make_event(short, n, BERLIN))
    titles = [trigger.title for trigger in played.triggers()]
    assert titles == ["from 09:00 to 11:00", "from 11:00 to 15:00", "from 15:00 to 11:00"]
    assert kinds(played) == ["trigger"] * 3 + ["retraction"] * 3
    assert played.triggers()[1].follows == played.triggers()[0].id


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"value": "title", "direction": "up"}, "needs a number, an amount or a date, not a string"),
        ({"value": "occurred_at", "min_percent": 5}, "a date has no percents"),
        ({"value": "amuont"}, "amuont"),
        ({"value": "amount", "by": ["acount"]}, "acount"),
    ],
)
def test_what_cannot_be_compared_is_refused(player: Make, change: dict[str, Any], message: str) -> None:
    with pytest.raises(ConditionErrors, match=message):
        player("UTC", {"when": {"kind": "bank.posted"}, "change": change})


def test_lint_asks_what_steady_counts_by(player: Make) -> None:
    rule = RISE | {"change": {"value": "-amount", "steady": 2}}
    assert "steady_without_by" in [warning.code for warning in lint(player("UTC", rule).rules)]


# --- random streams ----------------------------------------------------------------------------------------------

streams = st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from([999, 999, 1005, 1299, 1599])), max_size=30)


def expected(stream: list[tuple[str, int]]) -> list[tuple[int, str]]:
    """Runs of like values; a rise after a run of two is told, and all is withdrawn at what stood before the first."""
    said: list[tuple[int, str]] = []
    for merchant in "ab":
        runs: list[list[int]] = []
        told: list[int] = []
        origin: list[int] = []
        for number, cents in ((n, c) for n, (m, c) in enumerate(stream) if m == merchant):
            if told and (cents - origin[-1]) * 20 < origin[-1]:
                said += [(number, "retraction")] * len(told)
                runs, told = [[*origin, cents] if abs(cents - origin[-1]) * 20 < origin[-1] else [cents]], []
            elif runs and abs(cents - runs[-1][-1]) * 20 < runs[-1][-1]:
                runs[-1].append(cents)
            else:
                if runs and cents > runs[-1][-1] and len(runs[-1]) >= 2:
                    said.append((number, "trigger"))
                    origin = origin if told else runs[-1]
                    told.append(number)
                runs.append([cents])
    return sorted(said, key=lambda pair: pair[0])


@settings(max_examples=scaled(60, 2000), deadline=None)
@given(streams, st.data())
def test_it_agrees_with_the_model_whatever_is_repeated_or_interrupted(
    player: Make, stream: list[tuple[str, int]], data: Any
) -> None:
    rules = player("Europe/Berlin", RISE).rules
    state, stored, said = RuleState(), {}, []
    for number, (merchant, cents) in enumerate(stream):
        event = charge(number, cents, merchant)
        if data.draw(st.booleans()):
            stored.update(json.loads(json.dumps(state.take_changes())))
            state = RuleState()
            state.load({name: value for name, value in stored.items() if value is not None})
        engine = Engine(rules, "me", BERLIN)
        said += [(number, signal.type) for signal in engine.evaluate(event, state, event.observed_at).signals]
        assert engine.evaluate(event, state, event.observed_at).signals == []
    assert said == expected(stream)
