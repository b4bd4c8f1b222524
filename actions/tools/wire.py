"""Asking a provider over HTTP: the port, and the one table from what may happen to what it means for the effect.

not sent      nothing of it left this machine (no address, refused, no connection): safe to try again
definitive    the provider answered that it did it, or that it did not
unknown       it left, and no answer came, or one that says nothing of the effect (408, 409, 425, 5xx)
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Protocol

from actions.plain import clean
from schemas.errors import AuthError, NotSent, OutcomeUnknown, RateLimited, StepFailed

READS = frozenset({"GET", "HEAD", "PROPFIND", "REPORT", "OPTIONS"})
UNSAID = frozenset({408, 409, 425})
"""With every 5xx: the statuses after which nobody knows whether the effect is there."""
_WORDS = {400: "invalid", 404: "not_found", 405: "invalid", 410: "not_found", 412: "conflict", 413: "invalid",
          415: "invalid", 422: "invalid", 423: "conflict"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reply:
    """``headers`` have names in lower case. ``repr`` shows nothing of what was said: it may be private."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes = field(default=b"", repr=False)
    host: str = ""
    retry_at: datetime | None = None
    is_read: bool = False
    """It answers a question that changes nothing."""

    def object(self) -> dict[str, Any]:
        """OutcomeUnknown (NotSent after a read) for what is no JSON object: a page in between says nothing."""
        try:
            found = json.loads(self.body)
        except (ValueError, RecursionError):
            found = None
        if isinstance(found, dict):
            return found
        nothing = NotSent if self.is_read else OutcomeUnknown
        raise nothing(f"{self.host} answers {self.status}, and not with a JSON object")


class Http(Protocol):
    """One provider, with the credentials of one account. ``path`` is below the provider's own address."""

    async def send(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str | int] | None = None,
        headers: Mapping[str, str] | None = None,
        content: bytes | None = None,
        json: Any = None,
    ) -> Reply:
        """Whatever status, redirects included (none is followed). NotSent: nothing of it left. OutcomeUnknown: it left,
        and no whole answer came. AuthError: the account is not let in."""
        ...


def settled(reply: Reply, *, passing: Collection[int] = ()) -> Reply:
    """A 2xx, or a status in ``passing``; all others are raised as what they mean for an effect."""
    status, host = reply.status, reply.host
    if 200 <= status < 300 or status in passing:
        return reply
    if status == 429:
        raise RateLimited(f"{host} asks for fewer calls", retry_at=reply.retry_at)
    if status in (401, 403):
        raise AuthError(f"{host} does not allow this ({status})", remedy="grant it again with 'accounts auth --allow'")
    if status in UNSAID or status >= 500:
        raise OutcomeUnknown(f"{host} answers {status}: whether it was done is not said")
    if 300 <= status < 400:
        raise StepFailed(f"{host} sends us elsewhere", code="denied")
    said = clean(reply.body[:2000].decode("utf-8", "replace"), 120)
    raise StepFailed(f"{host} answers {status}: {said}", code=_WORDS.get(status, "invalid"))


async def ask(http: Http, method: str, path: str, *, passing: Collection[int] = (), **more: Any) -> Reply:
    """``Http.send`` and ``settled`` in one. A read that went wrong changed nothing: NotSent. Whoever reads *after* an
    effect must not let that through."""
    if method not in READS:
        return settled(await http.send(method, path, **more), passing=passing)
    try:
        return replace(settled(await http.send(method, path, **more), passing=passing), is_read=True)
    except OutcomeUnknown as error:
        raise NotSent(error.message) from error
