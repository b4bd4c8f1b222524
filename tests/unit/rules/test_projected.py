"""Thresholds of a projection: told before known debits, against a walk over all days with the whole history."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.engine import Engine
from rules.language import ConditionErrors
from rules.projection import Flow, Row, flows
from rules.rhythm import expect
from rules.state import RuleState
from rules.testing import Player, make_event
from schemas.event import Event
from schemas.model import Json
from tests.scale import scaled

Make = Callable[..., Player]
UTC = ZoneInfo("UTC")
START = date(2026, 3, 2)
LOW: dict[str, Any] = {
    "when": {"kind": ["bank.balance", "bank.posted"]},
    "threshold": {"value": "amount", "below": 0, "project": {"over": "14d"}},
    "key": "account",
    "says": "{{ projection.lowest }} on {{ projection.on }}, {{ projection.next }} of {{ threshold.value }}",
}


def made(number: int, day: int, euros: int, party: str = "", **more: Json) -> Event:
    """A row of a party, or without one a balance."""
    short: dict[str, Json] = {
        "kind": "bank.posted" if party else "bank.balance",
        "at": f"+{day}d",
        "account": "giro",
        "amount": f"{euros}.00 EUR",
        "payload": {"merchant": party} if party else {"as_of": "2026-03-02"},
    }
    return make_event(short | more, number, UTC)


def rent(*days: int, euros: int = -900, party: str = "landlord") -> list[Event]:
    return [made(1000 + day, day, euros, party) for day in days]


def play(player: Make, *events: Event) -> Player:
    return player("UTC", LOW).play(events)


def kinds(played: Player) -> list[str]:
    return [signal.type for signal in played.signals]


def test_the_day_the_lowest_and_the_largest_debit_are_told(player: Make) -> None:
    played = play(player, *rent(0, 10, 20, 30), made(1, 35, 610))
    values = played.triggers()[0].values
    assert values["projection.lowest"].v == {"amount": "-290.00", "currency": "EUR"}
    assert values["projection.on"].v == "2026-04-11"
    assert values["projection.next"].v == {"amount": "-900.00", "currency": "EUR"}
    assert values["threshold.value"].v == {"amount": "610.00", "currency": "EUR"}


def test_each_part_is_named_in_the_explanation(player: Make) -> None:
    (fired,) = [
        one for one in play(player, *rent(0, 10, 20, 30), made(1, 35, 610)).explanations if one.outcome == "fired"
    ]
    parts = [(part.condition, part.value, part.wanted) for part in fired.values]
    assert ("balance", "610.00 EUR", "not below the bound") in parts
    assert ("expected: landlord", "-900.00 EUR", "2026-04-11") in parts


def test_a_newer_row_that_lifts_it_withdraws_it(player: Make) -> None:
    events = [*rent(0, 10, 20, 30), made(1, 35, 910), made(2, 36, -50, "market"), made(3, 37, 1400, "savings")]
    assert kinds(play(player, *events)) == ["trigger", "retraction"]


def test_the_debit_that_came_while_there_was_enough_is_no_longer_short(player: Make) -> None:
    events = [*rent(0, 10, 20, 30), made(1, 35, 610), made(2, 38, 2000), *rent(40), made(3, 41, 1100)]
    assert kinds(play(player, *events)) == ["trigger", "retraction"]


def test_the_salary_of_the_same_day_comes_first(player: Make) -> None:
    events = [event for day in (0, 10, 20, 30) for event in (*rent(day), made(day, day, 900, "acme"))]
    assert kinds(play(player, *events, made(99, 35, 10))) == []


def test_a_balance_that_is_below_already_is_the_other_rules_word(player: Make) -> None:
    assert kinds(play(player, *rent(0, 10, 20, 30), made(1, 35, -5))) == []


def test_another_currency_does_not_count_and_says_why(player: Make) -> None:
    events = [made(n, 10 * n, 0, "landlord", amount="-900.00 USD") for n in range(4)]
    played = play(player, *events, made(9, 35, 610))
    assert kinds(played) == []
    assert {one.reason for one in played.explanations} == {"no_history"}


def test_amounts_that_vary_are_not_expected(player: Make) -> None:
    rows = [made(n, 10 * n, euros, "market") for n, euros in enumerate((-900, -30, -400, -90))]
    played = play(player, *rows, made(9, 35, 20))
    assert (kinds(played), played.explanations[-1].reason) == ([], "not_crossed")


def test_a_series_that_ended_is_not_expected_and_a_debit_three_days_late_is() -> None:
    rows = [Row(START + timedelta(days=10 * n), Decimal(-900)) for n in range(4)]

    def on(today: int) -> list[int]:
        day = START + timedelta(days=today)
        found = flows("landlord", rows, day, day + timedelta(days=14), min_history=3, longest=100)
        return [(flow.on - START).days for flow in found]

    assert [on(35), on(40), on(43), on(44)] == [[40], [40, 50], [43, 50], []]


def test_a_credit_is_counted_on_until_a_statement_would_show_it() -> None:
    """It is expected on a Saturday: booked on the Monday, it is seen on the Tuesday."""
    rows = [Row(START + timedelta(days=10 * n), Decimal(900)) for n in range(4)]
    tuesday, wednesday = (START + timedelta(days=days) for days in (43, 44))
    assert [flow.on for flow in _flows(rows, tuesday)][:1] == [tuesday]
    assert _flows(rows, wednesday) == []


def _flows(rows: list[Row], day: date) -> list[Flow]:
    return flows("acme", rows, day, day + timedelta(days=14), min_history=3, longest=100)


@pytest.mark.parametrize(
    ("kind", "threshold", "message"),
    [
        ("bank.balance", {"below": 0}, "the balances of an account and its rows"),
        (["bank.balance", "bank.posted"], {"above": 0}, "about 'below'"),
        (["bank.balance", "bank.posted"], {"below": 0, "project": {"over": "365d"}}, "1 to 92 days"),
        (["bank.balance", "bank.posted"], {"below": 0, "value": "1"}, "about money"),
    ],
)
def test_projections_that_make_no_sense_are_refused(player: Make, kind: Any, threshold: Any, message: str) -> None:
    with pytest.raises(ConditionErrors, match=message):
        player("UTC", {"when": {"kind": kind}, "threshold": {"value": "amount", "project": {}} | threshold})


# --- a slow model --------------------------------------------------------------------------------------------------

Seen = tuple[int, int, str]
"""Day, euros, party (none: a balance)."""


def slow(history: list[Seen]) -> tuple[bool, int] | None:
    """Whether the newest balance is below nothing, and the lowest to come; None while nothing can be said."""
    today, balances = history[-1][0], [seen for seen in history if not seen[2]]
    parties = {(party, euros < 0) for _, euros, party in history if party}
    series = [[s for s in history if (s[2], s[1] < 0) == party][-14:] for party in sorted(parties)]
    if not balances or all(len(one) < 3 for one in series):
        return None
    now = balances[-1][1] + sum(euros for day, euros, party in history if party and day > balances[-1][0])
    coming = [[0, 0] for _ in range(15)]
    for one in series:
        usual = sorted(euros for _, euros, _ in one)[(len(one) - 1) // 2]
        steady = [day for day, euros, _ in one if 4 * abs(usual) <= 5 * abs(euros) and 4 * abs(euros) <= 5 * abs(usual)]
        days = [START + timedelta(days=day) for day in sorted(set(steady))]
        if 3 * len(steady) < 2 * len(one):
            continue
        while expected := expect(days, min_history=3, longest=100):
            ahead = (expected.on - START).days - today
            weekend = max(0, expected.on.weekday() - 4) and 7 - expected.on.weekday()
            if ahead > 14 or ahead < (-3 if usual < 0 else -1 - weekend):
                break
            coming[max(0, ahead)][usual < 0] += usual
            days.append(expected.on)
    much = least = now
    for credits_, debits in coming:
        much += credits_ + debits
        least = min(least, much)
    return now < 0, least


EVENTS = st.tuples(
    st.sampled_from([0, 0, 1, 3, 5, 7]),
    st.sampled_from(["", "", "a", "b", "c"]),
    st.sampled_from([-100, -95, -60, 90, 100, 30]),
)


@settings(max_examples=scaled(60, 2000), deadline=None)
@given(st.lists(EVENTS, max_size=30), st.data())
def test_it_agrees_with_a_walk_over_all_days(player: Make, steps: list[tuple[int, str, int]], data: Any) -> None:
    rules = player("UTC", LOW).rules
    state, stored, said, expected, told = RuleState(), {}, [], [], False
    history: list[Seen] = []
    day = 0
    for number, (gap, party, euros) in enumerate(steps):
        day += gap
        history.append((day, euros, party))
        known = slow(history)
        if known is not None and not told and not known[0] and known[1] < 0:
            expected.append((number, "trigger"))
            told = True
        elif known is not None and told and known[1] >= 0:
            expected.append((number, "retraction"))
            told = False
        event = made(number, day, euros, party)
        if data.draw(st.booleans()):
            stored.update(json.loads(json.dumps(state.take_changes())))
            state = RuleState()
            state.load({name: value for name, value in stored.items() if value is not None})
        engine = Engine(rules, "me", UTC)
        said += [(number, signal.type) for signal in engine.evaluate(event, state, event.observed_at).signals]
        assert engine.evaluate(event, state, event.observed_at).signals == []
    assert said == expected
