"""HTTP for tools, over the guarded client of the connectors: what went wrong is told as what it means for an effect."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import httpx

from actions.tools.wire import Reply
from extractors.address import NoAddress
from extractors.connector import Access
from extractors.http import Answer, Http, wished
from schemas.errors import AuthError, ForewatchError, NotSent, OutcomeUnknown, StepFailed, TransientError

ANY = range(100, 600)
_NEVER_LEFT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol, httpx.InvalidURL)


def classified(error: ForewatchError) -> ForewatchError:
    """Of an error of ``Http.send``: no address or no connection means that nothing left; all else may have."""
    if isinstance(error, AuthError | NotSent | StepFailed):
        return error
    if isinstance(error, NoAddress) or isinstance(error.__cause__, _NEVER_LEFT):
        return NotSent(error.message)
    return OutcomeUnknown(error.message)


def reply_of(answer: Answer, now: datetime) -> Reply:
    headers = {name.lower(): value for name, value in answer.headers.items()}
    return Reply(answer.status, headers, answer.body, answer.url.host, wished(answer.headers, now))


class AccountHttp:
    """The ``Http`` of tools, for one account that signs in by OAuth. ``base``: the provider's address."""

    def __init__(self, access: Access, base: str, now: Callable[[], datetime]) -> None:
        self._access = access
        self._base = base.rstrip("/")
        self._now = now

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
        token = await self._token("")
        for is_last in (False, True):
            given = {**(headers or {}), "Authorization": f"Bearer {token}"}
            try:
                answer = await self._access.http.send(
                    method,
                    f"{self._base}/{path}",
                    params=params,
                    headers=given,
                    content=content,
                    json=json,
                    passing=ANY,
                )
            except ForewatchError as error:
                raise classified(error) from error
            if answer.status != 401 or is_last:
                break
            token = await self._token(token)  # a token that was refused has done nothing
        return reply_of(answer, self._now())

    async def _token(self, refused: str) -> str:
        """Renewing it comes before the request: whatever happens there, nothing was sent."""
        try:
            return await self._access.token(refused)
        except TransientError as error:
            raise NotSent(error.message) from error


class PublicWeb:
    """The ``Web`` of tools: resolves, checks and pins each address itself; never follows. ``allow_private`` is for
    tests alone."""

    def __init__(self, now: Callable[[], datetime], make: Callable[[], Http]) -> None:
        self._now = now
        self._make = make

    async def send(
        self, method: str, url: str, *, headers: Mapping[str, str] | None = None, content: bytes | None = None
    ) -> Reply:
        try:
            async with self._make() as http:
                answer = await http.send(method, url, headers=headers, content=content, passing=ANY)
        except AuthError as error:
            raise StepFailed(error.message, code="denied") from error
        except ForewatchError as error:
            raise classified(error) from error
        return reply_of(answer, self._now())
