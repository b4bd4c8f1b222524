"""A JMAP server on this machine: sessions, queries with anchors, changes with states, blobs; every exchange checked."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from extractors.testing.standin import Asked, Reply, StandIn
from tests.standins import jmap_contract

CORE, MAIL = "urn:ietf:params:jmap:core", "urn:ietf:params:jmap:mail"
ACCOUNT = "u1"
ROLES = {"inbox": "Inbox", "sent": "Sent", "drafts": "Drafts", "trash": "Trash", "junk": "Junk Mail"}


@dataclass
class FakeEmail:
    id: str
    raw: bytes
    received: datetime
    mailboxes: set[str]
    keywords: set[str] = field(default_factory=set)
    size: int = 0

    def shown(self, properties: list[str]) -> dict[str, Any]:
        whole = {
            "id": self.id,
            "blobId": f"G{self.id}",
            "threadId": f"T{self.id}",
            "mailboxIds": dict.fromkeys(sorted(self.mailboxes), True),
            "keywords": dict.fromkeys(sorted(self.keywords), True),
            "receivedAt": f"{self.received:%Y-%m-%dT%H:%M:%SZ}",
            "size": self.size or len(self.raw),
        }
        return {name: value for name, value in whole.items() if name in ("id", *properties)}


class MethodFailed(Exception):
    """The type of a method-level error."""


class FakeJmap(StandIn):
    """``objects``, ``calls``: the limits of the session. ``floor``: states before it are forgotten. ``page``: the most
    ids that a query gives, and changes that an answer holds."""

    def __init__(self, *, page: int = 2, objects: int = 3, calls: int = 4) -> None:
        super().__init__()
        self.page, self.objects, self.calls = page, objects, calls
        self.mailboxes = {role: {"id": f"mb-{role}", "name": name, "role": role} for role, name in ROLES.items()}
        self.emails: dict[str, FakeEmail] = {}
        self.log: list[tuple[str, str]] = []
        self.base = 100
        self.floor = 0
        self.made = 0
        self.passwords = {"Bearer good"}
        self.failing: dict[str, str] = {}
        self.overrides: dict[str, Reply] = {}
        self.before: Callable[[str], None] = lambda method: None

    @property
    def state(self) -> int:
        return self.base + len(self.log)

    # -- what a person or a program does to the account

    def mailbox(self, id: str, name: str, parent: str = "") -> str:
        self.mailboxes[id] = {"id": f"mb-{id}", "name": name, "role": None}
        if parent:
            self.mailboxes[id]["parentId"] = self.mailboxes[parent]["id"]
        return str(self.mailboxes[id]["id"])

    def deliver(self, raw: bytes, received: datetime, *mailboxes: str, keywords: set[str] | None = None) -> FakeEmail:
        self.made += 1
        ids = {self.mailboxes[name]["id"] for name in mailboxes or ("inbox",)}
        email = FakeEmail(f"M{self.made:04}", raw, received, ids, keywords or set())
        self.emails[email.id] = email
        self.log.append(("created", email.id))
        return email

    def mark(self, email: FakeEmail, *keywords: str) -> None:
        email.keywords = set(keywords)
        self.log.append(("updated", email.id))

    def move(self, email: FakeEmail, *mailboxes: str) -> None:
        email.mailboxes = {self.mailboxes[name]["id"] for name in mailboxes}
        self.log.append(("updated", email.id))

    def destroy(self, email: FakeEmail) -> None:
        del self.emails[email.id]
        self.log.append(("destroyed", email.id))

    def lose_cursors(self) -> None:
        self.log.append(("updated", "nothing"))
        self.floor = self.state

    # -- the service

    def answer(self, asked: Asked) -> Reply:
        if asked.path == "/.well-known/jmap":
            return Reply(301, b"", {"Location": "/jmap/session"})
        if asked.headers.get("authorization") not in self.passwords:
            return Reply.of({"type": "about:blank", "status": 401}, 401)
        if asked.path in self.overrides:
            return self.overrides[asked.path]
        if asked.path == "/jmap/session":
            return Reply.of(self._session())
        if asked.path.startswith(f"/jmap/download/{ACCOUNT}/"):
            email = self.emails.get(asked.path.split("/")[4].removeprefix("G"))
            return Reply(200, email.raw, {"Content-Type": asked.query["accept"]}) if email else Reply(404)
        if asked.path == "/jmap/" and asked.method == "POST":
            return Reply.of(self._respond(asked.json()["methodCalls"]))
        return Reply(404)

    def check(self, asked: Asked, reply: Reply) -> list[str]:
        if reply.status != 200 or asked.path.startswith("/jmap/download/"):
            return []
        document = json.loads(reply.body)
        if asked.path == "/jmap/session":
            return jmap_contract.violations(jmap_contract.SESSION, document)
        request = asked.json()
        found = jmap_contract.exchange(request, document)
        if len(request["methodCalls"]) > self.calls:
            found.append("more calls than the session allows")
        return found

    def _session(self) -> dict[str, Any]:
        limits = {
            "maxSizeUpload": 50_000_000,
            "maxConcurrentUpload": 4,
            "maxSizeRequest": 10_000_000,
            "maxConcurrentRequests": 4,
            "maxCallsInRequest": self.calls,
            "maxObjectsInGet": self.objects,
            "maxObjectsInSet": 500,
            "collationAlgorithms": [],
        }
        account = {"name": "nora@example.net", "isPersonal": True, "isReadOnly": False}
        return {
            "capabilities": {CORE: limits, MAIL: {}},
            "accounts": {ACCOUNT: {**account, "accountCapabilities": {CORE: {}, MAIL: {}}}},
            "primaryAccounts": {CORE: ACCOUNT, MAIL: ACCOUNT},
            "username": "nora@example.net",
            "apiUrl": "/jmap/",
            "downloadUrl": "/jmap/download/{accountId}/{blobId}/{name}?accept={type}",
            "uploadUrl": "/jmap/upload/{accountId}/",
            "eventSourceUrl": "/jmap/eventsource/",
            "state": "0",
        }

    def _respond(self, calls: list[Any]) -> dict[str, Any]:
        responses: list[Any] = []
        for method, arguments, id in calls:
            try:
                self.before(method)
                if method in self.failing:
                    raise MethodFailed(self.failing[method])
                responses.append([method, self._call(method, self._resolved(arguments, responses)), id])
            except MethodFailed as error:
                responses.append(["error", {"type": str(error)}, id])
        return {"methodResponses": responses, "sessionState": "0"}

    def _resolved(self, arguments: dict[str, Any], responses: list[Any]) -> dict[str, Any]:
        found = {name: value for name, value in arguments.items() if not name.startswith("#")}
        for name, reference in arguments.items():
            if name.startswith("#"):
                match = [r for r in responses if r[0] == reference["name"] and r[2] == reference["resultOf"]]
                if not match:
                    raise MethodFailed("invalidResultReference")
                found[name[1:]] = match[0][1][reference["path"][1:]]
        return found

    def _call(self, method: str, arguments: dict[str, Any]) -> dict[str, Any]:
        answers = {
            "Mailbox/get": self._mailboxes,
            "Email/get": self._get,
            "Email/query": self._query,
            "Email/changes": self._changes,
        }
        return {"accountId": ACCOUNT, **answers[method](arguments)}

    def _mailboxes(self, arguments: dict[str, Any]) -> dict[str, Any]:
        def total(id: str) -> int:
            return sum(id in email.mailboxes for email in self.emails.values())

        boxes = [{**box, "totalEmails": total(box["id"])} for box in self.mailboxes.values()]
        return {"state": str(self.state), "list": boxes, "notFound": []}

    def _get(self, arguments: dict[str, Any]) -> dict[str, Any]:
        ids, properties = arguments["ids"], arguments.get("properties") or []
        if len(ids) > self.objects:
            raise MethodFailed("requestTooLarge")
        found = [self.emails[id].shown(properties) for id in ids if id in self.emails]
        return {"state": str(self.state), "list": found, "notFound": [id for id in ids if id not in self.emails]}

    def _query(self, arguments: dict[str, Any]) -> dict[str, Any]:
        after = (arguments.get("filter") or {}).get("after", "")
        emails = [email for email in self.emails.values() if f"{email.received:%Y-%m-%dT%H:%M:%SZ}" >= after]
        ids = [email.id for email in sorted(emails, key=lambda email: (email.received, email.id))]
        position = arguments.get("position", 0)
        if anchor := arguments.get("anchor"):
            if anchor not in ids:
                raise MethodFailed("anchorNotFound")
            position = ids.index(anchor) + arguments.get("anchorOffset", 0)
        limit = min(self.page, arguments.get("limit") or self.page)
        return {
            "queryState": str(self.state),
            "canCalculateChanges": False,
            "position": position,
            "ids": ids[position : position + limit],
            "limit": limit,
        }

    def _changes(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """As Cyrus does: a state from the future is no error, and the answer's state is lower."""
        since = arguments["sinceState"]
        if not since.isdigit():
            raise MethodFailed("invalidArguments")
        if int(since) < max(self.base, self.floor):
            raise MethodFailed("cannotCalculateChanges")
        size = min(self.page, arguments.get("maxChanges", self.page))
        log = self.log[int(since) - self.base :][:size]
        state = min(int(since) + len(log), self.state)
        created = {id for kind, id in self.log[int(since) - self.base :] if kind == "created"}
        kinds: dict[str, str] = {}
        for kind, id in log:
            if id in created and id not in self.emails:
                continue  # created and destroyed since: not a word of it, as RFC 8620 wishes (section 5.2)
            kinds[id] = "created" if kinds.get(id) == "created" and kind == "updated" else kind
        return {
            "oldState": since,
            "newState": str(state),
            "hasMoreChanges": state < self.state,
            **{
                name: [id for id, kind in kinds.items() if kind == name] for name in ("created", "updated", "destroyed")
            },
        }


def basic(user: str, password: str) -> str:
    return f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"
