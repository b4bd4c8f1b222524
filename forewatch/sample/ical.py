"""iCalendar text (RFC 5545): entries, and the whole calendar file as one program writes it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import lru_cache

Wall = datetime | date
"""A naive wall time, or a date for all-day entries."""

_TIMEZONES = {
    "Europe/Berlin": (
        "+0100",
        "+0200",
        "CET",
        "CEST",
        "19701025T030000",
        "-1SU;BYMONTH=10",
        "19700329T020000",
        "-1SU;BYMONTH=3",
    ),
    "America/New_York": (
        "-0500",
        "-0400",
        "EST",
        "EDT",
        "19701101T020000",
        "1SU;BYMONTH=11",
        "19700308T020000",
        "2SU;BYMONTH=3",
    ),
}
"""Zones whose rules the file itself carries; readers know the others by name."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One VEVENT. ``zone``: an IANA or Windows name, "UTC" for Z times, None for floating times and dates."""

    uid: str
    summary: str
    start: Wall
    end: Wall
    zone: str | None
    stamp: datetime
    sequence: int = 0
    location: str = ""
    description: str = ""
    status: str = "CONFIRMED"
    rule: str = ""
    without: Sequence[Wall] = ()
    """Occurrences that are dropped (EXDATE)."""
    instead_of: Wall | None = None
    """RECURRENCE-ID: the occurrence that this one replaces."""
    transparent: bool = False
    organizer: str = ""
    attendees: Sequence[tuple[str, str]] = ()
    """Addresses and their PARTSTAT."""

    def text(self) -> str:
        lines = ["BEGIN:VEVENT", f"UID:{self.uid}", f"DTSTAMP:{utc(self.stamp)}", f"SEQUENCE:{self.sequence}"]
        lines += [f"DTSTART{self._value(self.start)}", f"DTEND{self._value(self.end)}"]
        if self.instead_of is not None:
            lines.append(f"RECURRENCE-ID{self._value(self.instead_of)}")
        if self.rule:
            lines.append(f"RRULE:{self.rule}")
        lines += [f"EXDATE{self._value(skipped)}" for skipped in self.without]
        lines += [f"SUMMARY:{escaped(self.summary)}", f"STATUS:{self.status}"]
        lines += [f"LOCATION:{escaped(self.location)}"] if self.location else []
        lines += [f"DESCRIPTION:{escaped(self.description)}"] if self.description else []
        lines.append(f"TRANSP:{'TRANSPARENT' if self.transparent else 'OPAQUE'}")
        lines += [f"ORGANIZER:mailto:{self.organizer}"] if self.organizer else []
        lines += [f"ATTENDEE;ROLE=REQ-PARTICIPANT;PARTSTAT={state}:mailto:{mail}" for mail, state in self.attendees]
        return "\n".join([*lines, "END:VEVENT"])

    def _value(self, wall: Wall) -> str:
        if not isinstance(wall, datetime):
            return f";VALUE=DATE:{wall:%Y%m%d}"
        if self.zone == "UTC":
            return f":{wall:%Y%m%dT%H%M%S}Z"
        return f";TZID={self.zone}:{wall:%Y%m%dT%H%M%S}" if self.zone else f":{wall:%Y%m%dT%H%M%S}"


def utc(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y%m%dT%H%M%S}Z"


def escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace(";", "\\;").replace(",", "\\,").replace("\n", "\\n")


def file(blocks: Iterable[str], method: str = "") -> bytes:
    """The whole file: CRLF, lines folded at 75 octets."""
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Example//Household Calendar 3.1//EN", "CALSCALE:GREGORIAN"]
    lines += [f"METHOD:{method}"] if method else []
    lines += [line for name in _TIMEZONES for line in _timezone(name)]
    lines += [line for block in blocks for line in block.split("\n")]
    return b"".join(_folded(line) for line in [*lines, "END:VCALENDAR"])


def _timezone(name: str) -> list[str]:
    standard, daylight, std_name, dst_name, std_from, std_day, dst_from, dst_day = _TIMEZONES[name]
    return [
        "BEGIN:VTIMEZONE", f"TZID:{name}",
        "BEGIN:STANDARD", f"DTSTART:{std_from}", f"TZOFFSETFROM:{daylight}", f"TZOFFSETTO:{standard}",
        f"RRULE:FREQ=YEARLY;BYDAY={std_day}", f"TZNAME:{std_name}", "END:STANDARD",
        "BEGIN:DAYLIGHT", f"DTSTART:{dst_from}", f"TZOFFSETFROM:{standard}", f"TZOFFSETTO:{daylight}",
        f"RRULE:FREQ=YEARLY;BYDAY={dst_day}", f"TZNAME:{dst_name}", "END:DAYLIGHT",
        "END:VTIMEZONE",
    ]  # fmt: skip


@lru_cache(maxsize=20_000)
def _folded(line: str) -> bytes:
    """Cut between characters, never inside one. Most lines are short, and a year writes them again and again."""
    if len(whole := line.encode()) <= 75:
        return whole + b"\r\n"
    chunks, current, room = [], b"", 75
    for char in line:
        raw = char.encode()
        if len(current) + len(raw) > room:
            chunks.append(current)
            current, room = b"", 74
        current += raw
    return b"\r\n ".join([*chunks, current]) + b"\r\n"
