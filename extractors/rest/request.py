"""Request: what is sent for one page of a stream. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote
from zoneinfo import ZoneInfo

from extractors.address import origin, parse_url
from extractors.rest import paging, rows, template
from extractors.rest.config import RestConfig
from extractors.rest.definition import Definition, Stream
from extractors.rest.template import Scalar, Scope
from schemas.errors import ConfigError
from schemas.model import Json


class Elsewhere(ValueError):
    """A link that leads to another origin."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One page of a stream. ``low``: the stamp from which on. ``resumed``: the position is of an earlier poll."""

    stream: Stream
    low: int | None = None
    position: Json = None
    bind: Mapping[str, Scalar] | None = None
    resumed: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    url: str
    params: Mapping[str, str | int]
    json: Json = None


class Builder:
    """Makes the requests of one account. ConfigError where its settings do not fit the definition."""

    def __init__(self, definition: Definition, config: RestConfig, owner: ZoneInfo) -> None:
        self._definition = definition
        self._owner = owner
        self._config = _settings(definition, config)
        self.base = _base(definition, config, self._config)

    def request(self, ask: Ask) -> Request:
        """template.Empty where a value cannot stand in it; Elsewhere for a stored link that leads away from here."""
        stream = ask.stream
        turn = paging.turn(stream.paginate, ask.position)
        if turn.url:
            if origin(parse_url(turn.url)) != origin(parse_url(self.base)):
                raise Elsewhere(turn.url)
            return Request("GET", turn.url, {})
        cursor = None if ask.low is None else self._bound(stream, ask.low)
        scope = Scope(ask.bind or {}, self._config, cursor)
        return self._built(stream, turn, scope)

    def _bound(self, stream: Stream, low: int) -> Scalar | None:
        """Where the source leaves out what equals the bound, one step lower."""
        if stream.incremental is None:
            return None
        stamps = rows.stamps(self._definition, stream.incremental, self._owner)
        return stamps.write(low if stream.incremental.inclusive else low - stamps.step)

    def _built(self, stream: Stream, turn: paging.Turn, scope: Scope) -> Request:
        path = template.render(stream.path, scope, _segment)
        url = self.base.rstrip("/") + path if path else self.base
        incremental = stream.incremental
        since: dict[str, str | int] = {}
        if incremental is not None and incremental.param is not None and scope.cursor is not None:
            since[incremental.param] = scope.cursor
        since_in_body = incremental is not None and incremental.place == "body"
        if self._definition.kind == "graphql":
            variables = {**_filled(stream.variables, scope), **since, **turn.values}
            return Request("POST", url, {}, {"query": stream.document, "variables": variables})
        filled = _filled(dict(stream.query), scope)
        params = {name: _parameter(value) for name, value in filled.items()}
        params |= {} if since_in_body else since
        params |= {} if turn.in_body else turn.values
        if stream.method == "GET":
            return Request("GET", url, params)
        body = {
            **_filled(stream.body or {}, scope),
            **(since if since_in_body else {}),
            **(turn.values if turn.in_body else {}),
        }
        return Request("POST", url, params, body)


def _settings(definition: Definition, config: RestConfig) -> dict[str, Scalar]:
    for name in config.settings:
        if name not in definition.config:
            raise ConfigError(f"the definition {definition.name!r} has no setting {name!r}", remedy="remove it")
    found: dict[str, Scalar] = {}
    for name, setting in definition.config.items():
        value = config.settings.get(name, setting.default)
        if value is None:
            raise ConfigError(f"the setting {name!r} is missing", remedy=setting.title or "add it to the account")
        found[name] = value
    return found


def _base(definition: Definition, config: RestConfig, settings: Mapping[str, Scalar]) -> str:
    if config.base_url:
        return config.base_url
    try:
        base = template.render(definition.base_url, Scope(config=settings), _label) or ""
    except template.Empty as error:
        raise ConfigError(f"base_url: {error}", remedy="correct the account's settings") from error
    return str(parse_url(base))


def _filled(values: Mapping[str, Json], scope: Scope) -> dict[str, Json]:
    found = template.fill(dict(values), scope)
    return found if isinstance(found, dict) else {}


def _parameter(value: Json) -> str | int:
    return str(value).lower() if isinstance(value, bool) else value if isinstance(value, int) else str(value)


def _segment(value: str) -> str:
    """One part of a path, whatever is in it."""
    if value in ("", ".", ".."):
        raise template.Empty(f"{value!r} cannot stand in a path")
    return quote(value, safe="")


def _label(value: str) -> str:
    """Part of an address: nothing that could make it another host's."""
    if not value or not all(char.isascii() and (char.isalnum() or char in "-_") for char in value):
        raise template.Empty(f"{value[:40]!r} cannot stand in an address")
    return value
