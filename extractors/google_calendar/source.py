"""The questions that a poll asks of Google Calendar. All of them only read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from extractors.calendar.details import TITLE_CAP
from extractors.google import Google, Tokens, objects, word
from extractors.text import one_line
from schemas.errors import AuthError, TransientError

LIST_SIZE = 1_000
PAGES_CAP = 200
EVENTS_CAP = 50_000
_CALENDARS = "calendar/v3/users/me/calendarList"


@dataclass(frozen=True, slots=True)
class Calendar:
    """``zone``: of what in it names none, '' where that is not said. ``role``: what the owner may do with it."""

    id: str
    title: str
    zone: str
    role: str
    is_primary: bool
    is_hidden: bool = False


@dataclass(slots=True)
class Listing:
    """All events, or those that changed since a token. ``token``: for the next time."""

    events: list[dict[str, Any]] = field(default_factory=list)
    token: str = ""
    is_missing: bool = False


class Source:
    def __init__(self, google: Google) -> None:
        self._google = google

    async def calendars(self) -> list[Calendar]:
        """Those whose entries may be read, the primary one first. TransientError where there is none at all."""
        params: dict[str, str | int] = {"maxResults": 250, "showHidden": "true"}
        tokens = Tokens(PAGES_CAP)
        found: list[Calendar] = []
        while True:
            answer = await self._google.ask(_CALENDARS, params)
            assert answer is not None
            found += [_calendar(each) for each in objects(answer, "items")]
            if not (token := tokens.next(answer)):
                break
            params["pageToken"] = token
        if not any(calendar.is_primary for calendar in found):
            raise TransientError("Google does not list the account's own calendar")
        readable = [each for each in found if each.id and each.role != "freeBusyReader"]
        return sorted(readable, key=lambda each: not each.is_primary)

    async def has(self, calendar: str) -> bool:
        return await self._google.ask(f"{_CALENDARS}/{quote(calendar, safe='')}", missing=(404, 410)) is not None

    async def events(self, calendar: str, token: str) -> Listing | None:
        """None where Google no longer knows the token; ``is_missing`` where there is no such calendar. The token of
        the answer comes with its last page alone."""
        path = f"calendar/v3/calendars/{quote(calendar, safe='')}/events"
        params: dict[str, str | int] = {"singleEvents": "false", "maxResults": LIST_SIZE}
        if token:
            params["syncToken"] = token
        tokens = Tokens(PAGES_CAP)
        listing = Listing()
        while True:
            answer = await self._google.ask(path, params, missing=(404, 410) if token else (404,))
            if answer is None:
                return None if token else Listing(is_missing=True)
            listing.events += objects(answer, "items")
            if len(listing.events) > EVENTS_CAP:
                raise AuthError(f"more than {EVENTS_CAP} entries in one calendar", remedy="name others in calendars")
            if not (page := tokens.next(answer)):
                break
            params["pageToken"] = page
        listing.token = word(answer, "nextSyncToken")
        if not listing.token:
            raise TransientError("Google ends a list of entries without saying where the next one begins")
        return listing

    async def is_there(self, calendar: str, event: str) -> bool:
        path = f"calendar/v3/calendars/{quote(calendar, safe='')}/events/{quote(event, safe='')}"
        answer = await self._google.ask(path, missing=(404, 410))
        return answer is not None and answer.get("status") != "cancelled"


def _calendar(entry: dict[str, Any]) -> Calendar:
    title = word(entry, "summaryOverride") or word(entry, "summary") or word(entry, "id")
    return Calendar(
        id=word(entry, "id"),
        title=one_line(title, TITLE_CAP),
        zone=word(entry, "timeZone"),
        role=word(entry, "accessRole"),
        is_primary=entry.get("primary") is True,
        is_hidden=entry.get("hidden") is True,
    )
