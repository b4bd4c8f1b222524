"""Records of occurrences as events; what any calendar connector's ``normalise`` does."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime
from functools import lru_cache
from typing import Any, Literal
from zoneinfo import ZoneInfo

from pydantic import ValidationError

from extractors.calendar.ledger import starts_at
from extractors.calendar.occurrence import Attendee, Occurrence, native_id
from extractors.connector import Context
from extractors.facts import TextContext, extract
from extractors.mail import html
from schemas import matter
from schemas.errors import PoisonError
from schemas.event import TEXT_CAP, Event, Party, Trust
from schemas.fact import DueFact, Fact, Span
from schemas.ids import event_id
from schemas.payloads import CalendarPayload
from schemas.record import Record

_HTML = re.compile(r"<(?:br|p|a|div|b|i|ul|ol|li|span|html|body|table|strong|em)\b[^<>]{0,2000}>", re.IGNORECASE)


def events_of(record: Record, context: Context) -> Sequence[Event]:
    """One event. PoisonError(malformed) for a record that no calendar connector wrote."""
    try:
        return [_withdrawn(record, context) if record.op == "delete" else _told(record, context)]
    except (ValidationError, KeyError, ValueError) as error:
        raise PoisonError(f"calendar record {record.native_id[:80]!r}: {error}") from error


def _told(record: Record, context: Context) -> Event:
    occurrence = Occurrence.model_validate_json(record.raw)
    begins, ends = occurrence.instants(context.zone)
    is_deadline = occurrence.kind == "todo" and occurrence.due is not None
    has_times = not is_deadline or occurrence.start != occurrence.due
    text = _text(occurrence.description)
    kind = _kind(occurrence, is_new=record.is_new)
    return Event(
        **_envelope(record, kind, occurrence.uid, occurrence.recurrence_id, occurrence.kind),
        op="retract" if occurrence.is_over else "upsert",
        occurred_at=min(occurrence.modified_at or record.fetched_at, record.fetched_at),
        title=occurrence.summary,
        parties=_parties(occurrence),
        due_at=occurrence.deadline(context.zone),
        starts_at=begins if has_times else None,
        ends_at=ends if has_times else None,
        wall_start=occurrence.start,
        wall_end=occurrence.end,
        zone=occurrence.zone,
        all_day=occurrence.all_day,
        text=text,
        facts=() if occurrence.is_over else tuple(_facts(occurrence, begins, text, context.zone)),
        trust=_trust(occurrence),
        payload=_payload(occurrence, text, record, context.zone),
    )


def _withdrawn(record: Record, context: Context) -> Event:
    """The source no longer has it: all that is known is what the ledger kept."""
    meta: Any = record.meta
    recurrence = meta["recurrence_id"]
    when = str(meta["when"])
    is_date = len(when) == 8
    return Event(
        **_envelope(record, "calendar.cancelled", meta["uid"], recurrence, meta["kind"]),
        op="retract",
        occurred_at=record.fetched_at,
        title=meta["title"],
        starts_at=starts_at(when, context.zone),
        wall_start=date.fromisoformat(when).isoformat() if is_date else None,
        all_day=is_date,
        trust="service" if meta["is_own"] else "outside",
        payload=CalendarPayload(
            uid=meta["uid"],
            recurrence_id=recurrence,
            recurring=recurrence is not None,
            status="cancelled",
            todo=meta["kind"] == "todo",
        ),
    )


def _envelope(record: Record, kind: str, uid: str, recurrence: str | None, component: str) -> dict[str, Any]:
    return {
        "id": event_id(record.account, kind, record.native_id, record.version),
        "owner": record.owner,
        "account": record.account,
        "source": record.source,
        "kind": kind,
        "subject": f"calendar:{native_id(component, uid, recurrence)}",
        "version": record.version,
        "observed_at": record.fetched_at,
        "matter": matter.calendar(uid),
    }


def _kind(occurrence: Occurrence, *, is_new: bool) -> str:
    if occurrence.is_over:
        return "calendar.cancelled"
    if not is_new:
        return "calendar.changed"
    return "calendar.invited" if occurrence.is_invitation else "calendar.scheduled"


def _trust(occurrence: Occurrence) -> Trust:
    return "service" if occurrence.is_own else "outside"


def _text(description: str) -> str:
    """Calendar servers put HTML into descriptions as often as text."""
    return (html.read(description).text if _HTML.search(description) else description)[:TEXT_CAP]


def _parties(occurrence: Occurrence) -> tuple[Party, ...]:
    organizer = [_party("organizer", occurrence.organizer)] if occurrence.organizer else []
    return (*organizer, *(_party("attendee", person) for person in occurrence.attendees))


def _party(role: str, person: Attendee) -> Party:
    domain = person.address.rpartition("@")[2][:255]
    return Party(role=role, name=person.name, address=person.address, domain=domain)


def _payload(occurrence: Occurrence, text: str, record: Record, zone: ZoneInfo) -> CalendarPayload:
    previous = record.meta.get("previous_start")
    status: Literal["confirmed", "tentative", "cancelled"]
    status = "cancelled" if occurrence.status == "completed" else occurrence.status
    return CalendarPayload(
        uid=occurrence.uid,
        recurrence_id=occurrence.recurrence_id,
        recurring=occurrence.recurring,
        sequence=occurrence.sequence,
        status=status,
        location=occurrence.location,
        organizer=_label(occurrence.organizer) if occurrence.organizer else None,
        attendees=tuple(map(_label, occurrence.attendees)),
        transparent=occurrence.transparent or occurrence.answer == "declined",
        calendar=occurrence.calendar,
        url=occurrence.url,
        categories=occurrence.categories,
        description=text,
        previous_start=starts_at(previous, zone) if isinstance(previous, str) else None,
        answer=occurrence.answer,
        method=occurrence.method,
        todo=occurrence.kind == "todo",
        completed=occurrence.status == "completed",
        warnings=occurrence.notes,
    )


def _label(person: Attendee) -> str:
    return person.address or person.name


def _facts(occurrence: Occurrence, begins: datetime, text: str, zone: ZoneInfo) -> list[Fact]:
    """What the title says of the entry's own date ("Passport expires"), and the words of the description.

    The description of a series is not read: each of its dates would have the same deadline again.
    """
    day = begins.astimezone(zone).date()
    written = occurrence.modified_at.astimezone(zone).date() if occurrence.modified_at else day
    words = TextContext(written_on=written, zone=zone)
    facts: list[Fact] = []
    if occurrence.kind == "todo" and (deadline := occurrence.deadline(zone)):
        facts.append(
            DueFact(origin="field", certainty=1, on=deadline.astimezone(zone).date(), at=occurrence.due_at, what="do")
        )
    facts += _title_facts(occurrence.summary, day, words)
    if text and not occurrence.recurring:
        facts += extract(text, words, part="calendar")
    return facts


def _title_facts(title: str, day: date, words: TextContext) -> list[Fact]:
    if not _speaks_of_its_date(title):
        return []
    span = Span(part="title", start=0, end=len(title), quote=title[:200])
    return [fact.model_copy(update={"span": span}) for fact in _facts_on(title, day, words)]


@lru_cache(maxsize=2_048)
def _speaks_of_its_date(title: str) -> bool:
    """Most titles do not ("Choir"), and those of a series are all the same."""
    day = date(2026, 6, 15)
    return bool(title) and bool(_facts_on(title, day, TextContext(written_on=day, zone=ZoneInfo("UTC"))))


def _facts_on(title: str, day: date, words: TextContext) -> list[Fact]:
    found = extract("", words, subject=f"{title} {day.isoformat()}")
    return [fact for fact in found if getattr(fact, "on", None) == day]
