"""The default calendar of a Microsoft account: entries that carry our key, made once by their transactionId."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from actions.tools.agenda import Draft, Meeting
from actions.tools.wire import Http, Reply, ask
from schemas.errors import NotSent, StepFailed

PREFER = {"Prefer": 'IdType="ImmutableId", outlook.timezone="UTC"'}
KEY_PROPERTY = "String {6f3c1a0e-5d0b-4f6e-9a55-2f1c8e7b4d21} Name ForewatchKey"
"""A named property of ours (MAPI): what an entry is found again by. The GUID is our namespace."""
_FIELDS = "id,iCalUId,subject,start,end,attendees,responseStatus,isOrganizer,type,isCancelled"
_WORDS = {"accepted": "accept", "declined": "decline", "tentative": "tentativelyAccept"}
_SAID = {"accepted": "accepted", "declined": "declined", "tentativelyAccepted": "tentative"}


class GraphAgenda:
    def __init__(self, http: Http) -> None:
        self._http = http

    async def made(self, key: str) -> Meeting | None:
        return _meeting(await self._entry(_by_key(key)))

    async def create(self, draft: Draft, key: str) -> None:
        if await self.made(key) is not None:
            return
        entry: dict[str, Any] = {
            "subject": draft.title,
            "body": {"contentType": "text", "content": draft.note},
            "start": _when(draft.start),
            "end": _when(draft.end),
            "location": {"displayName": draft.place},
            "attendees": [{"type": "required", "emailAddress": {"address": guest}} for guest in draft.guests],
            "transactionId": key,
            "singleValueExtendedProperties": [{"id": KEY_PROPERTY, "value": key}],
        }
        await self._ask("POST", "me/events", json=entry, passing={409})

    async def find(self, uid: str) -> Meeting | None:
        return _meeting(await self._entry(_by_uid(uid)))

    async def move(self, uid: str, start: datetime, end: datetime) -> None:
        found = await self._must(uid)
        await self._ask("PATCH", _path(found), json={"start": _when(start), "end": _when(end)})

    async def cancel(self, uid: str) -> None:
        """With guests it is called off, which tells them; else it is deleted."""
        found = await self._entry(_by_uid(uid))
        if found is None:
            return
        if found.get("attendees"):
            await self._ask("POST", f"{_path(found)}/cancel", json={"comment": ""}, passing={404, 410})
        else:
            await self._ask("DELETE", _path(found), passing={404, 410})

    async def answer(self, uid: str, answer: str) -> None:
        if answer not in _WORDS:
            raise StepFailed("Microsoft takes no answer back", code="invalid", remedy="answer tentative instead")
        found = await self._must(uid)
        await self._ask("POST", f"{_path(found)}/{_WORDS[answer]}", json={"comment": "", "sendResponse": True})

    async def _entry(self, question: str) -> dict[str, Any] | None:
        params = {"$filter": question, "$select": _FIELDS}
        listed = (await self._ask("GET", "me/events", params=params)).object().get("value", [])
        living = [each for each in listed if isinstance(each, dict) and not each.get("isCancelled")]
        return living[0] if living else None

    async def _must(self, uid: str) -> dict[str, Any]:
        found = await self._entry(_by_uid(uid))
        if found is None:
            raise StepFailed("it is not in the calendar", code="not_found")
        return found

    async def _ask(self, method: str, path: str, **more: Any) -> Reply:
        return await ask(self._http, method, path, headers=PREFER, **more)


def _by_uid(uid: str) -> str:
    quoted = uid.replace("'", "''")
    return f"iCalUId eq '{quoted}'"


def _by_key(key: str) -> str:
    one = f"ep/id eq '{KEY_PROPERTY}' and ep/value eq '{key}'"
    return f"singleValueExtendedProperties/Any(ep: {one})"


def _path(found: dict[str, Any]) -> str:
    return f"me/events/{quote(str(found['id']), safe='')}"


def _when(moment: datetime) -> dict[str, str]:
    return {"dateTime": f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%S}", "timeZone": "UTC"}


def _instant(when: dict[str, Any]) -> datetime:
    try:
        return datetime.fromisoformat(str(when["dateTime"])[:19]).replace(tzinfo=UTC)
    except (KeyError, ValueError) as error:
        raise NotSent("Microsoft answers with an entry without its time") from error


def _meeting(entry: dict[str, Any] | None) -> Meeting | None:
    if entry is None:
        return None
    people = [each.get("emailAddress", {}).get("address", "") for each in entry.get("attendees", [])]
    is_own = bool(entry.get("isOrganizer", True))
    said = _SAID.get(str(entry.get("responseStatus", {}).get("response", "")), "needs-action")
    return Meeting(
        uid=str(entry.get("iCalUId", "")),
        title=str(entry.get("subject", "")),
        start=_instant(entry.get("start", {})),
        end=_instant(entry.get("end", {})),
        guests=tuple(filter(None, map(str, people))),
        answer="" if is_own else said,
        is_own=is_own,
        repeats=entry.get("type", "singleInstance") != "singleInstance",
    )
