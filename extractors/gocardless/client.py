"""Calls of GoCardless Bank Account Data, with a token that is made from the person's secret when it is needed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from extractors.connector import Context
from extractors.gocardless.config import GoCardlessConfig
from extractors.gocardless.errors import is_stale_token, raised
from extractors.gocardless.token import Tokens
from extractors.http import Answer
from schemas.errors import AuthError

_ANY = range(300, 600)


class Client:
    """For one poll. Errors as ``raised`` says."""

    def __init__(self, config: GoCardlessConfig, context: Context) -> None:
        self._base = config.url.rstrip("/") + "/api/v2"
        self._context = context
        self._tokens = Tokens.kept(context.access)

    async def get(self, path: str, params: Mapping[str, str] | None = None) -> Answer:
        return await self._call("GET", path, params=params)

    async def post(self, path: str, body: Mapping[str, Any]) -> Answer:
        return await self._call("POST", path, json=dict(body))

    async def delete(self, path: str) -> None:
        """What is not there needs no end."""
        await self._call("DELETE", path, gone=(404, 410))

    async def _call(self, method: str, path: str, gone: Collection[int] = (), **content: Any) -> Answer:
        """A refused token is renewed once. A consent that ended is no reason to renew it: each call counts."""
        answer = await self._send(method, path, await self._token(), **content)
        if is_stale_token(answer):
            answer = await self._send(method, path, await self._token(stale=True), **content)
        return answer if answer.status in gone else self._checked(answer)

    async def _token(self, *, stale: bool = False) -> str:
        now = self._context.now
        before = self._tokens
        if before is not None and before.is_fresh(now) and not stale:
            return before.access
        found = await self._refreshed(before) if before is not None and before.is_refreshable(now) else None
        self._tokens = found or await self._made()
        await self._context.access.remember(self._tokens.secret())
        return self._tokens.access

    async def _refreshed(self, before: Tokens) -> Tokens | None:
        """None where the refresh token is refused: the secret still makes a new one."""
        answer = await self._send("POST", "/token/refresh/", json={"refresh": before.refresh})
        if answer.status in (400, 401, 403):
            return None
        return Tokens.of(self._checked(answer).object(), self._context.now, before)

    async def _made(self) -> Tokens:
        access = self._context.access
        secret = {"secret_id": access.secret("secret_id").strip(), "secret_key": access.secret("secret_key").strip()}
        answer = await self._send("POST", "/token/new/", json=secret)
        if answer.status in (400, 401):
            raise AuthError("GoCardless does not accept the secret", remedy="enter secret id and key again")
        return Tokens.of(self._checked(answer).object(), self._context.now)

    async def _send(self, method: str, path: str, token: str = "", **content: Any) -> Answer:
        headers = {"Accept": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
        http = self._context.access.http
        return await http.send(method, f"{self._base}{path}", headers=headers, passing=_ANY, **content)

    def _checked(self, answer: Answer) -> Answer:
        if answer.status >= 300:
            raise raised(answer, self._context.now)
        return answer
