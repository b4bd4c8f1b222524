"""Reading: what one iCalendar file holds, what of it can never work, and whether it is all there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from extractors.calendar.component import Component, Tree, tree
from extractors.calendar.entry import Entry, Origin, read_entry
from extractors.calendar.escaping import unescape
from extractors.calendar.lines import content_lines
from extractors.calendar.moment import Zone
from extractors.calendar.zones import Zones, iana_zone
from extractors.connector import Rejected
from extractors.text import one_line
from schemas.errors import PoisonError

SIZE_CAP = 20_000_000
REJECTED_CAP = 500

Fault = Literal["", "empty", "html", "not_a_calendar", "truncated", "too_large", "unreadable"]

_REASONS: dict[Fault, str] = {
    "empty": "the file is empty",
    "html": "this is a web page, not a calendar: perhaps a login page",
    "not_a_calendar": "no BEGIN:VCALENDAR in it",
    "truncated": "it ends before END:VCALENDAR: perhaps it is being written",
    "too_large": f"larger than {SIZE_CAP // 1_000_000} MB",
    "unreadable": "cannot be read",
}
_OTHERS = frozenset({"VJOURNAL", "VFREEBUSY", "VAVAILABILITY", "VTIMEZONE", "VALARM"})
"""Components that are no entries although they may have dates."""
_ANSWERS = frozenset({"REPLY", "COUNTER", "REFRESH", "DECLINECOUNTER"})
"""Messages to an organizer: they hold a copy of an entry, but are none."""


@dataclass(slots=True)
class Reading:
    """``fault``: why the file as a whole cannot be trusted; then ``entries`` are only those that were whole.

    ``has_content`` is False for a calendar without a single event or to-do.
    """

    source: str
    method: str = ""
    fault: Fault = ""
    has_content: bool = False
    entries: list[Entry] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def reason(self) -> str:
        return f"{self.source}: {_REASONS[self.fault]}" if self.fault else ""


def read_calendar(raw: bytes, source: str, owner: Zone, *, title: str = "") -> Reading:
    """``owner``: the zone of times that name none; ``title``: the calendar's, instead of its own X-WR-CALNAME.

    Never raises; the work is linear in the size of the file.
    """
    found = tree(content_lines(raw)) if len(raw) <= SIZE_CAP else Tree(())
    reading = Reading(source, fault=_fault(raw, found))
    for calendar in found.calendars:
        _read(calendar, reading, owner, title)
    if reading.fault:
        _reject(reading, source, reading.fault, _REASONS[reading.fault], raw[:200])
    for code, reason, lines in (
        ("too_deep", "nested too deeply: left out", found.too_deep),
        ("too_many", "more components than are read: left out", found.too_many),
        ("misplaced", "an entry outside of any calendar", found.misplaced),
    ):
        for line in lines:
            _reject(reading, f"{source}:{line}", code, reason)
    return reading


def looks_like_calendar(head: bytes) -> bool:
    return b"BEGIN:VCALENDAR" in head.replace(b"\0", b"")[:4096].upper()


def _fault(raw: bytes, found: Tree) -> Fault:
    if len(raw) > SIZE_CAP:
        return "too_large"
    if not raw.strip(b" \t\r\n\0"):
        return "empty"
    if not found.calendars:
        return "html" if raw.lstrip()[:200].lower().startswith((b"<!doctype", b"<html", b"<?xml")) else "not_a_calendar"
    return "" if all(calendar.whole for calendar in found.calendars) else "truncated"


def _read(calendar: Component, reading: Reading, owner: Zone, title: str) -> None:
    method = calendar.value("METHOD").upper()[:20]
    title = title or one_line(unescape(calendar.value("X-WR-CALNAME")), 200)
    reading.method = reading.method or method
    if (scale := calendar.value("CALSCALE").upper()) not in ("", "GREGORIAN"):
        _reject(reading, f"{reading.source}:{calendar.line}", "unsupported", f"CALSCALE {scale[:20]} is not understood")
        return
    if method in _ANSWERS:
        _reject(reading, f"{reading.source}:{calendar.line}", "answer", f"METHOD:{method} answers an invitation")
        return
    zones, note = zones_of(calendar, owner)
    reading.warnings += [f"{reading.source}: {note}"] if note else []
    for component in calendar.children:
        if component.name in ("VEVENT", "VTODO"):
            # without an END an entry counts only where its calendar has one: else the rest of it may be missing
            if component.whole or calendar.whole:
                reading.has_content = True
                _read_one(component, reading, zones, Origin(reading.source, title, method))
        elif not _is_passed_over(component.name) and component.first("DTSTART"):
            where = f"{reading.source}:{component.line}"
            _reject(reading, where, "unknown_component", f"{component.name[:40]!r} is no kind of entry")


def _is_passed_over(name: str) -> bool:
    """Of private components (X-...) RFC 5545 3.6 says that whoever does not know them must ignore them; any other name
    is more likely a misspelt entry."""
    return name in _OTHERS or name.startswith("X-")


def _read_one(component: Component, reading: Reading, zones: Zones, origin: Origin) -> None:
    where = f"{reading.source}:{component.line}"
    try:
        entry = read_entry(component, zones, origin)
    except PoisonError as error:
        _reject(reading, where, error.code, error.message, _sample(component))
        return
    if entry is None:
        reading.warnings.append(f"{where}: a to-do without a date")
        return
    reading.entries.append(entry)
    reading.warnings += [f"{where}: {note}" for note in entry.notes]
    if entry.broken_rule:
        _reject(reading, where, "bad_rule", f"{entry.broken_rule}; only its first date counts", _sample(component))


def zones_of(calendar: Component, owner: Zone) -> tuple[Zones, str]:
    """What zones mean in this calendar, and a note where it names one for its floating times that nobody knows."""
    blocks = [component for component in calendar.children if component.name == "VTIMEZONE"]
    name = calendar.value("X-WR-TIMEZONE").strip()
    declared = iana_zone(name) if name else None
    is_unknown = bool(name) and declared is None
    note = f"X-WR-TIMEZONE {name[:60]!r} is unknown: read as {owner.name}" if is_unknown else ""
    return Zones(declared or owner, blocks, is_declared=declared is not None), note


def _sample(component: Component) -> bytes:
    return "\n".join(f"{line.name}:{line.value}" for line in component.lines[:20])[:500].encode()


def _reject(reading: Reading, where: str, code: str, reason: str, raw: bytes = b"") -> None:
    if len(reading.rejected) < REJECTED_CAP:
        reading.rejected.append(Rejected(where, code, reason, raw))
