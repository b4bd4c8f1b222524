"""A small CalDAV server in memory, with the habits of real ones to choose from."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from urllib.parse import quote, unquote
from xml.sax.saxutils import escape

from lxml import etree

from extractors.testing.standin import Asked, Reply, StandIn

USER, PASSWORD = "nora", "s3cret"
HOME = f"/dav/calendars/{USER}/"
PRINCIPAL = f"/dav/principals/{USER}/"

_D, _C = "{DAV:}", "{urn:ietf:params:xml:ns:caldav}"
_NAMES = 'xmlns="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav" xmlns:s="http://calendarserver.org/ns/"'


@dataclass
class Calendar:
    """``changed``: by name, when it last changed or was removed, in order."""

    title: str
    components: Sequence[str] = ("VEVENT", "VTODO")
    owner: str = PRINCIPAL
    objects: dict[str, bytes] = field(default_factory=dict)
    changed: dict[str, int] = field(default_factory=dict)
    clock: int = 0

    def put(self, name: str, raw: bytes) -> None:
        self.objects[name] = raw
        self._touch(name)

    def delete(self, name: str) -> None:
        del self.objects[name]
        self._touch(name)

    def _touch(self, name: str) -> None:
        self.clock += 1
        self.changed.pop(name, None)
        self.changed[name] = self.clock

    def etag(self, name: str) -> str:
        return f'"{sha256(self.objects[name]).hexdigest()[:12]}"'


class CaldavStandIn(StandIn):
    """``syncs``: knows sync-collection, else it answers ``unable``. ``has_marks``: shows sync tokens and ctags.
    ``dead``: status for a token that it does not know. ``cut``: at most so many changes in an answer, with a 507
    (``says_so``) or without. ``buries``: lists removed objects even from the beginning. ``homes``: what it says where
    the calendars are. ``vanished``, ``broken``: names that are listed, but then not found or answered with 500.
    ``open``: asks for no password."""

    def __init__(self) -> None:
        super().__init__()
        self.calendars: dict[str, Calendar] = {}
        self.syncs = True
        self.has_marks = True
        self.dead = 403
        self.cut = 0
        self.says_so = True
        self.buries = False
        self.homes: list[str] = [HOME]
        self.vanished: set[str] = set()
        self.broken: set[str] = set()
        self.unable = 415
        self.epoch = 1
        self.well_known = "/dav/"
        self.open = False

    def lose_cursors(self) -> None:
        self.epoch += 1

    def requests(self, since: int = 0) -> list[str]:
        """What was asked, in short: method and, for a report, its name."""
        return [_kind(asked) for asked in self.asked[since:]]

    def answer(self, asked: Asked) -> Reply:
        if asked.path == "/.well-known/caldav":
            return Reply(301, headers={"Location": self.well_known})
        if not self.open and not _knows_password(asked):
            return Reply(401, b"who are you?", {"WWW-Authenticate": 'Basic realm="x"'})
        path = unquote(asked.path)
        if asked.method == "GET":
            return self._object(path)
        if asked.method == "PROPFIND":
            return self._propfind(path, asked.headers.get("depth", "0"))
        if asked.method != "REPORT":
            return Reply(405)
        calendar = self._at(path)
        if calendar is None:
            return Reply(404)
        document = etree.fromstring(asked.body)
        if document.tag == _D + "sync-collection":
            return self._sync(path, calendar, document.findtext(_D + "sync-token") or "")
        return self._multiget(calendar, [href.text or "" for href in document.iter(_D + "href")])

    def _at(self, path: str) -> Calendar | None:
        return self.calendars.get(path.removeprefix(HOME).rstrip("/")) if path.startswith(HOME) else None

    def _propfind(self, path: str, depth: str) -> Reply:
        if path in ("/", "/dav/"):
            return _multistatus([_found(path, f"<current-user-principal>{_href(PRINCIPAL)}</current-user-principal>")])
        if path == PRINCIPAL:
            homes = "".join(map(_href, self.homes))
            return _multistatus([_found(path, f"<c:calendar-home-set>{homes}</c:calendar-home-set>")])
        if path == HOME:
            parts = [_found(HOME, "<resourcetype><collection/></resourcetype>")]
            if depth == "1":
                parts += [self._about(name) for name in self.calendars]
            return _multistatus(parts)
        calendar = self._at(path)
        if calendar is None:
            return Reply(404)
        name = path.removeprefix(HOME).rstrip("/")
        objects = [] if depth == "0" else list(calendar.objects)
        return _multistatus([self._about(name), *(_item(path, calendar, one) for one in objects)])

    def _about(self, name: str) -> str:
        calendar = self.calendars[name]
        marks = f"<sync-token>{self._token(calendar)}</sync-token><s:getctag>{self._token(calendar)}</s:getctag>"
        report = "<supported-report><report><sync-collection/></report></supported-report>" if self.syncs else ""
        held = "".join(f'<c:comp name="{component}"/>' for component in calendar.components)
        return _found(
            f"{HOME}{name}/",
            "<resourcetype><collection/><c:calendar/></resourcetype>"
            f"<displayname>{escape(calendar.title)}</displayname>"
            f"<owner>{_href(calendar.owner)}</owner>"
            f"<current-user-principal>{_href(PRINCIPAL)}</current-user-principal>"
            f"<supported-report-set>{report}<supported-report><report><c:calendar-multiget/></report></supported-report>"
            f"</supported-report-set><c:supported-calendar-component-set>{held}</c:supported-calendar-component-set>"
            + (marks if self.has_marks else ""),
        )

    def _token(self, calendar: Calendar, clock: int | None = None) -> str:
        return f"data:,{self.epoch}-{calendar.clock if clock is None else clock}"

    def _sync(self, path: str, calendar: Calendar, token: str) -> Reply:
        if not self.syncs:
            return Reply(self.unable, b"what?")
        epoch, _, clock = token.removeprefix("data:,").partition("-")
        if token and (epoch != str(self.epoch) or not clock.isdecimal()):
            body = f"<error {_NAMES}><valid-sync-token/></error>".encode()
            return Reply(self.dead, body, {"Content-Type": "application/xml"})
        since = int(clock or 0)
        fresh = [(name, at) for name, at in calendar.changed.items() if at > since]
        fresh = [(name, at) for name, at in fresh if token or self.buries or name in calendar.objects]
        given = fresh[: self.cut] if self.cut else fresh
        reached = given[-1][1] if len(given) < len(fresh) else calendar.clock
        parts = [_item(path, calendar, name) for name, _ in given]
        if len(given) < len(fresh) and self.says_so:
            parts.append(_status(path, 507))
        return _multistatus(parts, self._token(calendar, reached))

    def _multiget(self, calendar: Calendar, hrefs: Sequence[str]) -> Reply:
        names = {href: unquote(href).rpartition("/")[2] for href in hrefs}
        if self.broken & set(names.values()):
            return Reply(500, b"oops")
        parts = []
        for href, name in names.items():
            if name in self.vanished or name not in calendar.objects:
                parts.append(_status(href, 404))
            else:
                data = escape(calendar.objects[name].decode())
                tag = calendar.etag(name)
                parts.append(_found(href, f"<getetag>{tag}</getetag><c:calendar-data>{data}</c:calendar-data>"))
        return _multistatus(parts)

    def _object(self, path: str) -> Reply:
        folder, _, name = path.rpartition("/")
        calendar = self._at(folder)
        if calendar is None or name not in calendar.objects or name in self.vanished:
            return Reply(404)
        if name in self.broken:
            return Reply(500, b"oops")
        return Reply(200, calendar.objects[name], {"ETag": calendar.etag(name), "Content-Type": "text/calendar"})


def _knows_password(asked: Asked) -> bool:
    given = asked.headers.get("authorization", "")
    return given == "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()


def _kind(asked: Asked) -> str:
    if asked.method != "REPORT":
        return asked.method
    return etree.QName(etree.fromstring(asked.body)).localname


def _href(path: str) -> str:
    return f"<href>{escape(path)}</href>"


def _item(path: str, calendar: Calendar, name: str) -> str:
    href = path.rstrip("/") + "/" + name
    if name not in calendar.objects:
        return _status(href, 404)
    return _found(href, f"<getetag>{calendar.etag(name)}</getetag><resourcetype/>")


def _found(path: str, props: str) -> str:
    status = "<status>HTTP/1.1 200 OK</status>"
    return f"<response>{_href(quote(unquote(path)))}<propstat><prop>{props}</prop>{status}</propstat></response>"


def _status(path: str, status: int) -> str:
    return f"<response>{_href(quote(unquote(path)))}<status>HTTP/1.1 {status} So it is</status></response>"


def _multistatus(parts: Sequence[str], token: str = "") -> Reply:
    last = f"<sync-token>{token}</sync-token>" if token else ""
    body = f'<?xml version="1.0"?><multistatus {_NAMES}>{"".join(parts)}{last}</multistatus>'
    return Reply(207, body.encode(), {"Content-Type": "application/xml; charset=utf-8"})
