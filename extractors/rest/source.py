"""Source: asks the system for one page, within its rate, and says what the answer holds."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

import httpx

from extractors.address import origin, parse_url
from extractors.connector import Context, Quota
from extractors.http import Answer
from extractors.pace import Pace
from extractors.rest import paging, rows, template, verdict
from extractors.rest.auth import HeaderKey
from extractors.rest.config import RestConfig
from extractors.rest.definition import Definition
from extractors.rest.request import Ask, Builder, Elsewhere, Request
from extractors.rest.signing import Signer
from schemas.errors import AuthError, TransientError
from schemas.model import Json

ATTEMPTS = 3
REDIRECTS = 3
_NOT_GOOD = range(300, 600)
_STALE = (400, 404, 410, 422)
"""What sources answer to a page token that they do not know any more."""

Sleep = Callable[[float], Awaitable[None]]


class StreamRefused(AuthError):
    """This stream may not be read; others may. ``status`` is the answer's, if it was that."""

    def __init__(self, message: str, *, status: int = 0, remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.status = status


class StreamBroken(TransientError):
    """This stream cannot be read now; others may."""


class Restart(Exception):
    """Our place in the list is gone. ``whole``: the bound with it."""

    def __init__(self, *, whole: bool) -> None:
        super().__init__()
        self.whole = whole


@dataclass(frozen=True, slots=True)
class Listed:
    """``next``: the position after it, None after the last page. ``note``: what could not be read beside it.
    ``skipped``: the definition says that there is nothing to read here."""

    items: Sequence[Json] = ()
    next: Json = None
    note: str = ""
    skipped: bool = False


class Source:
    """For one poll."""

    def __init__(self, definition: Definition, config: RestConfig, context: Context, sleep: Sleep) -> None:
        self._definition = definition
        self._context = context
        self._sleep = sleep
        self._builder = Builder(definition, config, context.zone)
        self._signer = Signer(definition.auth, context.access)
        rate = definition.http.rate
        self._pace = None if rate is None else Pace(rate.calls, rate.per_s, sleep=sleep)
        self._slots = asyncio.Semaphore(definition.http.concurrency)

    async def page(self, ask: Ask) -> Listed:
        """StreamRefused and StreamBroken concern this stream alone; Restart asks to begin it again."""
        request = self._request(ask)
        answer, document, found = await self._judged(request)
        if found.meaning == "restart":
            raise Restart(whole=True)
        if found.meaning == "skip":
            return Listed(note=found.note, skipped=True)
        if found.error is not None:
            raise self._raised(ask, answer, found.error)
        return self._listed(ask, answer, document, found.note)

    def _raised(self, ask: Ask, answer: Answer, error: Exception) -> Exception:
        if ask.resumed and ask.position is not None and answer.status in _STALE:
            return Restart(whole=False)
        if isinstance(error, AuthError) and answer.status in (403, 404, 410):
            message = f"{ask.stream.name}: {error.message}"
            return StreamRefused(message, status=answer.status, remedy=error.remedy)
        return error

    def _listed(self, ask: Ask, answer: Answer, document: Json, note: str) -> Listed:
        stream = ask.stream
        try:
            items = rows.listed(stream, document)
            given = paging.Given(document, answer.headers, answer.url, len(items))
            return Listed(items, self._without_key(paging.following(stream.paginate, ask.position, given)), note)
        except (rows.WrongShape, paging.Stuck) as error:
            raise StreamBroken(f"{stream.name}: {note or error}") from error
        except AuthError as error:
            raise StreamRefused(f"{stream.name}: {error.message}", remedy=error.remedy) from error

    def _without_key(self, position: Json) -> Json:
        """Sources repeat the query in their links; a key must not get into the cursor."""
        auth = self._definition.auth
        if isinstance(position, str) and position.startswith("http") and isinstance(auth, HeaderKey):
            return str(httpx.URL(position).copy_remove_param(auth.name))
        return position

    async def _judged(self, request: Request) -> tuple[Answer, Json, verdict.Verdict]:
        """Short waits are waited for here; a longer one is the poll agent's."""
        now = self._context.now
        for attempt in range(1, ATTEMPTS + 1):
            answer = await self._send(request)
            document = await self._parsed(answer)
            found = verdict.judge(self._definition, answer, document, now)
            error = found.error
            if not isinstance(error, TransientError) or error.retry_at is None or attempt == ATTEMPTS:
                break
            wait_s = (error.retry_at - now).total_seconds()
            if wait_s > self._definition.http.patience_s:
                break
            await self._sleep(wait_s)
        return answer, document, found

    async def _parsed(self, answer: Answer) -> Json:
        try:
            return await asyncio.to_thread(rows.parse, answer.body)
        except (ValueError, RecursionError) as error:
            if not 200 <= answer.status < 300:
                return None
            kind = answer.headers.get("content-type", "no type").partition(";")[0][:80]
            message = f"{answer.url.host} answers {answer.status} with {kind}, not with JSON"
            raise TransientError(message) from error

    def _request(self, ask: Ask) -> Request:
        try:
            return self._builder.request(ask)
        except template.Empty as error:
            raise StreamBroken(f"{ask.stream.name}: {error}") from error
        except Elsewhere as error:
            raise Restart(whole=False) from error

    async def _send(self, request: Request) -> Answer:
        async with self._slots:
            if self._pace is not None:
                await self._pace.turn()
            quota = self._definition.http.quota
            if quota is not None:
                name = f"rest:{self._definition.name}"
                await self._context.access.spend(Quota(name, quota.calls, quota.per.timedelta()))
            timeout_s = self._definition.http.timeout_s
            try:
                async with asyncio.timeout(timeout_s):
                    answer = await self._followed(request)
            except TimeoutError as error:
                host = httpx.URL(self._builder.base).host
                raise TransientError(f"{host} took longer than {timeout_s:g} s") from error
        if len(answer.body) > self._definition.http.max_body:
            raise TransientError(f"{answer.url.host} sends more than {self._definition.http.max_body:,} bytes")
        return answer

    async def _followed(self, request: Request) -> Answer:
        """Redirects are followed to the same origin alone: elsewhere the credentials do not belong."""
        url, params = request.url, request.params
        for _ in range(REDIRECTS + 1):
            answer = await self._once(request.method, url, params, request.json)
            location = answer.headers.get("location", "")
            follows = 300 <= answer.status < 400 if request.method == "GET" else answer.status in (307, 308)
            if not follows or not location:
                return answer
            target = parse_url(str(answer.url.join(location)))
            if origin(target) != origin(answer.url):
                message = f"{answer.url.host} redirects to {target.host}, where its credentials do not belong"
                raise AuthError(message, remedy="correct base_url in the definition or the account")
            url, params = str(target), {}
        raise TransientError(f"{answer.url.host} redirects more than {REDIRECTS} times")

    async def _once(self, method: str, url: str, params: Mapping[str, str | int], document: Json) -> Answer:
        signature = self._signer.signature()
        headers = {"Accept": "application/json", **self._definition.http.headers, **signature.headers}
        return await self._context.access.http.send(
            method,
            url,
            params={**params, **signature.params},
            headers=headers,
            json=document,
            auth=signature.basic,
            bearer=signature.bearer,
            passing=_NOT_GOOD,
        )
