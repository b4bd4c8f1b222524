"""Checks: what a definition that has the right form may still get wrong."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from extractors.address import parse_url
from extractors.rest import graphql, template
from extractors.rest.auth import ClientCredentials
from extractors.rest.definition import Definition, ErrorRule, FullDiff, Stream
from extractors.rest.expression import Misplaced
from extractors.rest.pagination import LinkHeader, Offsets, OnePage, PageNumbers, Relay
from schemas.duration import Duration
from schemas.errors import AuthError
from schemas.suggest import did_you_mean

Path = tuple[str | int, ...]

RESERVED_HEADERS = (
    "authorization",
    "cookie",
    "proxy-authorization",
    "host",
    "content-length",
    "transfer-encoding",
    "connection",
    "accept-encoding",
)
SECRET_WORDS = ("token", "secret", "password", "api-key", "apikey", "api_key")


@dataclass(frozen=True, slots=True)
class Complaint:
    message: str
    path: Path
    remedy: str = ""
    offset: int | None = None


def complaints(definition: Definition) -> Iterator[Complaint]:
    yield from _addresses(definition)
    yield from _headers(definition)
    if definition.zone is not None and not _is_zone(definition.zone):
        yield Complaint(f"unknown time zone {definition.zone!r}", ("zone",), "use an IANA name such as 'Europe/Berlin'")
    for number, row in enumerate(definition.errors):
        yield from _error_row(row, ("errors", number))
    seen: dict[str, int] = {}
    for number, stream in enumerate(definition.streams):
        at: Path = ("streams", number)
        if stream.name in seen:
            yield Complaint(f"the stream {stream.name!r} is here twice", (*at, "name"), "give one another name")
        seen.setdefault(stream.name, number)
        yield from _stream(definition, stream, at)
    yield from _parents(definition)


def _addresses(definition: Definition) -> Iterator[Complaint]:
    yield from _template(definition.base_url, ("base_url",), (), definition.config, cursor=False)
    plain = definition.base_url.replace("{config.", "x").replace("}", "")
    for path, address in [(("base_url",), plain), *_token_url(definition)]:
        try:
            url = parse_url(address)
        except AuthError as error:
            yield Complaint(error.message, path, error.remedy)
            continue
        if url.query:
            yield Complaint("an address without a query is needed here", path, "put it into the stream's 'query'")


def _token_url(definition: Definition) -> Iterator[tuple[Path, str]]:
    if isinstance(definition.auth, ClientCredentials):
        yield ("auth", "token_url"), definition.auth.token_url


def _headers(definition: Definition) -> Iterator[Complaint]:
    for name, value in definition.http.headers.items():
        at: Path = ("http", "headers", name)
        if name.lower() in RESERVED_HEADERS or any(word in name.lower() for word in SECRET_WORDS):
            yield Complaint(f"the header {name!r} may not be set here", at, "secrets belong to 'auth'")
        if not name.replace("-", "").replace("_", "").isalnum() or not name.isascii():
            yield Complaint(f"{name!r} is no name of a header", at, "use letters, digits and '-'")
        if not (value.isascii() and value.isprintable()):
            yield Complaint(f"the header {name!r} has a value that cannot be sent", at, "use plain ASCII")


def _error_row(row: ErrorRule, at: Path) -> Iterator[Complaint]:
    if row.wait is not None and (row.wait.header is None) == (row.wait.seconds is None):
        yield Complaint("a wait has either header or seconds", (*at, "wait"))
    if row.wait is not None and row.action != "retry":
        yield Complaint(f"{row.action!r} waits for nothing", (*at, "wait"), "remove it, or say 'action: retry'")
    if row.when is None and any(200 <= status < 300 for status in row.status):
        yield Complaint("this takes every good answer for an error", (*at, "status"), "add a 'when'")


def _stream(definition: Definition, stream: Stream, at: Path) -> Iterator[Complaint]:
    yield from _templates(definition, stream, at)
    yield from _question(definition, stream, at)
    yield from _incremental(stream, at)
    if isinstance(stream.paginate, PageNumbers | Offsets):
        yield from _counted(stream, stream.paginate, at)
    if isinstance(stream.paginate, OnePage) and stream.incremental and stream.incremental.order:
        yield Complaint(
            "one page needs no order", (*at, "incremental", "order"), "add a 'paginate', or remove the order"
        )


def _question(definition: Definition, stream: Stream, at: Path) -> Iterator[Complaint]:
    if definition.kind == "graphql":
        if stream.document is None:
            yield Complaint("a graphql stream needs a 'document'", at, "write the query there")
        elif reason := graphql.refusal(stream.document):
            yield Complaint(reason, (*at, "document"), "this connector only reads: write one query")
        for key in ("query", "body"):
            if getattr(stream, key):
                yield Complaint(f"a graphql stream has no {key!r}", (*at, key), "use 'variables'")
        return
    for key in ("document", "variables"):
        if getattr(stream, key):
            yield Complaint(f"{key!r} belongs to kind: graphql", (*at, key), "say 'kind: graphql', or remove it")
    if isinstance(stream.paginate, Relay):
        yield Complaint("this pagination belongs to kind: graphql", (*at, "paginate", "type"), "use 'cursor'")
    if stream.body is not None and stream.method != "POST":
        yield Complaint("a body needs 'method: POST'", (*at, "body"), "POST is for searches: this connector only reads")
    if stream.method == "POST" and isinstance(stream.paginate, LinkHeader):
        yield Complaint("links are followed with GET", (*at, "paginate", "type"), "use 'cursor'")
    if not stream.path.startswith("/"):
        yield Complaint("a path begins with '/'", (*at, "path"), "it continues base_url")


def _incremental(stream: Stream, at: Path) -> Iterator[Complaint]:
    incremental = stream.incremental
    if incremental is None:
        return
    if stream.foreach is not None:
        yield Complaint(
            "a foreach stream is read whole each time", (*at, "incremental"), "remove it; 'every' limits the calls"
        )
    if incremental.param is None and not _has_cursor(stream):
        yield Complaint(
            "nothing tells the source where to begin", (*at, "incremental"), "give it a 'param', or use {cursor}"
        )
    if incremental.start is None:
        return
    try:
        date.fromisoformat(incremental.start)
        if incremental.format == "number":
            yield Complaint("a number does not start at a date", (*at, "incremental", "start"), "remove it")
    except ValueError:
        yield from _start(incremental.start, stream, (*at, "incremental", "start"))


def _start(text: str, stream: Stream, at: Path) -> Iterator[Complaint]:
    try:
        Duration.parse(text)
    except ValueError:
        yield Complaint(f"not a start: {text!r}", at, "write a date such as 2024-01-31, or how far back, such as 365d")
        return
    if isinstance(stream.deletions, FullDiff):
        yield Complaint(
            "rows that only became older than the start would be taken for deleted", at, "write a date instead"
        )


def _counted(stream: Stream, paginate: PageNumbers | Offsets, at: Path) -> Iterator[Complaint]:
    """Page numbers over a list that moves lose rows."""
    if (paginate.size is None) != (paginate.size_param is None):
        yield Complaint("size and size_param belong together", (*at, "paginate"), "give both, or neither")
    if isinstance(paginate, Offsets) and stream.method == "GET" and paginate.place == "body":
        yield Complaint("a GET has no body", (*at, "paginate", "in"), "remove it")
    is_safe = isinstance(stream.deletions, FullDiff) or (stream.incremental and stream.incremental.order)
    if stream.incremental is not None and not is_safe:
        yield Complaint(
            "counted pages lose rows that move while they are read",
            (*at, "paginate", "type"),
            "sort by the field of 'incremental' and say 'order: ascending' there, or add deletions: {full_diff: daily}",
        )


def _parents(definition: Definition) -> Iterator[Complaint]:
    names = [stream.name for stream in definition.streams]
    for number, stream in enumerate(definition.streams):
        if stream.foreach is None:
            continue
        at: Path = ("streams", number, "foreach", "stream")
        if stream.foreach.stream not in names:
            remedy = did_you_mean(stream.foreach.stream, names)
            yield Complaint(f"unknown stream {stream.foreach.stream!r}", at, remedy)
        elif stream not in definition.ordered():
            yield Complaint("streams wait for one another in a circle", at, "let one of them stand by itself")


def _has_cursor(stream: Stream) -> bool:
    found = (
        text for value in (stream.query, stream.body or {}, stream.variables) for _, text in template.texts(dict(value))
    )
    return any("{cursor}" in text for text in found)


def _templates(definition: Definition, stream: Stream, at: Path) -> Iterator[Complaint]:
    bind = stream.foreach.bind if stream.foreach else ()
    has_cursor = stream.incremental is not None
    yield from _template(stream.path, (*at, "path"), bind, definition.config, cursor=False)
    for key in ("query", "body", "variables"):
        for path, text in template.texts(getattr(stream, key)):
            yield from _template(text, (*at, key, *path), bind, definition.config, cursor=has_cursor)


def _template(
    text: str, at: Path, bind: Collection[str], config: Mapping[str, object], *, cursor: bool
) -> Iterator[Complaint]:
    try:
        template.check(text, bind, config, cursor=cursor)
    except Misplaced as wrong:
        yield Complaint(wrong.message, at, wrong.remedy, wrong.offset)


def _is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True
