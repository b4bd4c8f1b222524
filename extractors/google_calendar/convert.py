"""Google's JSON events as entries: the same as a VEVENT gives, because they are read by the same reader.

Google writes times as instants with an offset and names the zone beside; what people agreed on is the wall time there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from extractors.calendar.component import Component
from extractors.calendar.entry import Entry, Origin, read_entry
from extractors.calendar.lines import Line, content_lines
from extractors.calendar.zones import Zones
from schemas.errors import PoisonError

_REPEATS = frozenset({"RRULE", "RDATE", "EXDATE", "EXRULE"})
_RULES_CAP = 200
_PEOPLE_CAP = 500
_PARTSTAT = {"needsAction": "NEEDS-ACTION", "declined": "DECLINED", "tentative": "TENTATIVE", "accepted": "ACCEPTED"}


def entry_of(event: Mapping[str, Any], uid: str, title: str, zones: Zones) -> Entry:
    """``uid``: what the ledger calls it, whatever the event says. PoisonError for what cannot be put on a day."""
    component = Component("VEVENT", 0, whole=True, lines=[Line(0, "UID", {}, uid), *_lines(event, zones)])
    entry = read_entry(component, zones, Origin(source=uid, calendar=title))
    if entry is None:
        raise PoisonError("an event without a date", code="no_start")
    return entry


def is_cancelled(event: Mapping[str, Any]) -> bool:
    return event.get("status") == "cancelled"


def self_addresses(event: Mapping[str, Any]) -> Iterator[str]:
    """Addresses that Google says are the calendar's own."""
    people = event.get("attendees")
    listed = people[:_PEOPLE_CAP] if isinstance(people, list) else []
    for person in (event.get("organizer"), *listed):
        if isinstance(person, dict) and person.get("self") is True and isinstance(person.get("email"), str):
            yield person["email"].strip().lower()


def _lines(event: Mapping[str, Any], zones: Zones) -> Iterator[Line]:
    original = event.get("originalStartTime")
    start = event.get("start")
    if start is None and is_cancelled(event):
        start = original  # what is left of a date that was taken out of a series
    yield from _when("DTSTART", start, zones)
    if event.get("endTimeUnspecified") is not True:
        yield from _when("DTEND", event.get("end"), zones)
    yield from _when("RECURRENCE-ID", original, zones)
    yield from _repeats(event.get("recurrence"))
    for name, key in (("SUMMARY", "summary"), ("LOCATION", "location"), ("DESCRIPTION", "description")):
        yield Line(0, name, {}, _escaped(_text(event, key)))
    yield Line(0, "STATUS", {}, _text(event, "status").upper())
    yield Line(0, "CREATED", {}, _text(event, "created"))
    yield Line(0, "LAST-MODIFIED", {}, _text(event, "updated"))
    yield Line(0, "SEQUENCE", {}, str(event.get("sequence", 0)))
    yield Line(0, "TRANSP", {}, _text(event, "transparency").upper())
    yield Line(0, "URL", {}, _text(event, "htmlLink"))
    yield from _people(event)


def _when(name: str, value: Any, zones: Zones) -> Iterator[Line]:
    if value is None:
        return
    if not isinstance(value, dict):
        raise PoisonError(f"its {name} is no date", code="bad_date")
    if day := _text(value, "date"):
        yield Line(0, name, {"VALUE": "DATE"}, day.replace("-", ""))
    elif text := _text(value, "dateTime"):
        yield _at(name, text, _text(value, "timeZone") or zones.floating.name, zones)


def _at(name: str, text: str, tzid: str, zones: Zones) -> Line:
    """The wall time in the zone that is named. Where that says too little (an hour that happens twice), the instant."""
    try:
        moment = datetime.fromisoformat(text).replace(microsecond=0)
        if moment.tzinfo is None:
            return Line(0, name, {"TZID": tzid}, f"{moment:%Y%m%dT%H%M%S}")
        instant = moment.astimezone(UTC)
        zone = zones.named(tzid).zone
        wall = zone.wall(instant).replace(fold=0)
        if zone.instant(wall) == instant:
            return Line(0, name, {"TZID": tzid}, f"{wall:%Y%m%dT%H%M%S}")
        return Line(0, name, {}, f"{instant:%Y%m%dT%H%M%SZ}")
    except (ValueError, OverflowError) as error:
        raise PoisonError(f"{text[:40]!r} is not a date", code="bad_date") from error


def _repeats(recurrence: Any) -> Iterator[Line]:
    if not isinstance(recurrence, list):
        return
    for text in recurrence[:_RULES_CAP]:
        if isinstance(text, str):
            yield from (line for line in content_lines(text.encode("utf-8", "replace")) if line.name in _REPEATS)


def _people(event: Mapping[str, Any]) -> Iterator[Line]:
    if isinstance(organizer := event.get("organizer"), dict):
        yield _person("ORGANIZER", organizer)
    attendees = event.get("attendees")
    for person in attendees[:_PEOPLE_CAP] if isinstance(attendees, list) else ():
        if isinstance(person, dict) and person.get("resource") is not True:
            yield _person("ATTENDEE", person)


def _person(name: str, person: Mapping[str, Any]) -> Line:
    params = {"CN": _escaped(_text(person, "displayName"))}
    if answer := _PARTSTAT.get(_text(person, "responseStatus")):
        params["PARTSTAT"] = answer
    return Line(0, name, params, f"mailto:{_text(person, 'email')}")


def _text(event: Mapping[str, Any], key: str) -> str:
    value = event.get(key, "")
    if not isinstance(value, str):
        raise PoisonError(f"its {key} is no text", code="malformed")
    return value


def _escaped(text: str) -> str:
    """As TEXT is written in a file, because the reader undoes that."""
    return text.replace("\\", "\\\\").replace("\r\n", "\n").replace("\n", "\\n")
