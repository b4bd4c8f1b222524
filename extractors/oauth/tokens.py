"""TokenManager: the current access token of one account, renewed exactly once however many ask for it.

Providers hand out single-use refresh tokens and end the whole consent when one is used twice. So a renewal holds the
account's lock across processes, reads again under it, marks that it begins, asks, and stores the new tokens before
anybody uses them. Only a crash between the provider's answer and the store can lose a consent; the mark then says so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

import structlog

from extractors.http import Http
from extractors.oauth.client import Client
from extractors.oauth.errors import ConsentLost, Denied, MissingScope, TurnedAway
from extractors.oauth.grant import granted
from extractors.oauth.token import Token
from extractors.providers import Provider
from schemas.clock import Clock
from schemas.errors import RateLimited, TransientError

log = structlog.get_logger(__name__)

RENEWAL_S = 45.0
"""How long one renewal may take; those who wait for its lock wait longer."""

_STOP_S = 10.0

_PASSING_REASONS = frozenset({"invalid_client", "unauthorized_client"})
"""Mended by the person's settings, without a new consent: worth another try when a person asks."""


class TokenStore(Protocol):
    """Where the tokens of one account are kept."""

    async def read(self) -> Token | None: ...

    async def replace(self, old: Token | None, new: Token) -> bool:
        """Durable on return. False, and nothing done, when ``old`` is not what is kept."""
        ...

    async def put(self, new: Token) -> None:
        """Instead of whatever is kept, readable or not. Durable on return."""
        ...

    def locked(self) -> AbstractAsyncContextManager[None]:
        """Held by one task of one process. TransientError after a deadline."""
        ...


@dataclass(frozen=True, repr=False)
class TokenManager:
    """``title``: what to call the provider. ``needed``: the scopes without which the connector cannot work. ``asked``:
    a person waits for this poll, so that a consent which was lost is tried once more."""

    account: str
    provider: Provider
    title: str
    client: Callable[[], Awaitable[Client]]
    store: TokenStore
    http: Http
    clock: Clock
    needed: Sequence[str] = ()
    asked: bool = False

    async def token(self, refused: str = "") -> str:
        return (await self.current(refused)).access_token

    async def current(self, refused: str = "") -> Token:
        """Good for now, and not the one that the source just refused.

        ConsentLost or MissingScope when a person must act; TransientError when the provider does not answer.
        """
        token = await self.store.read()
        if token is None:
            raise self._lost("never_connected")
        if not token.is_good(self.clock.now(), refused):
            token = await _to_its_end(self._renewed(refused))
        return self._checked(token)

    async def _renewed(self, refused: str) -> Token:
        async with self.store.locked():
            token = await self.store.read()
            if token is None:
                raise self._lost("never_connected")
            if token.is_good(self.clock.now(), refused):
                return token  # another one was first
            if token.lost and not self.asked:
                raise self._lost(token.lost)
            if not token.refresh_token:
                raise self._lost("no_refresh_token")
            return await self._renew(token, refused)

    async def _renew(self, token: Token, refused: str) -> Token:
        marked = token.model_copy(update={"renewing_since": token.renewing_since or self.clock.now(), "lost": ""})
        if not await self.store.replace(token, marked):
            return await self._relinked(refused)
        try:
            async with asyncio.timeout(RENEWAL_S):
                fresh = await self._ask(marked)
        except TimeoutError as error:
            raise TransientError(f"{self.title} took longer than {RENEWAL_S:g} s") from error
        except (RateLimited, TurnedAway):
            await self.store.replace(marked, token)  # nothing was used up: a later refusal is no interruption
            raise
        except Denied as denied:
            return await self._denied(denied, marked, token, refused)
        if not await self.store.replace(marked, fresh):
            return await self._relinked(refused)
        log.info("token renewed", action="token_renewed", account=self.account)
        return fresh

    async def _ask(self, token: Token) -> Token:
        client = await self.client()
        question = {"grant_type": "refresh_token", "refresh_token": token.refresh_token}
        now = self.clock.now()
        answer = await client.ask(self.http, client.endpoints.token, question, now)
        return granted(client, answer, now=now, before=token)

    async def _denied(self, denied: Denied, marked: Token, before: Token, refused: str) -> Token:
        """The consent has ended; that is remembered, so that nobody asks again until a person has consented."""
        interrupted = denied.code == "invalid_grant" and before.renewing_since is not None
        reason = "refresh_interrupted" if interrupted else denied.code
        ended = marked.model_copy(update={"renewing_since": None, "lost": reason})
        if not await self.store.replace(marked, ended):
            return await self._relinked(refused)
        log.warning("consent lost", action="consent_lost", account=self.account, reason=reason)
        raise self._lost(reason) from denied

    async def _relinked(self, refused: str) -> Token:
        """Somebody stored other tokens meanwhile, as when a person has consented again."""
        token = await self.store.read()
        if token is not None and token.is_good(self.clock.now(), refused):
            return token
        raise TransientError(f"account {self.account}: its tokens changed while they were renewed")

    def _checked(self, token: Token) -> Token:
        """Providers let a person grant less than was asked for, and grant less themselves, without a word."""
        if token.scope and (missing := self.provider.missing(self.needed, token.scope)):
            raise MissingScope(
                f"{self.title} did not grant {', '.join(missing)}",
                missing=missing,
                remedy=f"connect it again and leave that ticked: forewatch accounts auth {self.account}",
            )
        return token

    def _lost(self, reason: str) -> ConsentLost:
        text = _REASONS.get(reason, f"the provider refuses to renew it: {reason}")
        hint = f" ({self.provider.hint})" if reason == "invalid_grant" and self.provider.hint else ""
        remedy = f"connect it again: forewatch accounts auth {self.account}"
        if reason in _PASSING_REASONS:
            remedy = f"check client_id and the client secret, then: forewatch accounts auth {self.account}"
        return ConsentLost(f"{self.title}: {text}{hint}", reason=reason, remedy=remedy)


_REASONS = {
    "never_connected": "there is no consent yet",
    "no_refresh_token": "the access has ended, and it was given for a single time",
    "invalid_grant": "the consent has ended: it was withdrawn, has expired or was replaced",
    "refresh_interrupted": "renewing the access was cut off the last time, and what was kept of it is used up",
    "invalid_client": "the client id is not known there, or its secret is wrong",
    "unauthorized_client": "the client may not do this",
}


async def install(store: TokenStore, token: Token) -> None:
    """The tokens of a new consent. Waits for a renewal that is under way."""
    async with store.locked():
        await store.put(token)


async def _to_its_end(renewal: Awaitable[Token]) -> Token:
    """A service that stops does not tear a renewal in two: it is given a little time."""
    task = asyncio.ensure_future(renewal)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        try:
            await asyncio.wait({task}, timeout=_STOP_S)
        finally:
            task.cancel()
        await asyncio.wait({task})
        if not task.cancelled():
            task.exception()  # it was seen
        raise
