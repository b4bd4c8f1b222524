"""Reading dates: what day a match of one of ``date_rules`` means, counted from the day of writing."""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass, replace
from datetime import date, timedelta

from extractors.facts import calendar_words as words
from extractors.facts.arithmetic import last_of_month, later, working_days_later
from extractors.facts.context import TextContext
from extractors.facts.order import DayOrder

_PAST = timedelta(days=60)
"""A date without a year that is longer ago than this means next year."""
_RELATIVE = {
    **dict.fromkeys(["today", "tonight", "heute", "aujourd'hui", "aujourd’hui", "hoy"], 0),
    **dict.fromkeys(["tomorrow", "morgen", "demain", "manana"], 1),
    **dict.fromkeys(["day after tomorrow", "ubermorgen", "apres-demain", "pasado manana"], 2),
}


@dataclass(frozen=True, slots=True)
class DateMention:
    """A day at ``text[start:end]``.

    ``certainty`` falls when the order of day and month is a guess. ``weak``: too little to stand alone ("15/03",
    "the 28th"), it counts only right behind a trigger. ``month``: the text names a month only and ``day`` is its last.
    ``limit``: the words themselves say that it is the last day ("within 14 days").
    """

    start: int
    end: int
    day: date
    certainty: float = 0.95
    weak: bool = False
    month: bool = False
    limit: bool = False


def _at(match: re.Match[str], day: date, **more: object) -> DateMention:
    return replace(DateMention(*match.span(), day), **more)  # type: ignore[arg-type]  # fields of DateMention


def year_first(match: re.Match[str], _: TextContext, __: DayOrder) -> DateMention:
    return _at(match, date(int(match["y"]), int(match["m"]), int(match["d"])))


def numeric(match: re.Match[str], context: TextContext, order: DayOrder) -> DateMention:
    first, second = int(match["a"]), int(match["b"])
    year = _full_year(match["y"], context)
    if match["sep"] == ".":
        return _at(match, date(year, second, first))
    if first > 12 or second > 12 or first == second:
        day, month = (second, first) if second > 12 else (first, second)
        return _at(match, date(year, month, day))
    choices = {True: date(year, second, first), False: date(year, first, second)}
    named = match["weekday"]
    proven = [k for k, d in choices.items() if named and d.weekday() == words.weekday(named)]
    if len(proven) == 1:
        return _at(match, choices[proven[0]])
    return _at(match, choices[order.day_first], certainty=order.certainty)


def day_month(match: re.Match[str], context: TextContext, _: DayOrder) -> DateMention | None:
    if _is_verb(match["month"]) and not match["y"]:
        return None
    return _named(match, int(match["d"]), context)


def month_day(match: re.Match[str], context: TextContext, _: DayOrder) -> DateMention | None:
    return None if _is_verb(match["month"]) else _named(match, int(match["d"]), context)


def _is_verb(month: str) -> bool:
    """English "may" and "march" in lower case are verbs; as months they have a capital."""
    return month in ("may", "march", "mar", "dec", "sep", "oct")


def _named(match: re.Match[str], day: int, context: TextContext) -> DateMention:
    month = words.month(match["month"])
    if match["y"]:
        return _at(match, date(_full_year(match["y"], context), month, day))
    return _at(match, _nearest_year(month, day, context.written_on), certainty=0.9)


def numeric_no_year(match: re.Match[str], context: TextContext, order: DayOrder) -> DateMention:
    first, second = int(match["a"]), int(match["b"])
    dotted = match["sep"] == "."
    day_first = dotted or first > 12 or (second <= 12 and order.day_first)
    day, month = (first, second) if day_first else (second, first)
    certain = dotted or first > 12 or second > 12
    certainty = 0.9 if certain else order.certainty
    return _at(match, _nearest_year(month, day, context.written_on), certainty=certainty, weak=not dotted)


def whole_month(match: re.Match[str], context: TextContext, _: DayOrder) -> DateMention | None:
    if match["end"] is None and match["y"] is None:
        return None
    month = words.month(match["month"])
    year = _full_year(match["y"], context) if match["y"] else _nearest_year(month, 28, context.written_on).year
    return _at(match, last_of_month(year, month), month=True, certainty=0.9 if match["end"] else 0.8)


def numeric_month(match: re.Match[str], context: TextContext, _: DayOrder) -> DateMention:
    return _at(match, last_of_month(int(match["y"]), int(match["m"])), month=True, certainty=0.8)


def in_days(match: re.Match[str], context: TextContext, _: DayOrder) -> DateMention | None:
    count = words.number(match["count"])
    start = context.written_on
    limit = not words.plain(match.group()).startswith(("in ", "dans ", "en los ", "the next "))
    if not 0 < count <= 400:
        return None
    is_working = match["working"] or match["worked"]
    day = working_days_later(start, count) if is_working else later(start, count, match["unit"])
    return _at(match, day, certainty=0.85, limit=limit)


def fortnight(match: re.Match[str], context: TextContext, _: DayOrder) -> DateMention:
    """French counts both ends: eight days are a week's worth, fifteen are two."""
    days = 8 if match["fortnight"].lower() == "huitaine" else 15
    return _at(match, context.written_on + timedelta(days=days), certainty=0.85, limit=True)


def relative_word(match: re.Match[str], context: TextContext, _: DayOrder) -> DateMention:
    return _at(match, context.written_on + timedelta(days=_RELATIVE[words.plain(match["word"])]), certainty=0.9)


def weekday(match: re.Match[str], context: TextContext, _: DayOrder) -> DateMention:
    """The first such day after the day of writing: "by Friday" said on a Friday is a week away."""
    ahead = (words.weekday(match["weekday"]) - context.written_on.weekday() - 1) % 7 + 1
    return _at(match, context.written_on + timedelta(days=ahead), certainty=0.8, start=match.start("weekday"))


def end_of(match: re.Match[str], context: TextContext, _: DayOrder) -> DateMention:
    start = context.written_on
    if match["week"] or match["semaine"]:
        return _at(match, start + timedelta(days=6 - start.weekday()), certainty=0.8)
    if match["year"] or match["annee"]:
        return _at(match, date(start.year, 12, 31), certainty=0.9)
    return _at(match, last_of_month(start.year, start.month), certainty=0.85)


def day_alone(match: re.Match[str], context: TextContext, _: DayOrder) -> DateMention:
    """ "the 28th": the first such day that is not before the day of writing."""
    day, start = int(match["d"]), context.written_on
    month = start.replace(day=1)
    while last_of_month(month.year, month.month).day < day or month.replace(day=day) < start:
        month = last_of_month(month.year, month.month) + timedelta(days=1)
    return _at(match, month.replace(day=day), certainty=0.75, weak=True, start=match.start("d"))


def _full_year(text: str, context: TextContext) -> int:
    digits = text.lstrip("'’")
    if len(digits) == 4:
        return int(digits)
    century = context.written_on.year // 100 * 100
    year = century + int(digits)
    return year - 100 if year > context.written_on.year + 30 else year


def _nearest_year(month: int, day: int, written_on: date) -> date:
    """The next such day, or the one that has just passed: "1 March" written on 2 March is yesterday.

    29 February waits for a year that has one.
    """
    for year in range(written_on.year - 1, written_on.year + 9):
        if day <= calendar.monthrange(year, month)[1] and date(year, month, day) >= written_on - _PAST:
            return date(year, month, day)
    raise ValueError("no such day")
