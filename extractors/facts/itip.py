"""Invitations in mail (iTIP, RFC 5546): what a text/calendar part asks of the calendar.

Read by the calendar's own reader, so that a meeting begins at the same moment whether it comes by mail or by a feed:
zones belong to one part, display names of zones are known, and one line that is no line spoils only itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Literal, NamedTuple

from extractors.calendar.component import Component, tree
from extractors.calendar.entry import Entry, Origin, read_entry, sequence_of
from extractors.calendar.escaping import unescape
from extractors.calendar.lines import content_lines
from extractors.calendar.moment import Length, Moment, Zone
from extractors.calendar.reading import zones_of
from extractors.calendar.zones import Zones
from extractors.facts.context import TextContext
from extractors.text import one_line
from schemas.errors import PoisonError
from schemas.fact import InvitationFact, Span

_Effect = Literal["add", "change", "cancel", "reply", "none"]
_EVENTS = 20


class CalendarPart(NamedTuple):
    """``method``: what the mail's header says of the part; it counts where the calendar itself says nothing."""

    text: str
    method: str = ""


def find(calendars: Sequence[CalendarPart], context: TextContext) -> tuple[list[InvitationFact], list[str]]:
    """One for each meeting, and warnings for parts that are no calendar."""
    found: list[InvitationFact] = []
    warnings: list[str] = []
    for part in calendars:
        meetings = list(_invitations(part, context, warnings))
        found += [each for each in meetings if not any(_says_the_same(each, other) for other in found)]
        if not meetings:
            warnings.append("a calendar part cannot be read: there is no whole meeting in it")
    return found, warnings


def _says_the_same(one: InvitationFact, other: InvitationFact) -> bool:
    """Google and Outlook send one meeting twice: as an alternative and as a file."""
    return (one.method, one.uid, one.sequence) == (other.method, other.uid, other.sequence)


def _invitations(part: CalendarPart, context: TextContext, warnings: list[str]) -> Iterator[InvitationFact]:
    owner = Zone(str(context.zone), context.zone)
    for calendar in tree(content_lines(part.text.encode("utf-8", "replace"))).calendars:
        method = (calendar.value("METHOD").strip() or part.method or "PUBLISH").upper()[:20]
        zones, note = zones_of(calendar, owner)
        warnings += [note] if note else []
        for event in _meetings(calendar):
            yield _invitation(event, method, zones, owner, warnings)


def _meetings(calendar: Component) -> list[Component]:
    """One for each UID: overrides of single occurrences follow their series."""
    by_uid: dict[str, Component] = {}
    for event in calendar.children:
        uid = event.value("UID").strip()
        if event.name != "VEVENT" or not uid or not (event.whole or calendar.whole):
            continue
        known = by_uid.get(uid)
        if known is None or (known.first("RECURRENCE-ID") and not event.first("RECURRENCE-ID")):
            by_uid[uid] = event
    return list(by_uid.values())[:_EVENTS]


def _invitation(event: Component, method: str, zones: Zones, owner: Zone, warnings: list[str]) -> InvitationFact:
    sequence = sequence_of(event)
    summary = one_line(unescape(event.value("SUMMARY")), 300)
    starts_at, ends_at = _times(event, method, zones, owner, warnings)
    return InvitationFact(
        origin="itip",
        certainty=0.99,
        span=Span(part="calendar", start=0, end=0, quote=summary[:200]),
        method=method,
        uid=event.value("UID").strip()[:400],
        sequence=max(0, sequence),
        starts_at=starts_at,
        ends_at=ends_at,
        summary=summary,
        effect=_effect(method, sequence, event.value("STATUS").strip().upper()),
    )


def _times(
    event: Component, method: str, zones: Zones, owner: Zone, warnings: list[str]
) -> tuple[datetime | None, datetime | None]:
    """When it begins and ends; a reply or a cancellation need not say it, and a date that is none is warned of."""
    try:
        entry = read_entry(event, zones, Origin(method=method))
    except PoisonError as error:
        if error.code != "no_start":
            warnings.append(one_line(f"a meeting's date cannot be read: {error.message}", 200))
        return None, None
    if entry is None:
        return None, None
    warnings += [one_line(note, 200) for note in entry.notes[:5]]
    ends = _end(entry)
    return entry.start.instant(owner), ends.instant(owner) if ends else None


def _end(entry: Entry) -> Moment | None:
    if not isinstance(entry.end, Length):
        return entry.end
    return entry.end.after(entry.start) if entry.end.is_positive else None


def _effect(method: str, sequence: int, status: str) -> _Effect:
    match method:
        case "CANCEL":
            return "cancel"
        case "REPLY":
            return "reply"
        case "REQUEST" | "PUBLISH" | "ADD":
            return "cancel" if status in ("CANCELLED", "CANCELED") else "change" if sequence > 0 else "add"
        case _:  # COUNTER, DECLINECOUNTER and REFRESH ask the organizer for something
            return "none"
