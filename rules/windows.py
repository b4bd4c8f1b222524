"""Windows: the arithmetic of windows over event time; days are the owner's local days."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from schemas import clock
from schemas.duration import Duration
from schemas.window import Over

_A_MONDAY = date(1970, 1, 5)
_DAY_S = 86_400


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """From ``start`` on, and before ``end``."""

    start: datetime
    end: datetime


def aligned(over: Over, at: datetime, zone: ZoneInfo) -> Span:
    """The window of a calendar shape that holds the instant; days are counted from a Monday, hours from midnight."""
    day = clock.local_day(at, zone)
    match over.shape:
        case "day":
            return _days(day, day + timedelta(days=1), zone)
        case "week":
            monday = day - timedelta(days=day.weekday())
            return _days(monday, monday + timedelta(days=7), zone)
        case "month":
            first = day.replace(day=1)
            return _days(first, (first + timedelta(days=31)).replace(day=1), zone)
    if over.length.seconds:
        return _part_of_day(over.length.seconds, at.astimezone(UTC), day, zone)
    first = day - timedelta(days=(day - _A_MONDAY).days % over.length.days)
    return _days(first, first + timedelta(days=over.length.days), zone)


@lru_cache(maxsize=4096)
def _days(first: date, end: date, zone: ZoneInfo) -> Span:
    return Span(clock.start_of_day(first, zone), clock.start_of_day(end, zone))


def _part_of_day(seconds: int, at: datetime, day: date, zone: ZoneInfo) -> Span:
    """The last part of a day takes the hour that a day of 25 has more, or lacks what one of 23 has less."""
    midnight, end_of_day = clock.start_of_day(day, zone), clock.end_of_day(day, zone)
    last = _DAY_S // seconds - 1
    number = min(int((at - midnight).total_seconds()) // seconds, last)
    start = midnight + timedelta(seconds=number * seconds)
    end = start + timedelta(seconds=seconds)
    return Span(start, end_of_day if number == last or end > end_of_day else end)


def following(over: Over, span: Span, zone: ZoneInfo) -> Span:
    return aligned(over, span.end, zone)


def preceding(over: Over, span: Span, zone: ZoneInfo) -> Span:
    return aligned(over, span.start - timedelta(microseconds=1), zone)


def last_end(over: Over, at: datetime, zone: ZoneInfo) -> datetime:
    """The end of the last window that can hold what occurred then."""
    return aligned(over, at, zone).end if over.is_aligned else later(over.length, at, zone)


def later(length: Duration, at: datetime, zone: ZoneInfo) -> datetime:
    """``length.after`` of an instant in UTC, remembered: a rule asks for those of the same things again and again."""
    return _later(length, zone)(at)


@lru_cache(maxsize=256)
def _later(length: Duration, zone: ZoneInfo) -> Callable[[datetime], datetime]:
    """Remembers by the instant alone: elsewhere than in UTC two instants of an hour that comes twice are equal."""
    return lru_cache(maxsize=4096)(lambda at: length.after(at, zone))


def sessions(over: Over, times: Sequence[datetime], zone: ZoneInfo) -> list[tuple[int, int]]:
    """Ranges ``[first, after)`` of sorted times with gaps shorter than the session's."""
    found: list[tuple[int, int]] = []
    end_of = _later(over.length, zone)
    for position, at in enumerate(times):
        if found and at < end_of(times[position - 1]):
            found[-1] = (found[-1][0], position + 1)
        else:
            found.append((position, position + 1))
    return found


def sliding(over: Over, times: Sequence[datetime], zone: ZoneInfo) -> list[int]:
    """For each of the sorted times, the first of those in the window that ends with it."""
    found: list[int] = []
    first = 0
    ends = list(map(_later(over.length, zone), times))
    for at in times:
        while ends[first] <= at:
            first += 1
        found.append(first)
    return found
