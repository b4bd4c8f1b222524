"""iCalendar text for tests: small files, written as a program would write them."""

from __future__ import annotations

from datetime import UTC, datetime

from extractors.calendar.agenda import Agenda, Ownership, agenda
from extractors.calendar.moment import Zone
from extractors.calendar.reading import read_calendar
from extractors.calendar.series import Window
from schemas.clock import zone


def component(kind: str, *lines: str) -> str:
    return "\r\n".join((f"BEGIN:{kind}", *lines, f"END:{kind}"))


def vevent(uid: str, start: str, *lines: str) -> str:
    """``start`` with its parameters: ``;TZID=Europe/Berlin:20260401T100000``."""
    return component("VEVENT", f"UID:{uid}", "DTSTAMP:20260101T000000Z", f"DTSTART{start}", *lines)


def vcalendar(*parts: str) -> bytes:
    """Components, or lines of the calendar itself."""
    return (component("VCALENDAR", "VERSION:2.0", "PRODID:-//Example//Test//EN", *parts) + "\r\n").encode()


def dated(
    raw: bytes,
    low: datetime = datetime(2026, 1, 1, tzinfo=UTC),
    high: datetime = datetime(2027, 1, 1, tzinfo=UTC),
    *,
    owner: str = "Europe/Berlin",
) -> Agenda:
    """What is in the window for an owner in that zone."""
    tz = Zone(owner, zone(owner))
    return agenda(read_calendar(raw, "test.ics", tz).entries, Window(low, high, tz), Ownership())


def starts(found: Agenda) -> list[str]:
    """Instants in UTC without seconds, or dates; cancelled ones with a dash before them."""
    return [
        ("-" if item.occurrence.is_over else "")
        + (f"{item.occurrence.starts_at:%Y-%m-%dT%H:%MZ}" if item.occurrence.starts_at else item.occurrence.start)
        for item in found.placed
    ]
