"""Rhythm: when a recurring thing is expected next, from the days on which it came; robust, shy of short histories."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise
from statistics import median

KEPT = 14
"""Days remembered of a series."""
_MONTH = (26, 35)
"""A median gap of so many days, first and last, may be a month."""
_MONTHS_GRACE = 2
"""Days that a monthly series may stray further in all: a pay day that moves with weekends is still one of the month."""
_EARLY = 10
"""Days that a monthly thing may come too early; what comes earlier still is the one of the month before, late."""
_USUAL = 0.15
"""How far it may stray typically, as a part of the gap (and two days are always allowed)."""
_AT_MOST = 0.3
"""What strays further is an exception (and four days are no exception); up to a third may be exceptions."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """``on``: the day it should come. ``spread``: by how many days it usually strays."""

    on: date
    spread: int
    gap: int


def expect(days: Sequence[date], *, min_history: int, longest: int) -> Expectation | None:
    """The next day after an ascending series, or None where there is no rhythm (yet).

    A series follows the median gap or, where that may be a month, the day of the month (its median, at most the
    month's last day), unless the gap foretells it much better.
    """
    if len(days) < max(2, min_history):
        return None
    gaps = [(later - earlier).days for earlier, later in pairwise(days)]
    gap = round(median(gaps))
    if not 1 <= gap <= longest:
        return None
    on, strays = days[-1] + timedelta(days=gap), [abs(one - gap) for one in gaps]
    if _MONTH[0] <= gap <= _MONTH[1]:
        usual = round(median(map(_position, days)))
        monthly = [abs((later - _next_month(earlier, usual)).days) for earlier, later in pairwise(days)]
        if sum(monthly) <= 2 * sum(strays) + _MONTHS_GRACE:
            on, strays = _next_month(days[-1], usual), monthly
    if not _is_even(strays, gap):
        return None
    return Expectation(on, sorted(strays)[len(strays) * 3 // 4], gap)


def _is_even(strays: Sequence[int], gap: int) -> bool:
    exceptions = sum(stray > max(4.0, _AT_MOST * gap) for stray in strays)
    return median(strays) <= max(2.0, _USUAL * gap) and exceptions * 3 <= len(strays)


def _position(day: date) -> int:
    """The day of the month; a month's last day counts as the 31st, so that 'ultimo' is one day in all months."""
    return 31 if day.day == monthrange(day.year, day.month)[1] else day.day


def _next_month(day: date, usual: int) -> date:
    """The usual day of the month after the one that ``day``, early or late, belongs to."""
    belongs = next(shift for shift in (1, 0, -1, -2) if (_in_month(day, usual, shift) - day).days <= _EARLY)
    return _in_month(day, usual, belongs + 1)


def _in_month(day: date, usual: int, shift: int) -> date:
    year, month = divmod(day.year * 12 + day.month - 1 + shift, 12)
    return date(year, month + 1, usual if usual <= 28 else min(usual, monthrange(year, month + 1)[1]))
