"""Gmail and Google Calendar on this machine: what they hold, what they remember of it, and how they refuse.

Each exchange is checked against the contract that Google publishes, where ``make peers`` has fetched it.
"""

from __future__ import annotations

import base64
import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

from extractors.testing.standin import Asked, Reply, StandIn
from tests.peers.process import PeerMissing
from tests.standins.google_contract import violations

ADDRESS = "nora@example.org"


def error(status: int, *reasons: str, domain: str = "global") -> Reply:
    listed = [{"domain": domain, "reason": reason, "message": reason} for reason in reasons]
    return Reply.of({"error": {"code": status, "message": "refused", "errors": listed}}, status)


class _Google(StandIn):
    """``refusals``: replies that come instead of the next answers. ``tokens``: what is let in."""

    document = ""
    may_write = False

    def __init__(self) -> None:
        super().__init__()
        self.refusals: list[Reply] = []
        self.tokens = {"token-1"}

    def check(self, asked: Asked, reply: Reply) -> list[str]:
        try:
            return violations(self.document, asked, reply, may_write=self.may_write)
        except PeerMissing:
            return []

    def answer(self, asked: Asked) -> Reply:
        if asked.headers.get("authorization", "").removeprefix("Bearer ") not in self.tokens:
            return error(401, "authError")
        if self.refusals:
            return self.refusals.pop(0)
        return self.reply(asked)

    def reply(self, asked: Asked) -> Reply:
        raise NotImplementedError


@dataclass
class Letter:
    raw: bytes | None
    labels: set[str]
    at: datetime
    thread: str


@dataclass
class Happening:
    """``kind`` as in the answer: messagesAdded, messagesDeleted, labelsAdded, labelsRemoved."""

    number: int
    kind: str
    message: str
    labels: tuple[str, ...] = ()


class FakeGmail(_Google):
    """``page``: the most that a page of a listing or of history holds. ``blind``: listings show nothing."""

    document = "gmail.v1"

    def __init__(self, page: int = 3) -> None:
        super().__init__()
        self.page = page
        self.letters: dict[str, Letter] = {}
        self.history: list[Happening] = []
        self.number = 1000
        self.forgotten = 0
        self.made = 0
        self.blind = False
        self.empty_pages = False
        self.vanishing: set[str] = set()
        """Listed, but gone when they are asked for."""

    def add(self, raw: bytes | None, labels: tuple[str, ...], at: datetime, *, is_told: bool = True) -> str:
        self.made += 1
        name = f"{0x18C2F0A900000000 + self.made * 0x1001:016x}"
        self.letters[name] = Letter(raw, set(labels), at, name)
        if is_told:
            self._happen("messagesAdded", name, *labels)
        return name

    def label(self, name: str, *, add: tuple[str, ...] = (), remove: tuple[str, ...] = ()) -> None:
        letter = self.letters[name]
        letter.labels |= set(add)
        letter.labels -= set(remove)
        if add:
            self._happen("labelsAdded", name, *add)
        if remove:
            self._happen("labelsRemoved", name, *remove)

    def delete(self, name: str) -> None:
        del self.letters[name]
        self._happen("messagesDeleted", name)

    def forget(self) -> None:
        """Every place in history handed out so far is unknown from now on."""
        self.number += 1
        self.forgotten = self.number
        self.number += 1

    def _happen(self, kind: str, name: str, *labels: str) -> None:
        self.number += 7
        self.history.append(Happening(self.number, kind, name, labels))

    def reply(self, asked: Asked) -> Reply:
        match asked.path.removeprefix("/gmail/v1/users/me").split("/"):
            case ["", "profile"]:
                return Reply.of(
                    {
                        "emailAddress": ADDRESS,
                        "historyId": str(self.number),
                        "messagesTotal": len(self.letters),
                        "threadsTotal": len(self.letters),
                    }
                )
            case ["", "messages"]:
                return self._list(asked.query)
            case ["", "messages", name]:
                return self._get(name, asked.query.get("format", "full"))
            case ["", "history"]:
                return self._history(asked.query)
        return error(404, "notFound")

    def _list(self, query: Mapping[str, str]) -> Reply:
        wanted = query.get("labelIds")
        names = [
            name
            for name, letter in sorted(self.letters.items(), key=lambda pair: (pair[1].at, pair[0]), reverse=True)
            if not letter.labels & {"SPAM", "TRASH"} and (wanted is None or wanted in letter.labels) and not self.blind
        ]
        first = int(query.get("pageToken", "0"))
        size = min(self.page, int(query["maxResults"]))
        shown = [{"id": name, "threadId": self.letters[name].thread} for name in names[first : first + size]]
        answer: dict[str, Any] = {"resultSizeEstimate": len(names)}
        if shown:
            answer["messages"] = shown
        if first + size < len(names):
            answer["nextPageToken"] = str(first + size)
        return Reply.of(answer)

    def _get(self, name: str, form: str) -> Reply:
        letter = self.letters.get(name)
        if letter is None or name in self.vanishing:
            return error(404, "notFound")
        answer: dict[str, Any] = {
            "id": name,
            "threadId": letter.thread,
            "labelIds": sorted(letter.labels),
            "snippet": "",
            "historyId": str(self.number),
            "internalDate": str(int(letter.at.timestamp() * 1000)),
            "sizeEstimate": len(letter.raw or b""),
        }
        if form == "raw" and letter.raw is not None:
            answer["raw"] = base64.urlsafe_b64encode(letter.raw).decode().rstrip("=")
        return Reply.of(answer)

    def _history(self, query: Mapping[str, str]) -> Reply:
        start = int(query["startHistoryId"])
        if start <= self.forgotten:
            return error(404, "notFound")
        after = [each for each in self.history if each.number > start]
        first = int(query.get("pageToken", "0"))
        answer: dict[str, Any] = {"historyId": str(self.number)}
        if self.empty_pages and after and "pageToken" not in query:
            answer["nextPageToken"] = "0"  # a page without history, as Gmail gives now and then
            return Reply.of(answer)
        if shown := after[first : first + self.page]:
            answer["history"] = [self._told(each) for each in shown]
        if first + self.page < len(after):
            answer["nextPageToken"] = str(first + self.page)
        return Reply.of(answer)

    def _told(self, each: Happening) -> dict[str, Any]:
        message: dict[str, Any] = {"id": each.message, "threadId": each.message}
        change: dict[str, Any] = {"message": message}
        if each.kind == "messagesAdded":
            change["message"] = {**message, "labelIds": list(each.labels)}
        elif each.labels:
            change["labelIds"] = list(each.labels)
        return {"id": str(each.number), "messages": [message], each.kind: [change]}


@dataclass
class Calendar:
    """``events``: what is there, and the tombstones of what was; ``changed``: the number of the last change of each."""

    entry: dict[str, Any]
    events: dict[str, dict[str, Any]] = field(default_factory=dict)
    changed: dict[str, int] = field(default_factory=dict)


class FakeCalendar(_Google):
    """``page``: the most that a page holds."""

    document = "calendar.v3"

    def __init__(self, page: int = 3) -> None:
        super().__init__()
        self.page = page
        self.number = 0
        self.generation = 1
        self.calendars: dict[str, Calendar] = {}
        self.asked_with: dict[str, Mapping[str, str]] = {}
        self.forgets_deleted = False
        """A removed event is a 404, not a tombstone, when it is asked for."""
        self.blind = False
        self.open(ADDRESS, primary=True, summary="Nora")

    def open(self, name: str, *, role: str = "owner", zone: str = "Europe/Berlin", **more: Any) -> None:
        entry = {"kind": "calendar#calendarListEntry", "id": name, "accessRole": role, "timeZone": zone, **more}
        self.calendars[name] = Calendar({"summary": name, **entry})

    def close_calendar(self, name: str) -> None:
        del self.calendars[name]

    def put(self, event: Mapping[str, Any], calendar: str = ADDRESS) -> None:
        self.number += 1
        held = self.calendars[calendar]
        moment = datetime(2026, 3, 1, tzinfo=UTC).isoformat().replace("+00:00", "Z")
        complete = {
            "kind": "calendar#event",
            "etag": f'"{self.number}"',
            "status": "confirmed",
            "iCalUID": f"{event.get('recurringEventId', event['id'])}@google.com",
            "htmlLink": f"https://calendar.example/event?eid={event['id']}",
            "created": moment,
            "updated": moment,
            "sequence": 0,
            **event,
        }
        held.events[event["id"]] = {key: value for key, value in complete.items() if value is not None}
        held.changed[event["id"]] = self.number

    def remove(self, name: str, calendar: str = ADDRESS) -> None:
        """What is left of it is a tombstone. A series takes its exceptions along."""
        self.number += 1
        held = self.calendars[calendar]
        for key, event in list(held.events.items()):
            if key == name or event.get("recurringEventId") == name:
                tombstone = {"kind": "calendar#event", "etag": f'"{self.number}"', "id": key, "status": "cancelled"}
                held.events[key] = tombstone
                held.changed[key] = self.number

    def forget(self) -> None:
        """Every sync token handed out so far is unknown from now on."""
        self.generation += 1

    def reply(self, asked: Asked) -> Reply:
        match [unquote(part) for part in asked.path.removeprefix("/calendar/v3/").split("/")]:
            case ["users", "me", "calendarList"]:
                return self._calendars(asked.query)
            case ["users", "me", "calendarList", name] if name in self.calendars:
                return Reply.of(self.calendars[name].entry)
            case ["calendars", name, "events"] if name in self.calendars:
                return self._events(self.calendars[name], asked.query)
            case ["calendars", name, "events", event] if name in self.calendars:
                return self._event(self.calendars[name], event)
        return error(404, "notFound")

    def _calendars(self, query: Mapping[str, str]) -> Reply:
        names = list(self.calendars)
        first = int(query.get("pageToken", "0"))
        shown = [self.calendars[name].entry for name in names[first : first + self.page]]
        answer: dict[str, Any] = {"kind": "calendar#calendarList", "items": shown}
        if first + self.page < len(names):
            answer["nextPageToken"] = str(first + self.page)
        else:
            answer["nextSyncToken"] = f"calendars-{self.number}"
        return Reply.of(answer)

    def _event(self, calendar: Calendar, name: str) -> Reply:
        event = calendar.events.get(name)
        if event is None or (event["status"] == "cancelled" and self.forgets_deleted):
            return error(404, "notFound")
        return Reply.of(event)

    def _events(self, calendar: Calendar, query: Mapping[str, str]) -> Reply:
        token = query.get("syncToken", "")
        forbidden = {"timeMin", "timeMax", "orderBy", "q", "iCalUID", "updatedMin"}
        if token and forbidden & set(query):
            return error(400, "invalid")
        since: int | None = None
        if token:
            generation, _, place = token.partition("-")
            if generation != str(self.generation):
                return error(410, "fullSyncRequired", domain="calendar")
            since = int(place)
        self._compare(token, query)
        shown = [
            copy.deepcopy(event) for name, event in self._sorted(calendar) if self._is_shown(calendar, name, since)
        ]
        first = int(query.get("pageToken", "0"))
        size = min(self.page, int(query.get("maxResults", "250")))
        answer: dict[str, Any] = {
            "kind": "calendar#events",
            "etag": f'"{self.number}"',
            "summary": calendar.entry["summary"],
            "timeZone": calendar.entry["timeZone"],
            "accessRole": calendar.entry["accessRole"],
            "defaultReminders": [],
            "items": [] if self.blind else shown[first : first + size],
        }
        if first + size < len(shown) and not self.blind:
            answer["nextPageToken"] = str(first + size)
        else:
            answer["nextSyncToken"] = f"{self.generation}-{self.number}"
            self.asked_with[answer["nextSyncToken"]] = _kept(query)
        return Reply.of(answer)

    def _sorted(self, calendar: Calendar) -> list[tuple[str, dict[str, Any]]]:
        return sorted(calendar.events.items(), key=lambda pair: calendar.changed[pair[0]])

    def _is_shown(self, calendar: Calendar, name: str, since: int | None) -> bool:
        """A full list has no tombstones but the dates that a living series leaves out."""
        event = calendar.events[name]
        if since is not None:
            return calendar.changed[name] > since
        series = event.get("recurringEventId")
        is_exception = series in calendar.events and calendar.events[series]["status"] != "cancelled"
        return event["status"] != "cancelled" or is_exception

    def _compare(self, token: str, query: Mapping[str, str]) -> None:
        """A sync token goes with the parameters of the list that it came from."""
        if token in self.asked_with and self.asked_with[token] != _kept(query):
            self.violations.append(f"events.list: {_kept(query)} with the token of {self.asked_with[token]}")


def _kept(query: Mapping[str, str]) -> Mapping[str, str]:
    return {key: value for key, value in query.items() if key not in ("syncToken", "pageToken")}
