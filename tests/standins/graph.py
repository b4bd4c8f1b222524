"""Microsoft Graph on this machine, as far as mail and calendars go: stateful delta queries, immutable ids, 410.

Where ``make peers`` has made the schema of the published types, every answer is held against it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any
from urllib.parse import unquote, urlencode

from jsonschema import Draft7Validator

from extractors.testing.standin import Asked, Reply, StandIn
from tests.peers.graph import graph_schema
from tests.peers.process import PeerMissing

_STAMP = "%Y-%m-%dT%H:%M:%SZ"
_PAGE = re.compile(r"odata\.maxpagesize=(\d+)")
_ANNOTATION = re.compile(r"@odata\.|@removed")
_ALIEN = "Additional properties"
_ENVELOPE = {
    "type": "object",
    "required": ["@odata.context", "value"],
    "properties": {
        "@odata.context": {"type": "string"},
        "@odata.nextLink": {"type": "string"},
        "@odata.deltaLink": {"type": "string"},
        "value": {"type": "array", "items": {"type": "object", "required": ["id"]}},
    },
    "additionalProperties": False,
}


@cache
def _validator(name: str) -> Draft7Validator | None:
    """None where the published types are not here: test_graph_contract.py says so."""
    if not name:
        return Draft7Validator(_ENVELOPE)
    try:
        schema = graph_schema()
    except PeerMissing:
        return None
    return Draft7Validator({**schema, "$ref": f"#/definitions/Published{name}"})


def violations(name: str, document: Any) -> list[str]:
    """What of this object the published type does not allow; '' for the envelope of a list."""
    validator = _validator(name)
    if validator is None:
        return []
    plain = document if not name else {k: v for k, v in document.items() if not _ANNOTATION.search(k)}
    return [f"{name or 'list'}: {error.message[:200]} at {error.json_path}" for error in validator.iter_errors(plain)]


def type_of(path: str) -> str:
    """The published type of what an address gives; '' for what is no JSON."""
    if path.endswith("/$value"):
        return ""
    if "/messages" in path:
        return "Message"
    if "calendarView" in path or "/events" in path:
        return "Event"
    return "MailFolder" if "/mailFolders" in path else "Calendar"


@dataclass
class FakeMail:
    id: str
    folder: str
    raw: bytes
    received: datetime
    number: int
    is_read: bool = False
    is_flagged: bool = False
    is_draft: bool = False

    def shown(self) -> dict[str, Any]:
        return {
            "@odata.etag": f'W/"{self.number}"',
            "id": self.id,
            "receivedDateTime": self.received.strftime(_STAMP),
            "isRead": self.is_read,
            "isDraft": self.is_draft,
            "flag": {"flagStatus": "flagged" if self.is_flagged else "notFlagged"},
        }


@dataclass
class FakeFolder:
    id: str
    name: str
    parent: str = ""


@dataclass(frozen=True)
class _Change:
    """``fields``: what changed; none where the mail is new to the folder or has left it (``is_arrival``)."""

    folder: str
    mail: str
    fields: tuple[str, ...] = ()
    is_arrival: bool = False


WELL_KNOWN = {
    "inbox": "Posteingang",
    "sentitems": "Gesendete Elemente",
    "drafts": "Entwürfe",
    "deleteditems": "Gelöschte Elemente",
    "junkemail": "Junk-E-Mail",
    "outbox": "Postausgang",
}


class FakeGraph(StandIn):
    """``page``: the most items in a page, whatever is asked for. ``epoch``: a new one forgets every token.
    ``blank``: full listings are empty, by a mistake of the service."""

    def __init__(self, *, page: int = 2) -> None:
        super().__init__()
        self.page = page
        self.epoch = 0
        self.folders = {name: FakeFolder(f"folder-{name}==", title) for name, title in WELL_KNOWN.items()}
        self.mails: dict[str, FakeMail] = {}
        self.changes: list[_Change] = []
        self.made = 0
        self.calendars: dict[str, dict[str, Any]] = {}
        self.events: dict[str, dict[str, dict[str, Any]]] = {}
        self.event_changes: list[tuple[str, str]] = []
        self.overrides: dict[str, Reply] = {}
        self.tokens = {"good"}
        self.blank = False

    # -- what a person or a program does to the account

    def folder(self, name: str, title: str, parent: str = "") -> str:
        self.folders[name] = FakeFolder(f"folder-{name}==", title, self.folders[parent].id if parent else "")
        return self.folders[name].id

    def deliver(self, raw: bytes, received: datetime, folder: str = "inbox", **state: bool) -> FakeMail:
        self.made += 1
        id = f"AAkALg{self.made}/{'x' * 12}="
        mail = FakeMail(id, self.folders[folder].id, raw, received, self.made, **state)
        self.mails[id] = mail
        self.changes.append(_Change(mail.folder, id, is_arrival=True))
        return mail

    def mark(self, mail: FakeMail, **fields: bool) -> None:
        for name, value in fields.items():
            setattr(mail, name, value)
        named = {"is_read": "isRead", "is_flagged": "flag", "is_draft": "isDraft"}
        self.changes.append(_Change(mail.folder, mail.id, tuple(named[name] for name in fields)))

    def move(self, mail: FakeMail, folder: str) -> None:
        self.changes.append(_Change(mail.folder, mail.id))
        mail.folder = self.folders[folder].id
        self.changes.append(_Change(mail.folder, mail.id, is_arrival=True))

    def delete(self, mail: FakeMail) -> None:
        self.changes.append(_Change(mail.folder, mail.id))
        del self.mails[mail.id]

    def calendar(self, id: str, name: str, **more: Any) -> None:
        self.calendars[id] = {"id": id, "name": name, "canEdit": True, **more}
        self.events[id] = {}

    def put_event(self, calendar: str, event: dict[str, Any]) -> None:
        self.events[calendar][event["id"]] = event
        self.event_changes.append((calendar, event["id"]))

    def drop_event(self, calendar: str, id: str) -> None:
        del self.events[calendar][id]
        self.event_changes.append((calendar, id))

    def lose_cursors(self) -> None:
        self.epoch += 1

    # -- the service

    def answer(self, asked: Asked) -> Reply:
        token = asked.headers.get("authorization", "").removeprefix("Bearer ")
        if token not in self.tokens:
            return _error(401, "InvalidAuthenticationToken")
        if asked.method != "GET" or 'IdType="ImmutableId"' not in asked.headers.get("prefer", ""):
            return _error(400, "BadRequest")
        parts = [unquote(part) for part in asked.path.removeprefix("/v1.0/").split("/")]
        if "calendarView" in parts and 'outlook.timezone="UTC"' not in asked.headers["prefer"]:
            return _error(400, "ErrorNotInUtc")
        for path, reply in self.overrides.items():
            if path in "/".join(parts):
                return reply
        match parts:
            case ["me", "mailFolders"]:
                return self._listed(asked, self._folders(""))
            case ["me", "mailFolders", name]:
                return self._one(name)
            case ["me", "mailFolders", parent, "childFolders"]:
                return self._listed(asked, self._folders(parent))
            case ["me", "mailFolders", folder, "messages", "delta"]:
                return self._delta(asked, folder)
            case ["me", "messages", id, "$value"]:
                found = self.mails.get(id)
                return (
                    Reply(200, found.raw, {"Content-Type": "text/plain"}) if found else _error(404, "ErrorItemNotFound")
                )
            case ["me", "calendars"]:
                return self._listed(asked, list(self.calendars.values()))
            case ["me", "calendars", id, "calendarView"]:
                return self._listed(asked, list(self._view(id, asked.query)))
            case ["me", "calendars", id, "calendarView", "delta"]:
                return self._event_delta(asked, id)
        return _error(404, "ResourceNotFound")

    def check(self, asked: Asked, reply: Reply) -> list[str]:
        """Answers against the published types, and questions against what those types hold."""
        name = type_of(asked.path)
        if reply.status != 200 or not name:
            return []
        document = _json(reply)
        items = document.get("value", [document])
        found = [violation for item in items for violation in violations(name, item)]
        if "value" in document:
            found += violations("", document)
        fields = filter(None, asked.query.get("$select", "").split(","))
        return found + [
            f"$select: {line}" for field in fields for line in violations(name, {field: None}) if _ALIEN in line
        ]

    def _folders(self, parent: str) -> list[dict[str, Any]]:
        return [self._shown(folder) for folder in self.folders.values() if folder.parent == parent]

    def _shown(self, folder: FakeFolder) -> dict[str, Any]:
        return {
            "id": folder.id,
            "displayName": folder.name,
            "childFolderCount": sum(other.parent == folder.id for other in self.folders.values()),
            "totalItemCount": sum(mail.folder == folder.id for mail in self.mails.values()),
        }

    def _one(self, name: str) -> Reply:
        found = self.folders.get(name) if name in WELL_KNOWN else None
        found = found or next((folder for folder in self.folders.values() if folder.id == name), None)
        return (
            Reply.of({"@odata.context": "$metadata", **self._shown(found)})
            if found
            else _error(404, "ErrorItemNotFound")
        )

    def _listed(self, asked: Asked, items: list[dict[str, Any]]) -> Reply:
        start = int(asked.query.get("$skip", 0))
        document = {"@odata.context": "$metadata", "value": items[start : start + self.page]}
        if start + self.page < len(items):
            query = {**asked.query, "$skip": start + self.page}
            document["@odata.nextLink"] = f"{self.url}{asked.path}?{urlencode(query)}"
        return Reply.of(document)

    def _delta(self, asked: Asked, folder: str) -> Reply:
        """A first listing goes from the newest to the oldest, and its deltaLink begins where the listing began."""
        if not any(known.id == folder for known in self.folders.values()):
            return _error(404, "ErrorItemNotFound")
        token = (
            asked.query.get("$skiptoken")
            or asked.query.get("$deltatoken")
            or f"list.{self.epoch}.{len(self.changes)}.0"
        )
        kind, epoch, since, place = token.split(".")
        if int(epoch) != self.epoch:
            return _error(410, "SyncStateNotFound")
        size = self._size(asked)
        if kind == "list" and self.blank:
            return self._page_of(asked, [], "", f"since.{epoch}.{since}.0")
        if kind == "list":
            mails = sorted((m for m in self.mails.values() if m.folder == folder), key=lambda mail: -mail.number)
            left = [mail for mail in mails if not int(place) or mail.number < int(place)]
            items = [mail.shown() for mail in left[:size]]
            more = f"list.{epoch}.{since}.{left[size - 1].number}" if len(left) > size else ""
            return self._page_of(asked, items, more, f"since.{epoch}.{since}.0")
        changes = self.changes[int(since) :]
        last = {change.mail: at for at, change in enumerate(changes) if change.folder == folder}
        for mail in [mail for mail in last if self._came_and_went(folder, mail, changes)]:
            del last[mail]  # not a word of it
        order = sorted(last.items(), key=lambda pair: pair[1])
        items = [self._changed(folder, mail, changes) for mail, _ in order[:size]]
        reached = int(since) + order[size - 1][1] + 1 if len(order) > size else 0
        more = f"since.{epoch}.{reached}.0" if reached else ""
        return self._page_of(asked, items, more, f"since.{epoch}.{len(self.changes)}.0")

    def _came_and_went(self, folder: str, id: str, changes: list[_Change]) -> bool:
        mine = [change for change in changes if (change.folder, change.mail) == (folder, id)]
        is_here = id in self.mails and self.mails[id].folder == folder
        return bool(mine) and mine[0].is_arrival and not is_here

    def _changed(self, folder: str, id: str, changes: list[_Change]) -> dict[str, Any]:
        mail = self.mails.get(id)
        if mail is None or mail.folder != folder:
            return {"id": id, "@removed": {"reason": "deleted"}}
        mine = [change for change in changes if (change.folder, change.mail) == (folder, id)]
        if any(not change.fields for change in mine):
            return mail.shown()
        fields = {name for change in mine for name in change.fields}
        return {name: value for name, value in mail.shown().items() if name in ("@odata.etag", "id", *fields)}

    def _size(self, asked: Asked) -> int:
        wished = _PAGE.search(asked.headers.get("prefer", ""))
        return min(self.page, int(wished[1])) if wished else self.page

    def _page_of(self, asked: Asked, items: list[dict[str, Any]], more: str, then: str) -> Reply:
        link = f"{self.url}{asked.path}?"
        last = (
            {"@odata.nextLink": f"{link}$skiptoken={more}"}
            if more
            else {"@odata.deltaLink": f"{link}$deltatoken={then}"}
        )
        return Reply.of({"@odata.context": "$metadata#Collection", "value": items, **last})

    def _view(self, calendar: str, query: Any) -> Iterator[dict[str, Any]]:
        low, high = query["startDateTime"][:19], query["endDateTime"][:19]
        for event in sorted(self.events[calendar].values(), key=lambda event: event["start"]["dateTime"]):
            if event["start"]["dateTime"][:19] < high and event["end"]["dateTime"][:19] > low:
                yield event

    def _event_delta(self, asked: Asked, calendar: str) -> Reply:
        if calendar not in self.calendars:
            return _error(404, "ErrorItemNotFound")
        token = asked.query.get("$skiptoken") or asked.query.get("$deltatoken")
        if token is None:
            window = f"{asked.query['startDateTime'][:10]}~{asked.query['endDateTime'][:10]}"
            token = f"list.{self.epoch}.{len(self.event_changes)}.0.{window}"
        kind, epoch, since, place, window = token.split(".")
        if int(epoch) != self.epoch:
            return _error(410, "SyncStateNotFound")
        low, _, high = window.partition("~")
        shown = list(self._view(calendar, {"startDateTime": low, "endDateTime": high}))
        if kind == "list":
            items, at = shown, int(place)
        else:
            ids = dict.fromkeys(id for where, id in self.event_changes[int(since) :] if where == calendar)
            there = {event["id"]: event for event in shown}
            items, at = [there.get(id, {"id": id, "@removed": {"reason": "deleted"}}) for id in ids], int(place)
        items = [_told(item) for item in items]
        size = self._size(asked)
        more = f"{kind}.{epoch}.{since}.{at + size}.{window}" if at + size < len(items) else ""
        until = since if kind == "list" else str(len(self.event_changes))
        return self._page_of(asked, items[at : at + size], more, f"since.{epoch}.{until}.0.{window}")


def _told(event: dict[str, Any]) -> dict[str, Any]:
    """A delta tells of the dates of a series when they are, and not what."""
    kept = ("id", "type", "seriesMasterId", "start", "end")
    return {name: event[name] for name in kept if name in event} if event.get("type") == "occurrence" else event


def _json(reply: Reply) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(reply.body)
    return document


def _error(status: int, code: str) -> Reply:
    return Reply.of({"error": {"code": code, "message": f"{code} on purpose", "innerError": {}}}, status)


START = datetime(2026, 2, 1, 8, tzinfo=UTC)


def utc(moment: datetime | str | dict[str, str]) -> dict[str, str]:
    """As Exchange writes it when asked for UTC: seven digits of a second, no Z."""
    if isinstance(moment, dict):
        return moment
    text = moment if isinstance(moment, str) else moment.strftime("%Y-%m-%dT%H:%M:%S")
    return {"dateTime": f"{text}.0000000", "timeZone": "UTC"}


def meeting(id: str, subject: str, start: datetime | dict[str, str], **more: Any) -> dict[str, Any]:
    """An event of one hour, made in Berlin by the owner of the account."""
    return {
        "id": id,
        "iCalUId": f"uid-{id}",
        "type": "singleInstance",
        "subject": subject,
        "start": utc(start),
        "end": utc(start + timedelta(hours=1) if isinstance(start, datetime) else start),
        "originalStartTimeZone": "W. Europe Standard Time",
        "isAllDay": False,
        "isCancelled": False,
        "isOrganizer": True,
        "showAs": "busy",
        "responseStatus": {"response": "organizer", "time": "0001-01-01T00:00:00Z"},
        "organizer": {"emailAddress": {"name": "Nora", "address": "nora@example.net"}},
        "attendees": [],
        "location": {"displayName": "Room 1"},
        "body": {"contentType": "text", "content": ""},
        "lastModifiedDateTime": "2026-02-01T08:00:00.1234567Z",
        **more,
    }


def letter(number: int, subject: str = "") -> bytes:
    sent = START + timedelta(hours=number)
    return (
        f"From: Ada <ada@example.org>\r\nTo: Nora <nora@example.net>\r\nSubject: {subject or f'Letter {number}'}\r\n"
        f"Date: {sent:%a, %d %b %Y %H:%M:%S} +0000\r\nMessage-ID: <{number}@example.org>\r\n\r\n"
        f"Letter number {number}.\r\n"
    ).encode()
