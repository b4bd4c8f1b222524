"""A conditional GET of one document: not given again where nothing changed."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from datetime import datetime

from extractors.address import Resolve, resolve_here
from extractors.http import Answer, Http, Limits
from schemas.errors import AuthError, TransientError

_GONE = frozenset({401, 403, 404, 410})


@dataclass(frozen=True, slots=True)
class Stamp:
    """What the server said about the version that it gave: sent back, it need not give it again."""

    etag: str = ""
    last_modified: str = ""


@dataclass(frozen=True, slots=True)
class Fetched:
    """``body`` is None where the server says that nothing changed."""

    body: bytes | None
    stamp: Stamp
    content_type: str = ""


@dataclass(frozen=True, slots=True)
class Fetcher:
    """``allow_private``: also loopback and private networks; link-local and metadata addresses are never fetched."""

    allow_private: bool = False
    limits: Limits = field(default_factory=Limits)
    resolve: Resolve = resolve_here
    tls: ssl.SSLContext | None = None

    async def get(self, url: str, *, now: datetime, stamp: Stamp | None = None, accept: str = "*/*") -> Fetched:
        """AuthError: a person has to look at the address; TransientError: it may work later."""
        stamp = stamp or Stamp()
        headers = {"Accept": accept}
        if stamp.etag:
            headers["If-None-Match"] = stamp.etag
        if stamp.last_modified:
            headers["If-Modified-Since"] = stamp.last_modified
        async with Http(
            lambda: now, allow_private=self.allow_private, limits=self.limits, resolve=self.resolve, tls=self.tls
        ) as http:
            answer = await http.send("GET", url, headers=headers, passing={304, *_GONE})
        return _fetched(answer, stamp)


def _fetched(answer: Answer, stamp: Stamp) -> Fetched:
    if answer.status == 304:
        return Fetched(None, stamp)
    if answer.status in _GONE:
        raise AuthError(
            f"{answer.url.host} answers {answer.status}", remedy="the link was revoked or changed: copy it again"
        )
    if answer.status != 200:
        raise TransientError(f"{answer.url.host} answers {answer.status}")
    headers = answer.headers
    fresh = Stamp(headers.get("etag", "")[:500], headers.get("last-modified", "")[:100])
    return Fetched(answer.body, fresh, headers.get("content-type", "")[:200])
