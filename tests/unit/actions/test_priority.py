"""Urgency, value and certainty, each by itself."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actions.proposal.budget import bar
from actions.proposal.priority import Standing, priority
from actions.testing.household import START, trigger
from schemas.trigger import Trigger, Urgency
from schemas.value import Value

FRESH = Standing()


def worth(amount: str) -> Trigger:
    return trigger(values={"amount": Value(v={"amount": amount, "currency": "EUR"}, type="Money")})


@pytest.mark.parametrize(
    ("urgency", "days", "expected"),
    [
        ("low", 30, 0.14),
        ("normal", 30, 0.35),
        ("normal", 6, 0.4),
        ("high", 2, 0.72),
        ("high", 1, 0.8),
        ("high", -3, 0.8),
    ],
)
def test_urgency_grows_as_the_deadline_nears(urgency: Urgency, days: int, expected: float) -> None:
    fired = trigger(urgency=urgency, deadline_at=START + timedelta(days=days))
    assert priority(fired, FRESH, START).urgency == expected


def test_without_a_deadline_it_ranks_as_if_it_were_far_away() -> None:
    assert priority(trigger(deadline_at=None), FRESH, START).urgency == 0.35


def test_the_value_is_the_order_of_size_of_the_largest_amount_whatever_its_sign() -> None:
    values = [priority(worth(amount), FRESH, START).value for amount in ("1", "-80", "900", "10000", "5000000")]
    assert values == sorted(values)
    assert (values[0], values[-2:]) == (0.3, [1.0, 1.0])
    assert priority(trigger(values={}), FRESH, START).value == 0.6


@given(st.integers(0, 50), st.integers(0, 50))
def test_answers_move_certainty_and_never_beyond_its_bounds(useful: int, useless: int) -> None:
    certainty = Standing(useful, useless).certainty
    assert 0 < certainty <= 1
    assert Standing(useful + 1, useless).certainty >= certainty >= Standing(useful, useless + 1).certainty


@given(st.integers(1, 20))
def test_the_bar_of_a_day_rises_from_nothing(budget: int) -> None:
    bars = [bar(spent, budget) for spent in range(budget)]
    assert bars[0] == 0
    assert bars == sorted(bars)
    assert bars[-1] < 0.4
