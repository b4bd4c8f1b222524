"""Consent: how a person lets us in at their bank, where that takes a visit to the bank's own page.

Two steps that may be days and processes apart; what must be kept between them is in the account's secrets::

    step = await connector.begin(config, context, redirect="http://127.0.0.1:8765/", state=fresh_random_text)
    ...  # the person opens step.url, says yes there, and lands on ``redirect`` with a query
    lines = await connector.finish(config, context, answer=that_address)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from hmac import compare_digest
from typing import Protocol
from urllib.parse import parse_qs, urlsplit

from pydantic import BaseModel

from extractors.connector import Context, RemoteConnector
from schemas.errors import AuthError


@dataclass(frozen=True, slots=True)
class Consent:
    """``url``: to be opened in a browser. ``until``: when this consent will end, as asked for."""

    url: str
    until: datetime | None = None


class ConsentConnector(RemoteConnector, Protocol):
    """A connector whose source asks the person on a page of its own."""

    async def begin(self, config: BaseModel, context: Context, *, redirect: str, state: str) -> Consent:
        """Ask the source for a consent. ``redirect``: where it sends the person afterwards, a loopback address or one
        that is registered there; ``state``: fresh random text, which must come back."""
        ...

    async def finish(self, config: BaseModel, context: Context, *, answer: str) -> Sequence[str]:
        """Take the consent that ``begin`` asked for. ``answer``: the address where the person landed, pasted or caught.
        Says what is there, as ``check`` does. AuthError: the person said no, or it is another consent's answer."""
        ...

    async def withdraw(self, config: BaseModel, context: Context) -> None:
        """End the consent at the source, for an account that is removed. One that is over already is no error."""
        ...


def answered(answer: str, state: str, *, state_name: str = "state") -> dict[str, str]:
    """The query of the address where the person landed. AuthError for a refusal, and for an answer to something else.

    ``state``: what ``begin`` was given. A source that reports a refusal does so in ``error``.
    """
    try:
        query = {name: values[-1] for name, values in parse_qs(urlsplit(answer.strip()[:8_000]).query).items()}
    except ValueError as error:
        raise AuthError("this is no address", remedy="paste the whole address where you landed") from error
    if not state:
        raise AuthError("no consent was asked for", remedy="begin again")
    if not compare_digest(query.get(state_name, "").encode(), state.encode()):
        raise AuthError("this address answers another request for consent", remedy="begin again and paste the last one")
    if "error" in query:
        said = query.get("error_description") or query.get("details") or query["error"]
        raise AuthError(f"no consent was given: {said[:200]}", remedy="begin again when you want to give it")
    return query
