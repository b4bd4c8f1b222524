"""The Connector protocol: what code must offer so that Forewatch can poll one kind of source.

A connector polls (``pull``, I/O) and normalises (``normalise``, pure). It never keeps state of its own: everything it
must remember is in the cursor that it hands out with its pages. What it needs to be let in (secrets, access tokens, an
HTTP client, the person's quota) the service gives it as ``Context.access``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable
from zoneinfo import ZoneInfo

from pydantic import BaseModel

from schemas.account import Permission
from schemas.errors import AuthError
from schemas.event import Event
from schemas.model import Json
from schemas.record import Record

if TYPE_CHECKING:  # a service that reads files never loads the HTTP client
    from extractors.http import Http


@dataclass(frozen=True, slots=True)
class Quota:
    """How often a source may be asked: ``calls`` within any ``per``, of which ``reserve`` are kept for the person's
    own requests (``accounts sync``). ``name`` tells apart what the source counts apart, such as each bank account."""

    name: str
    calls: int
    per: timedelta = timedelta(days=1)
    reserve: int = 1


class Access(Protocol):
    """How a connector is let in: made anew for each poll, for one account."""

    @property
    def http(self) -> Http:
        """Open until the poll ends."""
        ...

    def secret(self, name: str) -> str:
        """What the person entered or the source gave (a password, a key). AuthError where there is none."""
        ...

    async def token(self, refused: str = "") -> str:
        """The current OAuth access token; ``refused`` is one that the source no longer takes. AuthError when the
        consent is gone, TransientError when the provider does not answer. Fits ``Http.send(bearer=...)``."""
        ...

    async def remember(self, secrets: Mapping[str, str]) -> None:
        """Keep these secrets, sealed and durable when this returns; others stay as they are."""
        ...

    async def spend(self, quota: Quota) -> None:
        """Count one call. RateLimited, with the moment of the next one, when none is left."""
        ...


class NoAccess:
    """For sources that need no secrets: files, public addresses."""

    @property
    def http(self) -> Http:
        raise AuthError("this account has no connection", remedy="connect it again")

    def secret(self, name: str) -> str:
        raise AuthError(f"this account has no {name}", remedy="connect it again")

    async def token(self, refused: str = "") -> str:
        raise AuthError("this account has no consent", remedy="connect it again")

    async def remember(self, secrets: Mapping[str, str]) -> None:
        raise AuthError("this account can keep no secrets", remedy="connect it again")

    async def spend(self, quota: Quota) -> None:
        """Nothing is counted."""


@dataclass(frozen=True, slots=True)
class Context:
    """Whose data it is and what time it is there. ``now`` is aware; ``zone`` is the owner's, never the process's."""

    owner: str
    account: str
    zone: ZoneInfo
    now: datetime
    access: Access = field(default_factory=NoAccess, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Upsert:
    """One version of one native thing. Same ``native_id`` and ``version``: the same content.

    ``is_new``: the cursor knew no earlier version of it. ``raw`` is at most ``schemas.record.RAW_CAP`` bytes.
    """

    native_id: str
    version: str
    raw: bytes
    content_type: str
    is_new: bool = True
    meta: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Delete:
    """The source no longer has this thing. ``meta`` holds what ``normalise`` needs to say what went away."""

    native_id: str
    version: str
    meta: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Rejected:
    """One item that can never work; it becomes a dead letter and the rest of the poll goes on.

    ``code`` is a stable word (malformed, too_large, too_deep, unknown_format, ...); ``raw`` its first bytes.
    """

    where: str
    code: str
    reason: str
    raw: bytes = b""


@dataclass(frozen=True, slots=True)
class Question:
    """Something that only the person can decide, such as the order of day and month in a CSV file.

    ``choices`` maps each answer to what it would mean (JSON, shown to the person).
    """

    code: str
    text: str
    where: str = ""
    choices: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Page:
    """A part of what the source has to say.

    ``next_cursor`` is stored together with the page's records, in one transaction; None keeps the stored one, for
    sources whose cursor is valid only after the last page. ``complete`` marks the last page of a poll. ``reset``: the
    source forgot our place and this is a full listing (known content must not raise alerts again). ``spoke``: the
    source itself has something new; False where only time has passed, as when a yearly entry enters the horizon.
    ``consent_expires_at``: when the source will ask the person again, where it says so.
    """

    upserts: Sequence[Upsert] = ()
    deletes: Sequence[Delete] = ()
    rejected: Sequence[Rejected] = ()
    questions: Sequence[Question] = ()
    warnings: Sequence[str] = ()
    next_cursor: Json = None
    complete: bool = False
    reset: bool = False
    spoke: bool = True
    consent_expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Preview:
    """What Forewatch would make of one file, without storing anything.

    ``summary`` holds plain JSON for people and scripts: the keys of each kind are in docs/reference/preview.md.
    """

    kind: str
    events: Sequence[Event] = ()
    rejected: Sequence[Rejected] = ()
    questions: Sequence[Question] = ()
    warnings: Sequence[str] = ()
    summary: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PreviewOptions:
    """``window``: first and last instant (exclusive) for recurring entries. ``answers``: what the person decided,
    by question code. ``currency``: for files that name none."""

    window: tuple[datetime, datetime] | None = None
    answers: Mapping[str, str] = field(default_factory=dict)
    currency: str | None = None


class Connector(Protocol):
    """Errors that ``pull`` may raise: TransientError, AuthError, CursorExpired; anything else is a bug of ours."""

    name: str
    config: type[BaseModel]
    """The model of an account's settings: no secrets, ``extra="forbid"``."""

    def pull(self, config: BaseModel, cursor: Json, context: Context) -> AsyncIterator[Page]:
        """Everything since ``cursor`` (None: from the beginning), oldest first. Read-only at the source.

        Never blocks the event loop. Idempotent: the same cursor and the same source give the same pages.
        """
        ...

    def normalise(self, record: Record, context: Context) -> Sequence[Event]:
        """Pure: the events that this record means (none is allowed). PoisonError when it can never work.

        Ids are deterministic (``schemas.ids``); ``observed_at`` is the record's ``fetched_at``.
        """
        ...


@runtime_checkable
class FileConnector(Connector, Protocol):
    """A connector whose source is files. One that reads a service has neither method: it claims no file."""

    def sniff(self, path: Path) -> bool:
        """Whether this file or folder looks like one of ours. Reads a few kilobytes at most; never raises."""
        ...

    def preview(self, path: Path, context: Context, options: PreviewOptions) -> Preview:
        """What the file holds. Never raises for bad content: that goes to ``rejected``."""
        ...


@dataclass(frozen=True, slots=True)
class SecretField:
    """One secret that the person enters once. ``prompt`` names it as its provider does; ``help`` says where to find
    it."""

    name: str
    prompt: str
    help: str = ""


@dataclass(frozen=True, slots=True)
class Login:
    """How a person lets us in, and what for. ``reads`` is shown before anything is asked.

    ``secrets`` are asked for one by one. ``scopes`` are the least OAuth scopes by provider profile
    (``extractors.providers``); with an account setting ``provider`` these are asked for instead of the secrets.
    ``voids`` names what the connector remembered that no longer holds once a person has signed in anew.
    """

    reads: str
    secrets: Sequence[SecretField] = ()
    scopes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    voids: Sequence[str] = ()
    allows: Mapping[Permission, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    """What a person may grant to tools beyond reading, with the OAuth scopes by provider profile that it takes."""

    def granting(self, provider: str, allow: Sequence[Permission]) -> list[str]:
        """The scopes of this provider for reading and for all that is granted."""
        asked = [*self.scopes.get(provider, ())]
        for permission in allow:
            asked += self.allows.get(permission, {}).get(provider, ())
        return list(dict.fromkeys(asked))


class RemoteConnector(Connector, Protocol):
    """A connector whose source lies behind a login. ``pull`` uses ``context.access``."""

    login: Login

    async def discover(self, hint: str, context: Context) -> dict[str, Json]:
        """Account settings from what a person types (an address, a host, nothing). AuthError: what to type instead."""
        ...

    async def check(self, config: BaseModel, context: Context) -> Sequence[str]:
        """Log in and say in a few lines what is there (folders, calendars, bank accounts). Errors as in ``pull``.

        May trade a one-time secret for a lasting one (``context.access.remember``).
        """
        ...
