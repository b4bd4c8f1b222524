"""Details: what an entry says to a person, whatever its dates."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from extractors.calendar.component import Component
from extractors.calendar.escaping import split_list, unescape
from extractors.calendar.lines import Line
from extractors.calendar.moment import UTC_ZONE, parse_moment
from extractors.text import clean, cut, one_line
from schemas.errors import PoisonError

Status = Literal["confirmed", "tentative", "cancelled", "completed"]

TITLE_CAP = 500
DESCRIPTION_CAP = 20_000
PEOPLE_CAP = 500
CATEGORIES_CAP = 30

_STATUS: dict[str, Status] = {
    "TENTATIVE": "tentative",
    "CANCELLED": "cancelled",
    "CANCELED": "cancelled",
    "COMPLETED": "completed",
}
_FREE = frozenset({"FREE", "WORKINGELSEWHERE"})


@dataclass(frozen=True, slots=True)
class Person:
    """``answer`` is PARTSTAT in lower case: needs-action, accepted, declined, tentative, delegated, ..."""

    address: str
    name: str = ""
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Details:
    """``modified_at``: when the source says that it last changed."""

    summary: str = ""
    location: str = ""
    description: str = ""
    status: Status = "confirmed"
    organizer: Person | None = None
    attendees: tuple[Person, ...] = ()
    transparent: bool = False
    url: str | None = None
    categories: tuple[str, ...] = ()
    modified_at: datetime | None = None


def read_details(component: Component, method: str) -> Details:
    organizer = component.first("ORGANIZER")
    free = component.value("X-MICROSOFT-CDO-BUSYSTATUS").upper() in _FREE
    attendees = (_person(line) for line in component.all("ATTENDEE")[:PEOPLE_CAP])
    return Details(
        summary=one_line(unescape(component.value("SUMMARY")), TITLE_CAP),
        location=one_line(unescape(component.value("LOCATION")), TITLE_CAP),
        description=cut(clean(unescape(component.value("DESCRIPTION"))), DESCRIPTION_CAP)[0],
        status=_status(component, method),
        organizer=_person(organizer) if organizer and organizer.value else None,
        attendees=tuple(person for person in attendees if person.address or person.name),
        transparent=free or component.value("TRANSP").upper() == "TRANSPARENT",
        url=_url(component.value("URL")),
        categories=_categories(component),
        modified_at=_modified_at(component, method),
    )


def _status(component: Component, method: str) -> Status:
    if method == "CANCEL":
        return "cancelled"
    if component.name == "VTODO" and component.value("COMPLETED"):
        return "completed"
    return _STATUS.get(component.value("STATUS").upper(), "confirmed")


def _person(line: Line) -> Person:
    value = line.value.strip()
    address = value[7:] if value[:7].lower() == "mailto:" else value
    if "@" not in address or len(address) > 320:
        address = ""
    return Person(
        address=address.strip().lower(),
        name=one_line(unescape(line.params.get("CN", "")), 300),
        answer=line.params.get("PARTSTAT", "").lower()[:20],
    )


def _url(value: str) -> str | None:
    return value if value.lower().startswith(("http://", "https://")) and len(value) <= 2_000 else None


def _categories(component: Component) -> tuple[str, ...]:
    names = (one_line(name, 80) for line in component.all("CATEGORIES") for name in split_list(line.value))
    return tuple(dict.fromkeys(filter(None, names)))[:CATEGORIES_CAP]


def _modified_at(component: Component, method: str) -> datetime | None:
    """DTSTAMP dates a message; in a published file it is the time of the export, which says nothing."""
    for name in ("DTSTAMP", "LAST-MODIFIED", "CREATED") if method else ("LAST-MODIFIED", "CREATED"):
        try:
            return parse_moment(component.value(name), UTC_ZONE, floating=False).instant(UTC_ZONE)
        except PoisonError:
            continue
    return None
