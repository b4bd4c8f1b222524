"""Invitations in mail (iTIP, RFC 5546): what a text/calendar part asks of the calendar."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from typing import Literal

from icalendar import Calendar, Component

from extractors.facts.context import TextContext
from extractors.text import one_line
from schemas.clock import at_local, start_of_day
from schemas.fact import InvitationFact, Span

_Effect = Literal["add", "change", "cancel", "reply", "none"]
_EVENTS = 20


def find(calendars: Sequence[str], context: TextContext) -> tuple[list[InvitationFact], list[str]]:
    """One for each meeting, and warnings for parts that are no calendar."""
    found: list[InvitationFact] = []
    warnings: list[str] = []
    for source in calendars:
        try:
            found += _invitations(source, context)
        except (ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError) as error:
            warnings.append(one_line(f"a calendar part cannot be read: {error}", 200))
    return found, warnings


def _invitations(source: str, context: TextContext) -> Iterator[InvitationFact]:
    calendar = Calendar.from_ical(source)
    method = str(calendar.get("METHOD", "PUBLISH")).strip().upper()[:20]
    events = [each for each in calendar.walk("VEVENT") if each.get("UID")][:_EVENTS]
    # one fact a meeting: overrides of single occurrences follow their series
    by_uid = {str(each["UID"]): each for each in reversed(events)}
    for uid, event in reversed(by_uid.items()):
        yield _invitation(event, uid, method, context)


def _invitation(event: Component, uid: str, method: str, context: TextContext) -> InvitationFact:
    sequence = int(event.get("SEQUENCE", 0))
    summary = one_line(str(event.get("SUMMARY", "")), 300)
    return InvitationFact(
        origin="itip",
        certainty=0.99,
        span=Span(part="calendar", start=0, end=0, quote=summary[:200]),
        method=method,
        uid=uid.strip()[:400],
        sequence=max(0, sequence),
        starts_at=_instant(event, "DTSTART", context),
        ends_at=_instant(event, "DTEND", context),
        summary=summary,
        effect=_effect(method, sequence, str(event.get("STATUS", "")).upper()),
    )


def _effect(method: str, sequence: int, status: str) -> _Effect:
    match method:
        case "CANCEL":
            return "cancel"
        case "REPLY":
            return "reply"
        case "REQUEST" | "PUBLISH" | "ADD":
            return "cancel" if status == "CANCELLED" else "change" if sequence > 0 else "add"
        case _:  # COUNTER, DECLINECOUNTER and REFRESH ask the organizer for something
            return "none"


def _instant(event: Component, name: str, context: TextContext) -> datetime | None:
    """Floating times are the owner's."""
    value = getattr(event.get(name), "dt", None)
    if isinstance(value, datetime):
        is_floating = value.tzinfo is None
        return at_local(value.date(), value.time(), context.zone) if is_floating else value.astimezone(UTC)
    return start_of_day(value, context.zone) if isinstance(value, date) else None
