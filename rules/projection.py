"""Projection: the lowest balance to expect, from a balance and the recurring rows of an account. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from statistics import median_low

from rules.rhythm import expect

GRACE = 3
"""Days that a debit may be late and is still expected, on the day itself."""
_TOLD_AFTER = 1
"""Days after which a statement shows a credit. One that is later, and not for a weekend, is not counted on."""
_LEAST, _MOST = Decimal("0.8"), Decimal("1.25")
"""What lies outside of this part of the series' median is something else from the same party."""


@dataclass(frozen=True, slots=True)
class Row:
    """``amount`` has a sign: what leaves is negative."""

    day: date
    amount: Decimal


@dataclass(frozen=True, slots=True)
class Flow:
    """A row to come."""

    on: date
    amount: Decimal
    party: str


@dataclass(frozen=True, slots=True)
class Low:
    """The first day on which the balance is lowest, and the largest debit until then (None: today is the lowest)."""

    on: date
    lowest: Decimal
    largest: Flow | None


def flows(party: str, rows: Sequence[Row], today: date, until: date, *, min_history: int, longest: int) -> list[Flow]:
    """The rows of one party (all credits or all debits, ascending) that are to come by ``until``, that day included.

    Empty where there is no rhythm, where amounts are not steady, or where the series has ended.
    """
    if not rows:
        return []
    usual = median_low(row.amount for row in rows)
    steady = [row for row in rows if _LEAST <= row.amount / usual <= _MOST]
    if len(steady) * 3 < len(rows) * 2:
        return []
    days = sorted({row.day for row in steady})
    found: list[Flow] = []
    while (expected := expect(days, min_history=min_history, longest=longest)) is not None:
        last = expected.on + timedelta(days=GRACE) if usual < 0 else _counted_until(expected.on)
        if last < today or expected.on > until:
            break
        found.append(Flow(max(expected.on, today), usual, party))
        days.append(expected.on)
    return found


def _counted_until(day: date) -> date:
    """Credits are booked on the next weekday."""
    return day + timedelta(days=(7 - day.weekday() if day.weekday() > 4 else 0) + _TOLD_AFTER)


def in_order(expected: Iterable[Flow]) -> list[Flow]:
    """By day; on one day credits come before debits."""
    return sorted(expected, key=lambda flow: (flow.on, flow.amount < 0, flow.party))


def lowest(balance: Decimal, expected: Iterable[Flow], today: date) -> Low:
    """``expected`` is in order."""
    low, much, largest = Low(today, balance, None), balance, None
    for flow in expected:
        much += flow.amount
        if flow.amount < 0 and (largest is None or flow.amount < largest.amount):
            largest = flow
        if much < low.lowest:
            low = Low(flow.on, much, largest)
    return low
