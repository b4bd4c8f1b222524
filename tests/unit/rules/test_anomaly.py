"""Anomalies: far from the usual of the key by median and MAD, against the definition computed afresh each time."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable
from statistics import median
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.baseline import KEPT
from rules.testing import Player, make_event
from schemas.event import Event
from schemas.model import Json

Make = Callable[..., Player]
BERLIN = ZoneInfo("Europe/Berlin")

SPENDING: dict[str, Any] = {
    "when": {"kind": "bank.posted", "where": "amount < 0"},
    "anomaly": {"value": "-amount", "by": ["account", "merchant"], "threshold": 4, "times": 2, "floor": 10},
    "says": "{{ anomaly.times }} times {{ anomaly.median }} of {{ anomaly.count }}",
}


def charge(number: int, cents: int, merchant: str = "m", currency: str = "EUR", **more: Json) -> Event:
    short: dict[str, Json] = {
        "kind": "bank.posted",
        "at": f"+{number}h",
        "amount": f"-{cents / 100:.2f} {currency}",
        "payload": {"merchant": merchant},
    }
    return make_event(short | more, number, BERLIN)


def stands_out(cents: int, earlier: list[int]) -> bool:
    """The definition: z >= 4 on logarithms, 2 times the median, 10 euros, six before.

    Sigma is that of the values as if there were six more with one of 0.3, and at least a tenth.
    """
    logs = list(array("f", [math.log(value / 100) for value in earlier[-KEPT:]]))
    if len(logs) < 6 or cents < 1000:
        return False
    middle = median(logs)
    spread = 1.4826 * median(abs(value - middle) for value in logs)
    sigma = max((spread * len(logs) + 0.3 * 6) / (len(logs) + 6), 0.1)
    value = math.log(cents / 100)
    return (value - middle) / sigma >= 4 and cents / 100 / math.exp(middle) >= 2


usual = st.integers(900, 5000)
amounts = st.lists(
    st.tuples(st.sampled_from("ab"), st.one_of(usual, usual, usual, st.integers(1, 90_000))), min_size=1, max_size=60
)


@settings(max_examples=120, deadline=None)
@given(amounts)
def test_what_stands_out_is_what_the_definition_says(player: Make, given_amounts: list[tuple[str, int]]) -> None:
    played = player("Europe/Berlin", SPENDING)
    earlier: dict[str, list[int]] = {"a": [], "b": []}
    expected = []
    for number, (merchant, cents) in enumerate(given_amounts):
        if stands_out(cents, earlier[merchant]):
            expected.append(f"example-{number}-")
        earlier[merchant].append(cents)
        played.evaluate(charge(number, cents, merchant))
    assert [trigger.evidence[0].event for trigger in played.triggers()] == expected


def test_it_says_how_far_from_what(player: Make) -> None:
    played = player("Europe/Berlin", SPENDING).play([charge(n, 2000 + 100 * (n % 3)) for n in range(18)])
    played.evaluate(charge(18, 8820))
    (trigger,) = played.triggers()
    assert trigger.title == "4.2 times 21.00 EUR of 18"
    assert trigger.explanation.values[-1].condition == "4.2 times the median of 18 earlier values"
    assert trigger.values["anomaly.median"].type == "Money"
    assert trigger.values["anomaly.median"].integrity == trigger.values["amount"].integrity == "known"


def test_currencies_are_compared_with_themselves_only(player: Make) -> None:
    played = player("Europe/Berlin", SPENDING).play([charge(n, 2000) for n in range(10)])
    played.evaluate(charge(10, 200_000, currency="JPY"))
    assert played.triggers() == []
    assert played.explanations[-1].reason == "no_history"


def test_a_value_without_a_logarithm_is_passed_over(player: Make) -> None:
    rule = SPENDING | {"when": {"kind": "bank.posted"}}
    played = player("Europe/Berlin", rule).play(
        [charge(0, 2000, amount="20.00 EUR"), charge(1, 2000, amount="0.00 EUR")]
    )
    assert [explanation.reason for explanation in played.explanations] == ["no_value", "no_value"]
    assert not [name for name, _ in played.state.items("base/")]


@pytest.mark.parametrize(("direction", "fires"), [("up", 1), ("down", 1), ("both", 2)])
def test_it_looks_in_the_direction_that_the_rule_names(player: Make, direction: str, fires: int) -> None:
    rule = SPENDING | {"anomaly": SPENDING["anomaly"] | {"direction": direction, "floor": 0}}
    played = player("Europe/Berlin", rule).play([charge(n, 2000) for n in range(12)])
    played.evaluate(charge(12, 200))
    played.evaluate(charge(13, 20_000))
    assert len(played.triggers()) == fires


def test_with_a_season_a_month_is_compared_with_the_same_month(player: Make) -> None:
    """Heating costs ten times as much in January as in July, every year."""
    rule = SPENDING | {"anomaly": SPENDING["anomaly"] | {"season": "month", "min_history": 3, "times": 1.5}}
    events: list[Event] = []
    for year in range(2020, 2026):
        for month, cents in ((1, 20_000), (7, 2_000), (8, 2_100), (9, 2_000), (10, 2_050)):
            events.append(charge(len(events), cents, at=f"{year}-{month:02d}-10"))
    played = player("Europe/Berlin", rule).play(events)
    said = [(trigger.fired_at.year, trigger.fired_at.month) for trigger in played.triggers()]
    assert said == [(2021, 1), (2022, 1)], "until January has a history of its own"
    played.evaluate(charge(99, 40_000, at="2026-01-10"))
    assert len(played.triggers()) == 3
    assert played.triggers()[-1].explanation.values[-1].condition == (
        "2.0 times the median of 6 earlier values in January"
    )


def test_with_weekdays_a_saturday_is_compared_with_saturdays(player: Make) -> None:
    """The market on Saturdays takes ten times what a day in the week takes, and once as much on a Wednesday."""
    rule = SPENDING | {"anomaly": SPENDING["anomaly"] | {"season": "weekday", "min_history": 3, "times": 1.5}}
    days = [(week, day) for week in range(8) for day in (0, 2, 5)]
    events = [charge(n, 20_000 if day == 5 or (week, day) == (7, 2) else 2_000 + 10 * week, at=f"+{7 * week + day}d")
              for n, (week, day) in enumerate(days)]  # fmt: skip
    played = player("Europe/Berlin", rule).play(events)
    said = [(trigger.fired_at.date() - events[0].occurred_at.date()).days for trigger in played.triggers()]
    assert said == [7 + 5, 14 + 5, 7 * 7 + 2], "until Saturdays have a history of their own"
    assert played.triggers()[-1].explanation.values[-1].condition == (
        "9.9 times the median of 7 earlier values on Wednesdays"
    )


def test_a_corrected_charge_withdraws_what_was_said_of_it(player: Make) -> None:
    played = player("Europe/Berlin", SPENDING).play([charge(n, 2000) for n in range(12)])
    played.evaluate(charge(12, 30_000, subject="odd", version="1"))
    played.evaluate(charge(13, 3_000, subject="odd", version="2"))
    assert [signal.type for signal in played.signals] == ["trigger", "retraction"]


def test_a_key_that_is_not_used_for_two_years_is_forgotten(player: Make) -> None:
    from rules.testing import tick

    played = player("Europe/Berlin", SPENDING).play([charge(n, 2000) for n in range(12)])
    for year, kept in ((2027, 1), (2029, 0)):
        midnight = make_event({"kind": "clock.day", "at": f"{year}-01-01 00:00"}, year, BERLIN).observed_at
        played.evaluate(tick(midnight, played.owner, played.zone, "clock.day"))
        assert len([name for name, _ in played.state.items("base/")]) == kept


def test_the_memory_of_a_key_does_not_grow(player: Make) -> None:
    played = player("Europe/Berlin", SPENDING).play([charge(n, 2000 + n) for n in range(200)])
    ((_, entry),) = played.state.items("base/")
    assert isinstance(entry, str)
    assert len(entry) == len("739220 ") + KEPT * 4 * 4 // 3
