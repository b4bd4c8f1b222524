"""One event of Microsoft Graph as an occurrence.

Times are asked for in UTC, which makes instants exact; wall times are those of the zone that the event was made in. A
whole day is its DATE alone: its midnight is in no zone, whatever is written beside it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from typing import Any

from extractors.calendar.details import CATEGORIES_CAP, DESCRIPTION_CAP, PEOPLE_CAP, TITLE_CAP, Status
from extractors.calendar.moment import UTC_ZONE, Moment, Zone, parse_moment
from extractors.calendar.occurrence import Attendee, Occurrence
from extractors.calendar.zones import Zones
from extractors.graph import Item, text_of
from extractors.graph_calendar.calendars import Calendar
from extractors.text import clean, cut, one_line
from schemas.errors import PoisonError

SELECT = ",".join(
    (
        "id,iCalUId,type,seriesMasterId,originalStart,originalStartTimeZone,start,end,isAllDay,isCancelled,isOrganizer",
        "subject,body,location,organizer,attendees,showAs,responseStatus,responseRequested,webLink,categories",
        "lastModifiedDateTime",
    )
)
_OUTLOOK_UID = re.compile(r"040000008200E00074C5B7101A82E008[0-9A-F]{8,}", re.IGNORECASE)
_PARTS = ("occurrence", "exception")
_FREE = ("free", "workingElsewhere")
_ANSWERS = {"notResponded": "needs-action", "accepted": "accepted", "tentativelyAccepted": "tentative"}
_ANSWERS["declined"] = "declined"
_DAY = timedelta(days=1)


def occurrence_of(item: Item, calendar: Calendar, owners: frozenset[str], owner: Zone) -> Occurrence:
    """PoisonError(no_start, bad_date) for an event that is on no day. ``owner``: whose days and clock it is."""
    place = _place(item, owner)
    start, end = _times(item, place)
    part = item.get("type") in _PARTS
    organizer = _person(item.get("organizer"))
    is_ours = item.get("isOrganizer") is True or organizer is None or organizer.address in owners
    return Occurrence(
        uid=_uid(item),
        recurrence_id=_recurrence(item, start, place) if part else None,
        recurring=part,
        start=start.iso(),
        end=end.iso(),
        zone=None if start.zone is None else start.zone.name,
        all_day=start.is_date,
        starts_at=None if start.zone is None else start.zone.instant(start.wall),
        ends_at=None if end.zone is None else end.zone.instant(end.wall),
        status=_status(item),
        summary=one_line(text_of(item, "subject"), TITLE_CAP),
        location=one_line(_inner(item, "location", "displayName"), TITLE_CAP),
        description=cut(clean(_inner(item, "body", "content")), DESCRIPTION_CAP)[0],
        organizer=organizer,
        attendees=tuple(_attendees(item)),
        answer=_answer(item),
        transparent=item.get("showAs") in _FREE,
        url=_url(item),
        categories=_categories(item),
        modified_at=_modified(item),
        calendar=calendar.name,
        is_own=calendar.is_own and is_ours,
    )


def _place(item: Item, owner: Zone) -> Zone:
    """The zone that the event was made in; the owner's, where Outlook names one that nobody knows ("Custom")."""
    name = text_of(item, "originalStartTimeZone")
    resolved = Zones(owner).named(name) if name else None
    return resolved.zone if resolved and not resolved.note else owner


def _times(item: Item, place: Zone) -> tuple[Moment, Moment]:
    start, end = _moment(item, "start"), _moment(item, "end")
    if start is None:
        raise PoisonError("an event without a start", code="no_start")
    if item.get("isAllDay") is True:
        first = start.day
        last = max(end.day if end else first, first + _DAY)
        return Moment(datetime.combine(first, time()), None), Moment(datetime.combine(last, time()), None)
    begins = _in_zone(start, place)
    ends = _in_zone(end, place) if end else begins
    return begins, ends if _instant(ends) >= _instant(begins) else begins


def _moment(item: Item, name: str) -> Moment | None:
    """A dateTimeTimeZone. A zone other than UTC was not asked for, but some servers give it."""
    text, zone = _inner(item, name, "dateTime"), _inner(item, name, "timeZone")
    if not text:
        return None
    return parse_moment(text, Zones(UTC_ZONE).named(zone).zone if zone else UTC_ZONE, floating=False)


def _in_zone(moment: Moment, zone: Zone) -> Moment:
    return Moment(zone.wall(_instant(moment)), zone)


def _instant(moment: Moment) -> datetime:
    return moment.instant(UTC_ZONE)


def _uid(item: Item) -> str:
    """Each date of a series has an iCalUId of its own, with its day inside: without it they are one again."""
    uid, master, id = text_of(item, "iCalUId"), text_of(item, "seriesMasterId"), text_of(item, "id")
    if _OUTLOOK_UID.fullmatch(uid):
        return f"{uid[:32]}00000000{uid[40:]}"[:255]
    found = (master or uid) if item.get("type") in _PARTS else (uid or id)
    if not found:
        raise PoisonError("an event without an id", code="malformed")
    return found[:255]


def _recurrence(item: Item, start: Moment, place: Zone) -> str:
    """The original start, as ``extractors.calendar.series`` writes it."""
    text = text_of(item, "originalStart")
    original = parse_moment(text, UTC_ZONE, floating=False) if text else start
    if not start.is_date:
        return f"{_instant(original):%Y%m%dT%H%M%SZ}"
    return f"{original.day if original.is_date else _day(_instant(original), place):%Y%m%d}"


def _day(instant: datetime, place: Zone) -> date:
    """The date whose midnight this instant is, in UTC or in the event's own zone."""
    walls = (instant.replace(tzinfo=None), place.wall(instant))
    midnight = next((wall for wall in walls if wall.time() == time()), None)
    return (midnight or walls[0] + timedelta(hours=12)).date()


def _status(item: Item) -> Status:
    if item.get("isCancelled") is True:
        return "cancelled"
    return "tentative" if item.get("showAs") == "tentative" else "confirmed"


def _answer(item: Item) -> str:
    """What the owner answered; nothing where nobody asked, and for the owner's own meetings."""
    answer = _ANSWERS.get(_inner(item, "responseStatus", "response"), "")
    return "" if answer == "needs-action" and item.get("responseRequested") is False else answer


def _attendees(item: Item) -> Sequence[Attendee]:
    found = []
    for each in _list(item, "attendees")[:PEOPLE_CAP]:
        answer = _ANSWERS.get(_inner(each, "status", "response"), "") if isinstance(each, dict) else ""
        if person := _person(each, answer):
            found.append(person)
    return found


def _person(value: Any, answer: str = "") -> Attendee | None:
    inner = value.get("emailAddress") if isinstance(value, dict) else None
    if not isinstance(inner, dict):
        return None
    address = text_of(inner, "address").strip().lower()
    address = address if "@" in address and len(address) <= 320 else ""
    name = one_line(text_of(inner, "name"), 300)
    return Attendee(address=address, name=name, answer=answer) if address or name else None


def _categories(item: Item) -> tuple[str, ...]:
    names = (one_line(text_of({"": name}, ""), 80) for name in _list(item, "categories"))
    return tuple(dict.fromkeys(filter(None, names)))[:CATEGORIES_CAP]


def _url(item: Item) -> str | None:
    link = text_of(item, "webLink")
    return link if link.lower().startswith("https://") and len(link) <= 2_000 else None


def _modified(item: Item) -> datetime | None:
    try:
        return _instant(parse_moment(text_of(item, "lastModifiedDateTime"), UTC_ZONE, floating=False))
    except PoisonError:
        return None


def _inner(item: Item, name: str, field: str) -> str:
    value = item.get(name)
    return text_of(value, field) if isinstance(value, dict) else ""


def _list(item: Item, name: str) -> list[Any]:
    value = item.get(name)
    return value if isinstance(value, list) else []
