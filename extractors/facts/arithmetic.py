"""Calendar arithmetic: days, weeks, months and working days, as letters and contracts count them."""

from __future__ import annotations

import calendar
from datetime import date, timedelta

from extractors.facts.calendar_words import plain


def later(start: date, count: int, unit: str) -> date:
    """``count`` units after ``start`` (before it, where negative). ``unit``: a word for days, weeks or months in one
    of our four languages."""
    word = plain(unit)
    if word.startswith(("mo", "me")):
        return _months_later(start, count)
    return start + timedelta(days=count * (7 if word.startswith(("w", "s")) else 1))


def working_days_later(start: date, days: int) -> date:
    """Monday to Friday count; holidays are not known here."""
    day = start
    while days:
        day += timedelta(days=1)
        days -= day.weekday() < 5
    return day


def last_of_month(year: int, month: int) -> date:
    return date(year, month, calendar.monthrange(year, month)[1])


def _months_later(start: date, months: int) -> date:
    """31 January and a month is 28 February."""
    years, month = divmod(start.month - 1 + months, 12)
    last = last_of_month(start.year + years, month + 1)
    return last.replace(day=min(start.day, last.day))
