"""Google and Microsoft as tools change them: what is sent, labelled, moved and answered, checked like the rest."""

from __future__ import annotations

import base64
import email
import re
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

from actions.tools.graph_calendar import KEY_PROPERTY
from extractors.testing.standin import Asked, Reply
from tests.standins.google import ADDRESS, FakeCalendar, FakeGmail, error
from tests.standins.graph import FakeGraph, FakeMail, meeting, violations

_AT = datetime(2026, 3, 2, 9, tzinfo=UTC)


def _id(raw: bytes) -> str:
    return str(email.message_from_bytes(raw)["Message-ID"]).strip()


class ActingGmail(FakeGmail):
    """``renames``: it gives sent mail a Message-ID of its own, as Gmail does. ``own``: labels of the person."""

    may_write = True

    def __init__(self) -> None:
        super().__init__(page=50)
        self.own: dict[str, str] = {}
        self.renames = False
        self.sent: list[bytes] = []

    def reply(self, asked: Asked) -> Reply:
        path = asked.path.removeprefix("/gmail/v1/users/me/").split("/")
        match asked.method, path:
            case "POST", ["messages", "send"]:
                return self._send(base64.urlsafe_b64decode(asked.json()["raw"]))
            case "POST", ["messages", name, "modify"]:
                self.label(name, add=tuple(asked.json()["addLabelIds"]), remove=tuple(asked.json()["removeLabelIds"]))
                return Reply.of({"id": name, "labelIds": sorted(self.letters[name].labels)})
            case "GET", ["labels"]:
                listed = [{"id": name, "name": title, "type": "user"} for name, title in self.own.items()]
                return Reply.of({"labels": [{"id": "INBOX", "name": "INBOX", "type": "system"}, *listed]})
            case "POST", ["labels"]:
                name = f"Label_{len(self.own) + 1}"
                self.own[name] = asked.json()["name"]
                return Reply.of({"id": name, "name": self.own[name]})
            case "GET", ["messages"]:
                return self._search(asked)
            case "GET", ["messages", name] if asked.query.get("format") == "metadata":
                return self._headers(name)
        return super().reply(asked)

    def _send(self, raw: bytes) -> Reply:
        self.sent.append(raw)
        if self.renames:
            raw = re.sub(rb"Message-ID: <[^>]*>", b"Message-ID: <CAB+renamed@mail.gmail.com>", raw)
        name = self.add(raw, ("SENT",), _AT)
        return Reply.of({"id": name, "threadId": name, "labelIds": ["SENT"]})

    def _search(self, asked: Asked) -> Reply:
        wanted = re.search(r"rfc822msgid:(\S+)", asked.query.get("q", ""))
        sent_only = "in:sent" in asked.query.get("q", "") or asked.query.get("labelIds") == "SENT"
        names = [
            name
            for name, letter in self.letters.items()
            if (not sent_only or "SENT" in letter.labels)
            and (wanted is None or _id(letter.raw or b"").strip("<>") == wanted[1])
        ]
        return Reply.of({"messages": [{"id": name, "threadId": name} for name in names], "resultSizeEstimate": 1})

    def _headers(self, name: str) -> Reply:
        parsed = email.message_from_bytes(self.letters[name].raw or b"")
        key = parsed["X-Forewatch-Key"]
        headers = [{"name": "X-Forewatch-Key", "value": key}] if key else []
        return Reply.of({"id": name, "payload": {"headers": headers}})


class ActingCalendar(FakeCalendar):
    """``told``: whom Google wrote to."""

    may_write = True

    def __init__(self) -> None:
        super().__init__(page=50)
        self.calendars["primary"] = self.calendars[ADDRESS]
        self.told: list[str] = []

    def reply(self, asked: Asked) -> Reply:
        path = asked.path.removeprefix("/calendar/v3/calendars/primary/events").strip("/")
        held = self.calendars["primary"].events
        match asked.method, unquote(path):
            case "GET", "" if "iCalUID" in asked.query:
                found = [each for each in held.values() if each.get("iCalUID") == asked.query["iCalUID"]]
                return Reply.of({"kind": "calendar#events", "items": found})
            case "POST", "":
                return self._insert(asked)
            case "PATCH", name if name in held:
                if asked.headers.get("if-match") != held[name]["etag"]:
                    return error(412, "conditionNotMet")
                self._tell(asked, held[name])
                self.put({**held[name], **asked.json()}, "primary")
                return Reply.of(held[name])
            case "DELETE", name if name in held:
                self._tell(asked, held[name])
                self.remove(name, "primary")
                return Reply(204)
        return super().reply(asked)

    def _insert(self, asked: Asked) -> Reply:
        entry = asked.json()
        if entry["id"] in self.calendars["primary"].events:
            return error(409, "duplicate")
        organiser = {"email": ADDRESS, "self": True}
        people = [{"responseStatus": "needsAction", **each} for each in entry.get("attendees", [])]
        self.put({**entry, "organizer": organiser, **({"attendees": people} if people else {})}, "primary")
        self._tell(asked, entry)
        return Reply.of(self.calendars["primary"].events[entry["id"]])

    def _tell(self, asked: Asked, entry: dict[str, Any]) -> None:
        if asked.query.get("sendUpdates") == "all":
            self.told += [each["email"] for each in entry.get("attendees", []) if not each.get("self")]


class ActingGraph(FakeGraph):
    """``slow``: a sent draft stays one until it is asked for a second time. ``answers``: what organisers were told."""

    def __init__(self) -> None:
        super().__init__(page=50)
        self.delivered: list[bytes] = []
        self.answers: list[str] = []
        self.categories: dict[str, list[str]] = {}
        self.keys: dict[str, str] = {}
        self.calendar("default", "Calendar")

    def answer(self, asked: Asked) -> Reply:
        token = asked.headers.get("authorization", "").removeprefix("Bearer ")
        if token not in self.tokens or "ImmutableId" not in asked.headers.get("prefer", ""):
            return super().answer(asked)
        found = self._changed(asked, [unquote(part) for part in asked.path.removeprefix("/v1.0/").split("/")])
        return found if found is not None else super().answer(asked)

    def _changed(self, asked: Asked, parts: list[str]) -> Reply | None:
        match asked.method, parts:
            case "GET", ["me", "messages"]:
                wanted = asked.query["$filter"].removeprefix("internetMessageId eq '").removesuffix("'")
                found = [mail for mail in self.mails.values() if _id(mail.raw) == wanted]
                return Reply.of({"@odata.context": "$metadata", "value": [self._mail(mail) for mail in found]})
            case "POST", ["me", "messages"]:
                mail = self.deliver(base64.b64decode(asked.body), _AT, "drafts", is_draft=True)
                return Reply.of({"@odata.context": "$metadata", **self._mail(mail)}, 201)
            case "POST", ["me", "messages", name, "send"]:
                self.delivered.append(self.mails[name].raw)
                self.mails[name].is_draft = False
                self.move(self.mails[name], "sentitems")
                return Reply(202)
            case "POST", ["me", "messages", name, "move"]:
                target = asked.json()["destinationId"]
                known = {each.id: key for key, each in self.folders.items()}
                self.move(self.mails[name], known.get(target, target))
                return Reply.of({"@odata.context": "$metadata", **self._mail(self.mails[name])}, 201)
            case "PATCH", ["me", "messages", name]:
                return self._patched(asked.json(), self.mails[name])
            case "GET", ["me", "mailFolders"] if "$filter" in asked.query:
                title = asked.query["$filter"].removeprefix("displayName eq '").removesuffix("'")
                shown = [self._shown(each) for each in self.folders.values() if each.name.lower() == title.lower()]
                return Reply.of({"@odata.context": "$metadata", "value": shown})
            case _, ["me", "events", *rest]:
                return self._event(asked, rest)
        return None

    def _mail(self, mail: FakeMail) -> dict[str, Any]:
        place = {"categories": self.categories.get(mail.id, []), "parentFolderId": mail.folder}
        kept = {key: value for key, value in mail.shown().items() if key != "receivedDateTime"}
        return {**kept, **place}

    def _patched(self, change: dict[str, Any], mail: FakeMail) -> Reply:
        if "categories" in change:
            self.categories[mail.id] = change["categories"]
        if "isRead" in change:
            self.mark(mail, is_read=change["isRead"])
        if "flag" in change:
            self.mark(mail, is_flagged=change["flag"]["flagStatus"] == "flagged")
        return Reply.of({"@odata.context": "$metadata", **self._mail(mail)})

    def _event(self, asked: Asked, rest: list[str]) -> Reply:
        held = self.events["default"]
        match asked.method, rest:
            case "GET", []:
                shown = [each for each in held.values() if self._is_meant(each, asked.query["$filter"])]
                return Reply.of({"@odata.context": "$metadata", "value": shown})
            case "POST", []:
                return self._insert(asked.json())
            case "PATCH", [name]:
                self.put_event("default", {**held[name], **asked.json()})
                return Reply.of({"@odata.context": "$metadata", **held[name]})
            case "DELETE", [name]:
                self.drop_event("default", name)
                return Reply(204)
            case "POST", [name, "cancel"]:
                self.answers += [f"cancelled: {each['emailAddress']['address']}" for each in held[name]["attendees"]]
                self.drop_event("default", name)
                return Reply(202)
            case "POST", [name, word]:
                said = {"accept": "accepted", "decline": "declined", "tentativelyAccept": "tentativelyAccepted"}[word]
                self.put_event("default", {**held[name], "responseStatus": {"response": said}})
                self.answers.append(said)
                return Reply(202)
        return error(404, "ErrorItemNotFound")

    def _is_meant(self, event: dict[str, Any], question: str) -> bool:
        if question.startswith("iCalUId"):
            return question == f"iCalUId eq '{event['iCalUId']}'"
        return KEY_PROPERTY in question and f"'{self.keys.get(event['id'], '-')}'" in question

    def _insert(self, given: dict[str, Any]) -> Reply:
        key = given["transactionId"]
        name = f"AAMk-{key}"
        if name not in self.events["default"]:
            self.keys[name] = given["singleValueExtendedProperties"][0]["value"]
            mine = {each: given[each] for each in ("subject", "start", "end", "location", "attendees")}
            whole = {**meeting(name, "", datetime(2026, 3, 2, tzinfo=UTC)), **mine}
            self.put_event("default", {each: whole[each] for each in whole if each != "body"})
        return Reply.of({"@odata.context": "$metadata", **self.events["default"][name]}, 201)

    def check(self, asked: Asked, reply: Reply) -> list[str]:
        found = super().check(asked, reply)
        if asked.method in ("POST", "PATCH") and asked.headers.get("content-type") == "application/json":
            rest = asked.path.removeprefix("/v1.0/me/").split("/")
            if len(rest) < 3:
                found += violations("Message" if rest[0] == "messages" else "Event", asked.json())
        return found
