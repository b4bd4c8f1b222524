"""The clock as an argument, and local days that survive DST (law L6). Zones are the user's, never the process's."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import Literal, Protocol
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from schemas.errors import ConfigError

FIRST_YEAR, LAST_YEAR = 1900, 2999
"""What lies outside is no date of a household, and days before or after it may not exist."""


def is_plausible(day: date | datetime) -> bool:
    """Whether a date lies in years in which it can be calculated with."""
    return FIRST_YEAR <= day.year <= LAST_YEAR


class Clock(Protocol):
    def now(self) -> datetime:
        """The present instant, aware, in UTC."""
        ...


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)


class ManualClock:
    """A clock that moves only when told, and never backwards."""

    def __init__(self, start: datetime) -> None:
        self._now = start.astimezone(UTC)

    def now(self) -> datetime:
        return self._now

    def advance_to(self, instant: datetime) -> None:
        self._now = max(self._now, instant.astimezone(UTC))


def zone(name: str) -> ZoneInfo:
    """The IANA zone of that name; ConfigError with a hint for an unknown one."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ConfigError(
            f"unknown time zone {name!r}", remedy="use an IANA name such as 'Europe/Berlin' or 'UTC'"
        ) from error


def at_local(day: date, wall: time, tz: ZoneInfo) -> datetime:
    """The instant of a wall time on a local day, in UTC.

    A wall time that DST skips is moved forward by the length of the gap; one that happens twice is the first.
    """
    return datetime.combine(day, wall.replace(fold=0), tzinfo=tz).astimezone(UTC)


def to_the_minute(instant: datetime, tz: ZoneInfo) -> str:
    """For a person, by their clock: 2026-03-31 09:00."""
    return f"{instant.astimezone(tz):%Y-%m-%d %H:%M}"


def occurs(day: date, wall: time, tz: ZoneInfo) -> Literal["once", "twice", "never"]:
    """How often a local day has this wall time: where DST begins an hour is skipped, where it ends one comes again."""
    before, after = (datetime.combine(day, wall.replace(fold=fold), tzinfo=tz).utcoffset() for fold in (0, 1))
    assert before is not None
    assert after is not None
    if before == after:
        return "once"
    return "twice" if before > after else "never"


def start_of_day(day: date, tz: ZoneInfo) -> datetime:
    """The first instant of a local day, in UTC (some zones skip midnight)."""
    instant = at_local(day, time(0), tz)
    return instant if instant.astimezone(tz).date() == day else instant + timedelta(hours=1)


def end_of_day(day: date, tz: ZoneInfo) -> datetime:
    """The first instant after a local day, in UTC: days have 23, 24 or 25 hours."""
    return start_of_day(day + timedelta(days=1), tz)


def local_day(instant: datetime, tz: ZoneInfo) -> date:
    return instant.astimezone(tz).date()
