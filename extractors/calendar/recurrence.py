"""Recurrence: the wall times that a rule gives, in a window and within a bound of work (RFC 5545, 3.3.10).

Plain wall-clock arithmetic; what a wall time means as an instant is its zone's business.
"""

from __future__ import annotations

from calendar import isleap, monthrange
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from itertools import product

from extractors.calendar.rule import Rule

_UNITS = {"HOURLY": timedelta(hours=1), "MINUTELY": timedelta(minutes=1), "SECONDLY": timedelta(seconds=1)}


@dataclass(slots=True)
class Budget:
    """How many steps are left. A step is one day, hour, minute or second that was looked at."""

    left: int
    is_spent: bool = False

    def spend(self, steps: int) -> bool:
        """False when the work has to stop here; it stays so."""
        self.left -= steps
        self.is_spent = self.is_spent or self.left < 0
        return not self.is_spent


def repeats(rule: Rule, start: datetime, low: datetime, high: datetime, budget: Budget) -> Iterator[datetime]:
    """From ``low`` to ``high``, both inclusive, ascending, without doubles.

    ``start`` is always the first and uses one of COUNT, whether or not it fits the rule. UNTIL is the caller's: it
    is an instant. Where nothing is counted the walk begins next to ``low``, so an old series costs no more than a
    new one.
    """
    left = None if rule.count is None else rule.count - 1
    if low <= start <= high:
        yield start
    for wall in _walk(rule, start, start if rule.count else max(start, low), high, budget):
        if wall > high or left == 0:
            return
        if wall > start:
            left = None if left is None else left - 1
            if wall >= low:
                yield wall


def _walk(rule: Rule, start: datetime, low: datetime, high: datetime, budget: Budget) -> Iterator[datetime]:
    if rule.freq in _UNITS:
        yield from _short_periods(rule, start, low, high, budget)
        return
    rule = _with_defaults(rule, start)
    times = _times(rule, start)
    for spans in _periods(rule, start, low, high):
        if not budget.spend(sum(map(len, spans))):
            return
        days = [day for span in spans for day in map(date.fromordinal, span) if _fits(rule, day)]
        if not budget.spend(len(days) * len(times)):
            return
        yield from _positions(rule, [datetime.combine(day, at) for day in days for at in times])


def _with_defaults(rule: Rule, start: datetime) -> Rule:
    """What the rule does not say, DTSTART says."""
    if rule.by_day or rule.by_month_day or rule.by_year_day:
        return rule
    match rule.freq:
        case "WEEKLY":
            return replace(rule, by_day=((0, start.weekday()),))
        case "MONTHLY":
            return replace(rule, by_month_day=(start.day,))
        case "YEARLY" if rule.by_week_no:
            return replace(rule, by_day=((0, start.weekday()),))
        case "YEARLY":
            return replace(rule, by_month=rule.by_month or (start.month,), by_month_day=(start.day,))
        case _:
            return rule


def _times(rule: Rule, start: datetime) -> list[time]:
    hours, minutes = rule.by_hour or (start.hour,), rule.by_minute or (start.minute,)
    seconds = rule.by_second or (start.second,)
    return [time(*parts) for parts in product(hours, minutes, seconds)]


def _periods(rule: Rule, start: datetime, low: datetime, high: datetime) -> Iterator[list[range]]:
    """The days of each year, month, week or day that the interval does not leave out, as ordinals."""
    origin = _index(rule, start)
    last = _index(rule, high)
    skipped = max(0, _index(rule, low) - origin) // rule.interval * rule.interval
    for index in range(origin + skipped, last + 1, rule.interval):
        match rule.freq:
            case "YEARLY":
                months = rule.by_month or tuple(range(1, 13))
                yield [_month(index, month) for month in months]
            case "MONTHLY":
                yield [_month(index // 12, index % 12 + 1)]
            case "WEEKLY":
                first = index * 7 + 1 + rule.week_start
                yield [range(first, first + 7)]
            case _:
                yield [range(index, index + 1)]


def _index(rule: Rule, wall: datetime) -> int:
    """Years, months, weeks or days since the calendar began: ordinal 1 is a Monday."""
    match rule.freq:
        case "YEARLY":
            return wall.year
        case "MONTHLY":
            return wall.year * 12 + wall.month - 1
        case "WEEKLY":
            return (wall.toordinal() - 1 - rule.week_start) // 7
        case _:
            return wall.toordinal()


def _month(year: int, month: int) -> range:
    first = date(year, month, 1).toordinal()
    return range(first, first + monthrange(year, month)[1])


def _fits(rule: Rule, day: date) -> bool:
    return (
        (not rule.by_month or day.month in rule.by_month)
        and (not rule.by_month_day or _is_at(rule.by_month_day, day.day, monthrange(day.year, day.month)[1]))
        and (not rule.by_day or _is_weekday(rule, day))
        and (not rule.by_year_day or _is_at(rule.by_year_day, _year_day(day), 365 + isleap(day.year)))
        and (not rule.by_week_no or _is_week(rule, day))
    )


def _is_at(positions: tuple[int, ...], place: int, total: int) -> bool:
    """``positions`` count from the front (1, 2, ...) or from the back (-1, -2, ...)."""
    return place in positions or place - total - 1 in positions


def _year_day(day: date) -> int:
    return day.toordinal() - date(day.year, 1, 1).toordinal() + 1


def _is_weekday(rule: Rule, day: date) -> bool:
    weekday = day.weekday()
    if (0, weekday) in rule.by_day:
        return True
    if all(wanted != weekday for _, wanted in rule.by_day):
        return False
    if rule.freq == "YEARLY" and not rule.by_month:
        place, total = _year_day(day), 365 + isleap(day.year)
    else:
        place, total = day.day, monthrange(day.year, day.month)[1]
    from_front, from_back = (place - 1) // 7 + 1, -((total - place) // 7 + 1)
    return (from_front, weekday) in rule.by_day or (from_back, weekday) in rule.by_day


def _is_week(rule: Rule, day: date) -> bool:
    year, number = _week(rule, day)
    return _is_at(rule.by_week_no, number, _week(rule, date(year, 12, 28))[1])


def _week(rule: Rule, day: date) -> tuple[int, int]:
    """Year and number of a day's week: the year that holds most of it. 28 December is always in the last week."""
    middle = day + timedelta(days=3 - (day.weekday() - rule.week_start) % 7)
    return middle.year, (_year_day(middle) - 1) // 7 + 1


def _positions(rule: Rule, walls: list[datetime]) -> list[datetime]:
    if not rule.by_set_pos:
        return walls
    total = len(walls)
    places = {pos - 1 if pos > 0 else total + pos for pos in rule.by_set_pos}
    return [walls[place] for place in sorted(places) if 0 <= place < total]


def _short_periods(rule: Rule, start: datetime, low: datetime, high: datetime, budget: Budget) -> Iterator[datetime]:
    """Hours, minutes, seconds. Days and hours that cannot match are jumped over."""
    unit = _UNITS[rule.freq]
    if rule.interval > timedelta(days=36_525) // unit:
        return  # the next one is more than a century away
    step = rule.interval * unit
    origin = start - (start - datetime.combine(start.date(), time())) % unit
    wall = origin + max(timedelta(0), low - origin) // step * step
    while wall <= high and budget.spend(1):
        later = _next_chance(rule, wall)
        if later == wall:
            walls = [datetime.combine(wall.date(), at) for at in _times_within(rule, wall, start)]
            if not budget.spend(len(walls)):
                return
            yield from _positions(rule, walls)
            wall += step
        else:
            wall = origin - (origin - later) // step * step


def _next_chance(rule: Rule, wall: datetime) -> datetime:
    """``wall`` if its day, hour and minute fit, else the beginning of the next day, hour, minute or second."""
    if not _fits(rule, wall.date()):
        return datetime.combine(wall.date() + timedelta(days=1), time())
    if rule.by_hour and wall.hour not in rule.by_hour:
        return wall.replace(minute=0, second=0) + timedelta(hours=1)
    if rule.freq != "HOURLY" and rule.by_minute and wall.minute not in rule.by_minute:
        return wall.replace(second=0) + timedelta(minutes=1)
    if rule.freq == "SECONDLY" and rule.by_second and wall.second not in rule.by_second:
        return wall + timedelta(seconds=1)
    return wall


def _times_within(rule: Rule, wall: datetime, start: datetime) -> list[time]:
    """The times of one hour, minute or second."""
    minutes = (wall.minute,) if rule.freq != "HOURLY" else rule.by_minute or (start.minute,)
    seconds = (wall.second,) if rule.freq == "SECONDLY" else rule.by_second or (start.second,)
    return [time(wall.hour, minute, second) for minute, second in product(minutes, seconds)]
