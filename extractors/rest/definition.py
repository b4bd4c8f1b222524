"""Definition: a business system described in YAML, so that reading it needs no Python."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from extractors.rest.auth import Auth, NoAuth
from extractors.rest.expression import Expression
from extractors.rest.mapped import KIND, EventMap
from extractors.rest.pagination import OnePage, Pagination, Place
from extractors.rest.stamp import Format
from schemas.duration import Duration
from schemas.model import Json, Model

_WORDS = {"hourly": "1h", "daily": "1d", "weekly": "7d"}

Parameter = str | int | bool


class Setting(Model):
    """A value that differs from account to account: ``{config.NAME}`` in templates. Without a default it must be
    given. Not for secrets."""

    title: str = Field(default="", max_length=200)
    default: str | None = Field(default=None, max_length=500)


class Rate(Model):
    calls: int = Field(ge=1, le=10_000)
    per_s: float = Field(gt=0, le=86_400)


class QuotaSetting(Model):
    """Calls that the source gives in a longer time; one is kept for the person's own request."""

    calls: int = Field(ge=2, le=10_000_000)
    per: Duration = Duration(days=1)


class HttpSettings(Model):
    """``max_body`` in bytes. ``patience_s``: waits up to this long are waited for inside a poll."""

    timeout_s: float = Field(default=30, gt=0, le=120)
    concurrency: int = Field(default=2, ge=1, le=8)
    rate: Rate | None = None
    quota: QuotaSetting | None = None
    headers: dict[str, str] = Field(default={}, max_length=20)
    max_body: int = Field(default=10_000_000, ge=1_000, le=20_000_000)
    patience_s: float = Field(default=5, ge=0, le=30)


class Wait(Model):
    """When to ask again: ``header`` holds seconds, a date, or a moment; or a fixed number of ``seconds``."""

    header: str | None = Field(default=None, max_length=80)
    format: Literal["seconds", "epoch", "epoch_ms", "date", "iso"] = "seconds"
    seconds: float | None = Field(default=None, ge=0, le=86_400)


class ErrorRule(Model):
    """What an answer means. ``when`` looks at its JSON body. retry: later. skip: there is nothing here. reauth: a
    person must connect again. missing_scope: a right is missing. restart: our place in the list is gone. fail: later,
    with ``message``."""

    status: tuple[Annotated[int, Field(ge=100, le=599)], ...] = Field(min_length=1)
    when: Expression | None = None
    action: Literal["retry", "skip", "reauth", "missing_scope", "restart", "fail"]
    wait: Wait | None = None
    message: str = Field(default="", max_length=200)


class Incremental(Model):
    """Ask only for rows whose ``field`` is at or after what was seen.

    ``param`` takes the bound (leave it out where ``{cursor}`` stands in a template). ``inclusive: false``: the source
    leaves out what equals the bound. ``order: ascending``: lists are sorted by ``field``, oldest first; then paging
    goes by the field and no change during a read can hide a row. ``start``: a date, or how far back the first read
    goes.
    """

    field: Expression
    param: Annotated[str, Field(pattern=r"^[A-Za-z$_][A-Za-z0-9_.$\[\]-]{0,60}$")] | None = None
    place: Place = Field(default="query", alias="in")
    format: Format = "iso"
    lookback: Duration = Duration()
    inclusive: bool = True
    order: Literal["ascending"] | None = None
    start: str | None = Field(default=None, max_length=40)


class ByField(Model):
    """A row that says of itself that it is deleted."""

    mode: Literal["field"]
    when: Expression


class FullDiff(Model):
    """What a whole listing lacks is gone. ``every``: how often a stream that is read incrementally is listed whole."""

    mode: Literal["full_diff"]
    every: Duration = Duration(days=1)

    @model_validator(mode="before")
    @classmethod
    def _words(cls, value: Any) -> Any:
        if isinstance(value, dict) and isinstance(value.get("every"), str):
            return {**value, "every": _WORDS.get(value["every"], value["every"])}
        return value


Deletions = Annotated[ByField | FullDiff, Field(discriminator="mode")]


class Foreach(Model):
    """One reading for each row of another stream: ``bind`` names what templates may use of that row."""

    stream: str
    where: Expression | None = None
    bind: dict[str, Expression] = Field(min_length=1, max_length=10)


class Stream(Model):
    """One list of rows. ``every``: read it no more often than this. ``drop``: fields that change without meaning."""

    name: str = Field(pattern=KIND)
    path: str = Field(default="", max_length=500)
    method: Literal["GET", "POST"] = "GET"
    query: dict[str, Parameter] = Field(default={}, max_length=50)
    body: dict[str, Json] | None = None
    document: str | None = Field(default=None, max_length=20_000)
    variables: dict[str, Json] = Field(default={}, max_length=50)
    records: Expression
    id: Expression
    paginate: Pagination = OnePage()
    max_pages: int = Field(default=2_000, ge=1, le=100_000)
    incremental: Incremental | None = None
    deletions: Deletions | None = None
    foreach: Foreach | None = None
    every: Duration | None = None
    drop: tuple[str, ...] = ()
    map: EventMap = EventMap()

    @model_validator(mode="before")
    @classmethod
    def _short_deletions(cls, value: Any) -> Any:
        """``deletions: {full_diff: daily}`` for ``{mode: full_diff, every: daily}``."""
        short = value.get("deletions") if isinstance(value, dict) else None
        if isinstance(short, dict) and set(short) == {"full_diff"}:
            return {**value, "deletions": {"mode": "full_diff", "every": short["full_diff"]}}
        return value

    @property
    def kind(self) -> str:
        return f"record.{self.map.kind or self.name}"

    @property
    def is_diffed(self) -> bool:
        return isinstance(self.deletions, FullDiff)


class Definition(Model):
    """``zone``: of times that name none; by default the owner's."""

    kind: Literal["rest", "graphql"]
    name: str = Field(pattern=r"^[a-z][a-z0-9-]{0,59}$")
    about: str = Field(default="", max_length=500)
    base_url: str = Field(max_length=2_000)
    zone: str | None = Field(default=None, max_length=60)
    config: dict[str, Setting] = Field(default={}, max_length=20)
    auth: Auth = NoAuth()
    http: HttpSettings = HttpSettings()
    errors: tuple[ErrorRule, ...] = Field(default=(), max_length=50)
    streams: tuple[Stream, ...] = Field(min_length=1, max_length=50)

    def children(self, name: str) -> tuple[Stream, ...]:
        return tuple(stream for stream in self.streams if stream.foreach and stream.foreach.stream == name)

    def ordered(self) -> tuple[Stream, ...]:
        """Each stream after the one that it is read for; otherwise as written."""
        found: list[Stream] = []

        def add(stream: Stream) -> None:
            found.append(stream)
            for child in self.children(stream.name):
                add(child)

        for stream in self.streams:
            if stream.foreach is None:
                add(stream)
        return tuple(found)
