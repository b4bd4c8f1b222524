"""A business system that is what a definition says: its paths, its paging, its filters, its credentials."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlencode
from zoneinfo import ZoneInfo

from extractors.rest import Rest
from extractors.rest.auth import BasicAuth, BearerAuth, ClientCredentials, HeaderKey, NoAuth
from extractors.rest.config import RestConfig
from extractors.rest.definition import Definition, Stream
from extractors.rest.expression import search
from extractors.rest.loader import load
from extractors.rest.pagination import Cursors, JsonLink, LinkHeader, Offsets, PageNumbers, Relay
from extractors.rest.stamp import Stamps
from extractors.testing import START, Key, Poll, context_for, events_of, poll, records_of
from extractors.testing.standin import Asked, Reply, StandIn
from schemas.event import Event
from schemas.model import Json

SECRETS = {
    "token": "t0ken",
    "api_key": "k3y",
    "username": "nora",
    "password": "s3cret",
    "client_id": "app",
    "client_secret": "app-s3cret",
}
ACCESS = "access-1"
"""The OAuth access token that is taken."""


@dataclass
class Held:
    """A row, and what it hangs on: the values of a foreach stream's path."""

    row: dict[str, Any]
    bind: Mapping[str, str] = field(default_factory=dict)


class SystemStandIn(StandIn):
    """``page``: rows it gives at a time, whatever is asked for. ``before`` is called with each listing request before
    it is answered. ``epoch``: tokens of another one are gone. ``extra`` is merged into every listing's body."""

    def __init__(self, definition: Definition, settings: Mapping[str, str] | None = None, page: int = 2) -> None:
        super().__init__()
        self.definition = definition
        self.settings = settings or {}
        self.page = page
        self.held: dict[str, list[Held]] = {stream.name: [] for stream in definition.streams}
        self.before: Callable[[Asked], None] = lambda asked: None
        self.epoch = 1
        self.access = ACCESS
        self.extra: dict[str, Any] = {}
        self.lists: list[str] = []

    def rows(self, stream: str) -> list[dict[str, Any]]:
        return [held.row for held in self.held[stream]]

    def put(self, stream: str, row: dict[str, Any], **bind: str) -> dict[str, Any]:
        self.held[stream].append(Held(row, bind))
        return row

    def answer(self, asked: Asked) -> Reply:
        if asked.path.endswith("/oauth/token"):
            return Reply.of({"access_token": self.access, "token_type": "bearer", "expires_in": 300})
        if not self._is_let_in(asked):
            return Reply.of({"error": {"code": "unauthorized"}}, 401)
        for stream in self.definition.streams:
            bind = self._bind(stream, asked)
            if bind is not None:
                self.lists.append(stream.name)
                self.before(asked)
                return self._listing(stream, bind, asked)
        return Reply.of({"error": {"code": "no_such_path"}}, 404)

    def lose_cursors(self) -> None:
        self.epoch += 1

    def _is_let_in(self, asked: Asked) -> bool:
        match self.definition.auth:
            case NoAuth():
                return True
            case BasicAuth():
                pair = base64.b64encode(f"{SECRETS['username']}:{SECRETS['password']}".encode()).decode()
                return asked.headers.get("authorization") == f"Basic {pair}"
            case BearerAuth():
                return asked.headers.get("authorization") == f"Bearer {SECRETS['token']}"
            case HeaderKey(place="header", name=name, prefix=prefix):
                return asked.headers.get(name.lower()) == prefix + SECRETS["api_key"]
            case HeaderKey(name=name):
                return asked.query.get(name) == SECRETS["api_key"]
            case ClientCredentials() | _:
                return asked.headers.get("authorization") == f"Bearer {self.access}"

    def _bind(self, stream: Stream, asked: Asked) -> dict[str, str] | None:
        if self.definition.kind == "graphql":
            return {} if asked.method == "POST" and asked.json().get("query") == stream.document else None
        pattern = re.escape(stream.path).replace(r"\{", "{").replace(r"\}", "}").replace(r"\.", ".")
        for name, value in self.settings.items():
            pattern = pattern.replace(f"{{config.{name}}}", re.escape(value))
        found = re.fullmatch(re.sub(r"\{(?:bind\.)?(\w+)\}", r"(?P<\1>[^/]+)", pattern), asked.path)
        return None if found is None else {name: unquote(value) for name, value in found.groupdict().items()}

    def _listing(self, stream: Stream, bind: Mapping[str, str], asked: Asked) -> Reply:
        values = self._values(asked)
        rows = [held.row for held in self.held[stream.name] if all(held.bind.get(k) == v for k, v in bind.items())]
        rows = self._chosen(stream, rows, values)
        at = self._position(stream, values)
        if at is None:
            return Reply.of({"error": {"code": "cursor_expired"}}, 410)
        part, document, headers = rows[at : at + self.page], dict(self.extra), {}
        _put_items(document, stream.records, part)
        self._point_on(stream, document, headers, at, len(part), len(rows), asked)
        return Reply.of(document, **headers)

    def _values(self, asked: Asked) -> dict[str, Any]:
        body = asked.json() if asked.body else {}
        return {**asked.query, **(body.get("variables", {}) if self.definition.kind == "graphql" else body)}

    def _chosen(self, stream: Stream, rows: list[dict[str, Any]], values: Mapping[str, Any]) -> list[dict[str, Any]]:
        incremental = stream.incremental
        if incremental is None:
            return rows
        stamps = Stamps(incremental.format, ZoneInfo(self.definition.zone or "Europe/Berlin"))

        def stamp(row: dict[str, Any]) -> int:
            return stamps.read(search(incremental.field, row))

        if incremental.param in values:
            low = stamps.read(values[incremental.param])
            rows = [row for row in rows if stamp(row) >= low + (not incremental.inclusive)]
        return sorted(rows, key=stamp) if incremental.order else rows

    def _position(self, stream: Stream, values: Mapping[str, Any]) -> int | None:
        """None for a token that is gone."""
        match stream.paginate:
            case PageNumbers(param=param, start=start):
                return (int(values.get(param, start)) - start) * self.page
            case Offsets(param=param):
                return int(values.get(param, 0))
            case Cursors(param=param) | Relay(param=param):
                token = values.get(param)
            case _:
                token = values.get("token")
        if token is None:
            return 0
        epoch, _, offset = str(token).partition(":")
        return int(offset) if epoch == str(self.epoch) else None

    def _point_on(
        self,
        stream: Stream,
        document: dict[str, Any],
        headers: dict[str, str],
        at: int,
        given: int,
        all: int,
        asked: Asked,
    ) -> None:
        has_more = at + given < all
        token = f"{self.epoch}:{at + given}" if has_more else None
        match stream.paginate:
            case PageNumbers(pages=pages):
                if pages:
                    _put(document, pages, -(-all // self.page))
            case Offsets(total=total):
                if total:
                    _put(document, total, all)
            case Cursors(cursor=cursor):
                _put(document, cursor, token)
            case Relay(info=info):
                _put(document, info, {"hasNextPage": has_more, "endCursor": token or (f"{self.epoch}:{at + given}")})
            case LinkHeader() if has_more:
                headers["Link"] = f'<{self._link(asked, token)}>; rel="next", <{self.url}/>; rel="first"'
            case JsonLink(link=link):
                _put(document, link, self._link(asked, token) if has_more else None)
            case _:
                pass

    def _link(self, asked: Asked, token: str | None) -> str:
        return f"{self.url}{asked.path}?{urlencode({**asked.query, 'token': token})}"


def _put_items(document: dict[str, Any], expression: str, rows: Iterable[dict[str, Any]]) -> None:
    head, _, tail = expression.partition("[*]")
    items: list[Any] = []
    for row in rows:
        if tail:
            outer: dict[str, Any] = {}
            _put(outer, tail.strip("."), row)
            items.append(outer)
        else:
            items.append(row)
    _put(document, head, items)


def _put(document: dict[str, Any], path: str, value: Any) -> None:
    *way, last = path.split(".")
    for step in way:
        document = document.setdefault(step, {})
    document[last] = value


@dataclass
class Account:
    """An account of the rest connector at a stand-in, polled as the service would: pages kept, cursor stored."""

    system: SystemStandIn
    config: RestConfig
    key: Key
    connector: Rest
    cursor: Json = None
    slept: list[float] = field(default_factory=list)

    def poll(self, days: float = 0, cursor: Json = None, kill_after: int | None = None) -> Poll:
        context = context_for(START + timedelta(days=days))
        before = cursor if cursor is not None else self.cursor
        result = poll(self.connector, self.config, before, context, key=self.key, kill_after=kill_after)
        self.cursor = result.cursor
        return result

    def events(self, result: Poll) -> list[Event]:
        found, poison = events_of(
            self.connector, records_of(self.connector, [*result.upserts, *result.deletes], context_for()), context_for()
        )
        assert not poison
        return found


@contextmanager
def account(source: str, folder: Path, page: int = 2, **settings: str) -> Iterator[Account]:
    """``source``: the name of a definition that ships, or the text of one."""
    if "\n" in source:
        file = folder / "definition.yaml"
        file.write_text(source)
        source = str(file)
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    with SystemStandIn(load(source), settings, page) as system:
        config = RestConfig(definition=source, base_url=system.url, settings=settings, allow_private=True)
        key = Key(secrets=dict(SECRETS), tokens=lambda refused: ACCESS)
        yield Account(system, config, key, Rest(sleep=sleep), slept=slept)
