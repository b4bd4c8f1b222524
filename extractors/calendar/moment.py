"""Moments: a date or a wall time with its zone, as iCalendar writes them, and the lengths between them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from schemas.errors import PoisonError

_MOMENT = re.compile(
    r"([0-9]{4})-?([0-9]{2})-?([0-9]{2})"
    r"(?:[Tt ]([0-9]{2}):?([0-9]{2})(?::?([0-9]{2}))?(?:[.,][0-9]+)?(Z|z|[+-][0-9]{2}:?[0-9]{2})?)?"
)
_DURATION = re.compile(
    r"([+-]?)P(?:([0-9]{1,5})W)?(?:([0-9]{1,6})D)?(?:T(?:([0-9]{1,7})H)?(?:([0-9]{1,8})M)?(?:([0-9]{1,9})S)?)?"
)
_OFFSET = re.compile(r"([+-])([0-9]{2}):?([0-9]{2})(?::?([0-9]{2}))?")

FIRST_YEAR = 1583
"""The first whole Gregorian year; what is before (Outlook's 0001-01-01) is a mistake."""
LAST_YEAR = 9000
"""Later years mean "for ever" and are brought down to this one, so that no arithmetic overflows."""


@dataclass(frozen=True, slots=True)
class Zone:
    """``name`` is the IANA name where there is one, else what the source wrote."""

    name: str
    tz: tzinfo

    def instant(self, wall: datetime) -> datetime:
        """In UTC. A wall time that DST skips is read with the offset from before the gap; one that happens twice is
        the first, unless its ``fold`` says otherwise."""
        return wall.replace(tzinfo=self.tz).astimezone(UTC)

    def wall(self, instant: datetime) -> datetime:
        return instant.astimezone(self.tz).replace(tzinfo=None)


UTC_ZONE = Zone("UTC", UTC)


@dataclass(frozen=True, slots=True)
class Moment:
    """``wall`` is naive; midnight for a date, which has no zone. ``floating``: ``zone`` is not the source's word."""

    wall: datetime
    zone: Zone | None
    floating: bool = False

    @property
    def is_date(self) -> bool:
        return self.zone is None

    @property
    def day(self) -> date:
        return self.wall.date()

    def instant(self, owner: Zone) -> datetime:
        """A date begins with the owner's day."""
        return (self.zone or owner).instant(self.wall)

    def at(self, wall: datetime) -> Moment:
        """The same kind of moment at another wall time; a date takes only the day of it."""
        return Moment(wall if self.zone else datetime.combine(wall, time()), self.zone, self.floating)

    def iso(self) -> str:
        """What ``Event.wall_start`` holds: no offset, a bare date for a date."""
        return self.day.isoformat() if self.is_date else self.wall.isoformat(timespec="seconds")


@dataclass(frozen=True, slots=True)
class Length:
    """``days`` follow the wall clock, ``seconds`` are exact: one day later may be 23 hours later."""

    days: int = 0
    seconds: int = 0

    @property
    def is_positive(self) -> bool:
        return self.span > timedelta(0)

    @property
    def span(self) -> timedelta:
        return timedelta(days=self.days, seconds=self.seconds)

    def after(self, start: Moment) -> Moment:
        later = start.wall + timedelta(days=self.days)
        if start.zone is None:
            return start.at(later + timedelta(seconds=self.seconds))
        if not self.seconds:
            return start.at(later)
        exact = start.zone.instant(later) + timedelta(seconds=self.seconds)
        return start.at(start.zone.wall(exact))


def parse_moment(text: str, zone: Zone, *, floating: bool) -> Moment:
    """``zone`` is that of a time without Z or offset; ``floating`` says that nobody named it.

    PoisonError for what is no date; a date where a time was expected stays a date.
    """
    found = _MOMENT.fullmatch(text.strip())
    if not found:
        raise PoisonError(f"{text[:40]!r} is not a date", code="bad_date")
    year, month, day, hour, minute, second, suffix = found.groups()
    if int(year) < FIRST_YEAR:
        raise PoisonError(f"{text[:40]!r} is before the calendar began", code="bad_date")
    try:
        midnight = datetime(min(int(year), LAST_YEAR), int(month), int(day))  # noqa: DTZ001 - a wall time
    except ValueError as error:
        raise PoisonError(f"{text[:40]!r} is not a date: {error}", code="bad_date") from error
    if hour is None:
        return Moment(midnight, None)
    if int(hour) > 24 or int(minute) > 59:
        raise PoisonError(f"{text[:40]!r} is not a time", code="bad_date")
    wall = midnight + timedelta(hours=int(hour), minutes=int(minute), seconds=min(int(second or 0), 59))
    if suffix is None:
        return Moment(wall, zone, floating)
    return Moment(wall if suffix in "Zz" else wall - parse_offset(suffix), UTC_ZONE)


def parse_length(text: str) -> Length:
    """PoisonError for what is no duration. A negative one is given back as such."""
    found = _DURATION.fullmatch(text.strip().upper())
    if not found or not any(found.groups()[1:]):
        raise PoisonError(f"{text[:40]!r} is not a duration", code="bad_duration")
    weeks, days, hours, minutes, seconds = (int(part or 0) for part in found.groups()[1:])
    sign = -1 if found[1] == "-" else 1
    total_days, exact = weeks * 7 + days, hours * 3600 + minutes * 60 + seconds
    if total_days + exact // 86_400 > 36_525:
        raise PoisonError(f"{text[:40]!r} is longer than a century", code="bad_duration")
    return Length(sign * total_days, sign * exact)


def parse_offset(text: str) -> timedelta:
    found = _OFFSET.fullmatch(text.strip())
    if not found or int(found[2]) > 15 or int(found[3]) > 59 or int(found[4] or 0) > 59:
        raise PoisonError(f"{text[:20]!r} is not an offset from UTC", code="bad_offset")
    size = timedelta(hours=int(found[2]), minutes=int(found[3]), seconds=int(found[4] or 0))
    return -size if found[1] == "-" else size
