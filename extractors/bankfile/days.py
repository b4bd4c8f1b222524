"""Days as bank files write them in fixed forms; impossible ones are errors, never today."""

from __future__ import annotations

import re
from datetime import date

_FIRST, _LAST = date(1950, 1, 1), date(2100, 12, 31)
_ISO = re.compile(r"\s*(\d{4})-?(\d{2})-?(\d{2})(?!\d{1,3}(?:\D|$))")


def day(year: int, month: int, of_month: int) -> date:
    """ValueError for a day that is not in the calendar, or in a year in which this cannot be."""
    found = date(year, month, of_month)
    if not _FIRST <= found <= _LAST:
        raise ValueError(f"the year {year} cannot be")
    return found


def iso_day(text: str) -> date:
    """The day of ``20260302``, ``2026-03-02`` or either with a time and zone behind it.

    The day is taken as written: a posting date is the bank's own calendar day, and converting midnight in the bank's
    zone to another one moves it to a neighbour.
    """
    found = _ISO.match(text[:40])
    if not found:
        raise ValueError(f"not a date: {text[:40]!r}")
    return day(*map(int, found.groups()))


def full_year(two_digits: int) -> int:
    """Two-digit years are 1980 to 2079."""
    return two_digits + (1900 if two_digits >= 80 else 2000)
