"""The days on which banks book: no weekends, no TARGET holidays."""

from __future__ import annotations

from datetime import date, timedelta
from functools import lru_cache

ONE = timedelta(days=1)


def easter(year: int) -> date:
    """Easter Sunday (the anonymous Gregorian algorithm)."""
    a, b, c = year % 19, year // 100, year % 100
    d, e = divmod(b, 4)
    g = (8 * b + 13) // 25
    h = (19 * a + b - d - g + 15) % 30
    i, k = divmod(c, 4)
    n = (32 + 2 * e + 2 * i - h - k) % 7
    m = (a + 11 * h + 22 * n) // 451
    month, day = divmod(h + n - 7 * m + 114, 31)
    return date(year, month, day + 1)


@lru_cache(maxsize=8)
def _holidays(year: int) -> frozenset[date]:
    sunday = easter(year)
    fixed = {date(year, 1, 1), date(year, 5, 1), date(year, 12, 25), date(year, 12, 26)}
    return frozenset(fixed | {sunday - 2 * ONE, sunday + ONE})


def is_bank_day(day: date) -> bool:
    return day.weekday() < 5 and day not in _holidays(day.year)


def on_or_after(day: date) -> date:
    while not is_bank_day(day):
        day += ONE
    return day


def on_or_before(day: date) -> date:
    while not is_bank_day(day):
        day -= ONE
    return day
