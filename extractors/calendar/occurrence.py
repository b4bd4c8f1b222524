"""Occurrence: one meeting, day or to-do on one date: what a calendar connector's records hold, as JSON."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

from extractors.calendar.details import Status
from schemas.clock import end_of_day, start_of_day
from schemas.ids import digest
from schemas.model import Instant, Model

CONTENT_TYPE = "application/json"
VERSION_DIGITS = 16


class Attendee(Model):
    address: str = ""
    name: str = ""
    answer: str = ""


class Occurrence(Model):
    """``start``, ``end`` and ``due`` are wall times as the source wrote them (ISO, no offset), or bare dates for whole
    days; ``end`` is exclusive and in the zone of ``start``. ``zone`` is None for floating times and dates.
    ``starts_at``, ``ends_at`` and ``due_at`` are the instants of wall times; a date is an instant only for an owner
    (``instants``). ``recurrence_id``: the original start of this occurrence, None for what does not repeat.
    """

    kind: Literal["event", "todo"] = "event"
    uid: str
    recurrence_id: str | None = None
    recurring: bool = False
    start: str
    end: str
    due: str | None = None
    zone: str | None = None
    all_day: bool = False
    floating: bool = False
    starts_at: Instant | None = None
    ends_at: Instant | None = None
    due_at: Instant | None = None
    sequence: int = 0
    status: Status = "confirmed"
    summary: str = ""
    location: str = ""
    description: str = ""
    organizer: Attendee | None = None
    attendees: tuple[Attendee, ...] = ()
    answer: str = ""
    """The owner's own answer, where the owner is an attendee."""
    transparent: bool = False
    url: str | None = None
    categories: tuple[str, ...] = ()
    modified_at: Instant | None = None
    method: str = ""
    calendar: str = ""
    is_own: bool = True
    """The calendar is the owner's, and nobody else organizes this."""
    notes: tuple[str, ...] = ()

    @property
    def native_id(self) -> str:
        """Stable for this occurrence, however it is moved or renamed."""
        return native_id(self.kind, self.uid, self.recurrence_id)

    @property
    def is_invitation(self) -> bool:
        """Somebody waits for the owner's answer. Who the owner is may be unknown; then a REQUEST is meant for us."""
        if self.answer or self.is_own:
            return self.answer == "needs-action"
        return self.method == "REQUEST" and any(person.answer in ("", "needs-action") for person in self.attendees)

    @property
    def is_over(self) -> bool:
        """Cancelled, or a to-do that is done."""
        return self.status in ("cancelled", "completed")

    def content(self) -> str:
        """Equal for two versions between which a person would see no difference.

        SEQUENCE, time stamps, descriptions and the answers of others change without anybody caring.
        """
        people = sorted(person.address or person.name for person in self.attendees)
        organizer = self.organizer.address if self.organizer else ""
        when = [self.start, self.end, self.due, self.zone, self.all_day]
        return digest([when, self.status, self.summary, self.location, organizer, people, self.answer])[:VERSION_DIGITS]

    def instants(self, owner: ZoneInfo) -> tuple[datetime, datetime]:
        """When it begins and ends for this owner; for a to-do with a deadline, when it has to be done by."""
        first = self.begins(owner)
        if self.due is not None:
            return first, max(first, self.deadline(owner) or first)
        return first, _instant(self.end, self.ends_at, owner)

    def begins(self, owner: ZoneInfo) -> datetime:
        return _instant(self.start, self.starts_at, owner)

    def deadline(self, owner: ZoneInfo) -> datetime | None:
        """A due date lasts until its day ends: the last second, so that the day of the instant is that day."""
        if self.due is None or self.due_at is not None:
            return self.due_at
        return end_of_day(date.fromisoformat(self.due[:10]), owner) - timedelta(seconds=1)


def native_id(kind: str, uid: str, recurrence_id: str | None) -> str:
    suffix = f"#{recurrence_id}" if recurrence_id else ""
    return f"{'todo:' if kind == 'todo' else ''}{uid}{suffix}"


def _instant(wall: str, instant: datetime | None, owner: ZoneInfo) -> datetime:
    return instant if instant is not None else start_of_day(date.fromisoformat(wall[:10]), owner)
