"""Thresholds: once beyond the bound, until clear again, against a walk over the whole history."""

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
from rules.state import RuleState
from rules.testing import Player, make_event
from schemas.event import Event
from schemas.model import Json
from tests.scale import scaled

Make = Callable[..., Player]
BERLIN = ZoneInfo("Europe/Berlin")

LOW: dict[str, Any] = {
    "when": {"kind": "bank.balance"},
    "threshold": {"value": "amount", "below": 100, "clear": 200},
    "key": "account",
    "says": "{{ threshold.value }} is below {{ threshold.bound }}",
}


def balance(number: int, euros: int, **more: Json) -> Event:
    short: dict[str, Json] = {
        "kind": "bank.balance",
        "at": f"+{number}d",
        "amount": f"{euros}.00 EUR",
        "payload": {"as_of": "2026-03-02"},
    }
    return make_event(short | more, number, BERLIN)


def play(player: Make, *euros: int, rule: dict[str, Any] = LOW) -> Player:
    return player("Europe/Berlin", rule).play([balance(n, much) for n, much in enumerate(euros)])


def kinds(played: Player) -> list[str]:
    return [signal.type for signal in played.signals]


def test_it_is_said_once_until_it_is_clear_again(player: Make) -> None:
    played = play(player, 500, 90, 80, 150, 90, 200, 90)
    assert kinds(played) == ["trigger", "retraction", "trigger"]
    assert played.triggers()[0].title == "90.00 EUR is below 100"
    assert played.triggers()[0].explanation.reason == "crossed"
    reasons = [explanation.reason for explanation in played.explanations]
    assert reasons[:5] == ["not_crossed", "crossed", "unchanged", "unchanged", "unchanged"]


def test_what_stays_low_for_months_is_withdrawn_all_the_same(player: Make) -> None:
    played = play(player, *[50] * 90, 500)
    assert kinds(played) == ["trigger", "retraction"]


def test_above_is_the_other_side(player: Make) -> None:
    rule = LOW | {"threshold": {"value": "amount", "above": 100, "clear": 50}}
    assert kinds(play(player, 100, 101, 60, 101, 50, 200, rule=rule)) == ["trigger", "retraction", "trigger"]


def test_the_bound_itself_is_neither_beyond_nor_kept(player: Make) -> None:
    rule = LOW | {"threshold": {"value": "amount", "below": 100}}
    assert kinds(play(player, 100, 99, 100, rule=rule)) == ["trigger", "retraction"]


def test_old_balances_say_nothing_and_the_first_fresh_one_does(player: Make) -> None:
    played = player("Europe/Berlin", LOW).play([balance(n, 50, at="+90d", occurred=f"+{n}d") for n in range(30)])
    assert kinds(played) == []
    played.evaluate(balance(91, 50))
    assert kinds(played) == ["trigger"]


def test_an_older_balance_that_comes_late_changes_nothing(player: Make) -> None:
    played = play(player, 500, 400)
    played.evaluate(balance(2, 10, occurred="+0d"))
    assert (kinds(played), played.explanations[-1].reason) == ([], "outdated")


def test_with_for_a_dip_is_not_told(player: Make) -> None:
    rule = LOW | {"for": "36h"}
    assert kinds(play(player, 500, 50, 300, 300, 300, rule=rule)) == ["suppression"]
    assert kinds(play(player, 500, 50, 60, 70, 300, rule=rule)) == ["trigger", "retraction"]


def test_accounts_and_currencies_are_apart(player: Make) -> None:
    played = play(player, 50)
    played.evaluate(balance(1, 50, account="savings"))
    played.evaluate(balance(2, 500, amount="500 JPY"))
    assert kinds(played) == ["trigger", "trigger"]


@pytest.mark.parametrize(
    ("threshold", "message"),
    [
        ({"value": "amount"}, "either 'above' or 'below'"),
        ({"value": "amount", "above": 1, "below": 2}, "either 'above' or 'below'"),
        ({"value": "amount", "below": 100, "clear": 50}, "wrong side"),
        ({"value": "amount", "above": 100, "clear": 150}, "wrong side"),
        ({"value": "title", "below": 1}, "needs a number"),
        ({"value": "occurred_at", "below": 1}, "the value is a date"),
    ],
)
def test_bounds_that_make_no_sense_are_refused(player: Make, threshold: dict[str, Any], message: str) -> None:
    with pytest.raises(ConditionErrors, match=message):
        player("UTC", {"when": {"kind": "bank.balance"}, "threshold": threshold})


@settings(max_examples=scaled(60, 2000), deadline=None)
@given(st.lists(st.sampled_from([50, 99, 100, 150, 199, 200, 300]), max_size=30), st.data())
def test_it_agrees_with_a_walk_over_the_history(player: Make, euros: list[int], data: Any) -> None:
    rules = player("Europe/Berlin", LOW).rules
    state, stored, said, expected, is_low = RuleState(), {}, [], [], False
    for number, much in enumerate(euros):
        if not is_low and much < 100:
            expected.append((number, "trigger"))
            is_low = True
        elif is_low and much >= 200:
            expected.append((number, "retraction"))
            is_low = False
        event = balance(number, much)
        if data.draw(st.booleans()):
            stored.update(json.loads(json.dumps(state.take_changes())))
            state = RuleState()
            state.load({name: value for name, value in stored.items() if value is not None})
        engine = Engine(rules, "me", BERLIN)
        said += [(number, signal.type) for signal in engine.evaluate(event, state, event.observed_at).signals]
        assert engine.evaluate(event, state, event.observed_at).signals == []
    assert said == expected
