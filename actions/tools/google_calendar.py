"""The primary calendar of a Google account: entries of an id that we choose, guarded by their ETag."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from typing import Any
from urllib.parse import quote
from zoneinfo import ZoneInfo

from actions.tools.agenda import Draft, Meeting
from actions.tools.wire import Http, ask
from schemas.clock import at_local
from schemas.errors import NotSent, StepFailed

_EVENTS = "calendar/v3/calendars/primary/events"
_ANSWERS = {"accepted": "accepted", "declined": "declined", "tentative": "tentative", "needs-action": "needsAction"}
_SAID = {theirs: ours for ours, theirs in _ANSWERS.items()}


class GoogleAgenda:
    """The id of an entry is the key itself: 32 hexadecimal digits are an id that Google takes, and takes once."""

    def __init__(self, http: Http, zone: ZoneInfo) -> None:
        self._http = http
        self._zone = zone

    async def made(self, key: str) -> Meeting | None:
        reply = await ask(self._http, "GET", f"{_EVENTS}/{quote(key)}", passing={404, 410})
        if reply.status in (404, 410) or reply.object().get("status") == "cancelled":
            return None
        return self._meeting(reply.object())

    async def create(self, draft: Draft, key: str) -> None:
        entry: dict[str, Any] = {
            "id": key,
            "summary": draft.title,
            "description": draft.note,
            "location": draft.place,
            "start": self._when(draft.start),
            "end": self._when(draft.end),
        }
        if draft.guests:
            entry["attendees"] = [{"email": guest} for guest in draft.guests]
        await ask(self._http, "POST", _EVENTS, params=_telling(bool(draft.guests)), json=entry, passing={409})

    async def find(self, uid: str) -> Meeting | None:
        found = await self._entry(uid)
        return None if found is None else self._meeting(found)

    async def move(self, uid: str, start: datetime, end: datetime) -> None:
        found = await self._must(uid)
        await self._patch(found, {"start": self._when(start), "end": self._when(end)})

    async def cancel(self, uid: str) -> None:
        found = await self._entry(uid)
        if found is None:
            return
        params, headers = _telling(bool(found.get("attendees"))), {"If-Match": str(found["etag"])}
        path = f"{_EVENTS}/{quote(str(found['id']))}"
        await ask(self._http, "DELETE", path, params=params, headers=headers, passing={404, 410})

    async def answer(self, uid: str, answer: str) -> None:
        found = await self._must(uid)
        people = [
            {**each, "responseStatus": _ANSWERS[answer]} if each.get("self") else each
            for each in found.get("attendees", [])
        ]
        await self._patch(found, {"attendees": people})

    async def _entry(self, uid: str) -> dict[str, Any] | None:
        reply = await ask(self._http, "GET", _EVENTS, params={"iCalUID": uid, "maxResults": 10})
        items = reply.object().get("items", [])
        living = [each for each in items if isinstance(each, dict) and each.get("status") != "cancelled"]
        return min(living, key=lambda each: "recurringEventId" in each, default=None)

    async def _must(self, uid: str) -> dict[str, Any]:
        found = await self._entry(uid)
        if found is None:
            raise StepFailed("it is not in the calendar", code="not_found")
        return found

    async def _patch(self, found: dict[str, Any], change: dict[str, Any]) -> None:
        params, headers = _telling(bool(found.get("attendees"))), {"If-Match": str(found["etag"])}
        await ask(
            self._http, "PATCH", f"{_EVENTS}/{quote(str(found['id']))}", params=params, headers=headers, json=change
        )

    def _meeting(self, entry: dict[str, Any]) -> Meeting:
        people = [each for each in entry.get("attendees", []) if isinstance(each, dict)]
        mine = next((each for each in people if each.get("self")), None)
        is_own = bool(entry.get("organizer", {}).get("self", not people))
        return Meeting(
            uid=str(entry.get("iCalUID", "")),
            title=str(entry.get("summary", "")),
            start=self._instant(entry.get("start", {})),
            end=self._instant(entry.get("end", {})),
            guests=tuple(str(each["email"]) for each in people if not each.get("self") and not each.get("organizer")),
            answer=_SAID.get(str(mine.get("responseStatus")), "needs-action") if mine and not is_own else "",
            is_own=is_own,
            repeats=bool(entry.get("recurrence") or entry.get("recurringEventId")),
        )

    def _when(self, moment: datetime) -> dict[str, str]:
        return {"dateTime": moment.astimezone(self._zone).isoformat(), "timeZone": self._zone.key}

    def _instant(self, when: dict[str, Any]) -> datetime:
        try:
            if "date" in when:
                return at_local(date.fromisoformat(str(when["date"])), time(), self._zone)
            return datetime.fromisoformat(str(when["dateTime"])).astimezone(UTC)
        except (KeyError, ValueError) as error:
            raise NotSent("Google answers with an entry without its time") from error


def _telling(has_guests: bool) -> dict[str, str | int]:
    return {"sendUpdates": "all" if has_guests else "none"}
