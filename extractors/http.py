"""The HTTP client of every connector: guarded addresses, bounded answers, one table from answers to our errors.

Redirects of reads go through the same guard, and no credential follows one to another origin. Proxies of the
environment are not used, because they would resolve the name again.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import cache
from types import TracebackType
from typing import Any, Self

import httpx

from extractors.address import DEFAULT_PORTS, Resolve, checked, origin, parse_url, resolve_here
from schemas.errors import AuthError, ForewatchError, RateLimited, TransientError

Bearer = Callable[[str], Awaitable[str]]
"""The current access token; given the token that the source just refused, a newer one (or AuthError)."""

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_READS = frozenset({"GET", "HEAD", "PROPFIND", "REPORT", "OPTIONS"})
_RETRY_CAP = timedelta(hours=24)
_SECRET_HEADERS = ("authorization", "cookie", "x-api-key")


class Oversized(TransientError):
    """The answer is larger than what is read, and will be so again: for most sources something to pass over."""


@dataclass(frozen=True, slots=True)
class Limits:
    body_bytes: int = 20_000_000
    redirects: int = 5
    connect_s: float = 10
    read_s: float = 30
    total_s: float = 120


@dataclass(frozen=True, slots=True)
class Answer:
    """What the source said, read to its end. ``repr`` shows none of it: it may be a token."""

    status: int
    headers: httpx.Headers = field(repr=False)
    body: bytes = field(repr=False)
    url: httpx.URL = field(repr=False)

    def json(self) -> Any:
        """TransientError for what is not JSON: a captive portal or an error page says nothing about the data."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError) as error:
            kind = self.headers.get("content-type", "no type").partition(";")[0][:80]
            raise TransientError(f"{self.url.host} answers {self.status} with {kind}, not with JSON") from error

    def object(self) -> dict[str, Any]:
        """A JSON object; TransientError for anything else."""
        found = self.json()
        if not isinstance(found, dict):
            raise TransientError(f"{self.url.host} answers with a JSON {type(found).__name__}, not with an object")
        return found


class Http:
    """One poll's connection to its source: ``async with Http(clock.now) as http``.

    ``allow_private``: also loopback and private networks; link-local and metadata addresses are never called.
    ``secret_headers``: further names of headers that must not follow a redirect elsewhere.
    """

    def __init__(
        self,
        now: Callable[[], datetime],
        *,
        allow_private: bool = False,
        limits: Limits | None = None,
        resolve: Resolve = resolve_here,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._now = now
        self._allow_private = allow_private
        self._limits = limits or Limits()
        self._resolve = resolve
        self._tls = tls
        self._made: httpx.AsyncClient | None = None
        self._addresses: dict[tuple[str, int], list[str]] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._made is not None:
            await self._made.aclose()
            self._made = None

    async def send(
        self,
        method: str,
        url: str | httpx.URL,
        *,
        params: Mapping[str, str | int] | None = None,
        headers: Mapping[str, str] | None = None,
        content: bytes | None = None,
        json: Any = None,
        form: Mapping[str, str] | None = None,
        auth: tuple[str, str] | None = None,
        bearer: Bearer | None = None,
        passing: Collection[int] = (),
        body_bytes: int | None = None,
    ) -> Answer:
        """2xx, and the statuses in ``passing``, are handed back; everything else is raised.

        AuthError: a person has to look at the account or its address. RateLimited: the source asked for fewer calls.
        TransientError: it may work later. ``bearer``: a 401 asks it once for a newer token. A redirect is followed
        for reads only, and not when its status is in ``passing``. ``body_bytes``: read as much of this one answer,
        whatever the limits say; Oversized where there is more.
        """
        target = parse_url(str(url))
        if params:
            target = target.copy_merge_params(params)
        request = _Request(method.upper(), target, dict(headers or {}), *_body(content, json, form), auth, body_bytes)
        try:
            async with asyncio.timeout(self._limits.total_s):
                answer = await self._authorised(request, bearer, passing)
        except TimeoutError as error:
            raise TransientError(f"{target.host} took longer than {self._limits.total_s:g} s") from error
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError) as error:
            raise translated(error, target.host) from error
        if answer.status in passing or 200 <= answer.status < 300:
            return answer
        raise refused(answer, self._now())

    async def _authorised(self, request: _Request, bearer: Bearer | None, passing: Collection[int]) -> Answer:
        if bearer is None:
            return await self._follow(request, passing)
        token = await bearer("")
        answer = await self._follow(request.authorised(token), passing)
        if answer.status != 401:
            return answer
        return await self._follow(request.authorised(await bearer(token)), passing)

    async def _follow(self, request: _Request, passing: Collection[int]) -> Answer:
        for _ in range(self._limits.redirects + 1):
            answer = await self._once(request)
            if answer.status not in _REDIRECTS or answer.status in passing or request.method not in _READS:
                return answer
            request = request.redirected(answer)
        raise TransientError(f"{request.url.host} redirects more than {self._limits.redirects} times")

    async def _once(self, request: _Request) -> Answer:
        response = await self._open(request)
        try:
            return Answer(response.status_code, response.headers, await self._read(response, request), request.url)
        finally:
            await response.aclose()

    async def _open(self, request: _Request) -> httpx.Response:
        """To the first address that takes the connection; names are resolved and checked once per poll."""
        host, port = request.url.raw_host.decode(), request.url.port or DEFAULT_PORTS[request.url.scheme]
        known = self._addresses.get((host, port))
        if known is None:
            known = list(await checked(host, port, self._resolve, allow_private=self._allow_private))
            self._addresses[host, port] = known
        while len(known) > 1:
            try:
                return await self._send_to(known[0], request)
            except (httpx.ConnectError, httpx.ConnectTimeout):
                known.pop(0)
        return await self._send_to(known[0], request)

    async def _send_to(self, address: str, request: _Request) -> httpx.Response:
        """The address is in the URL, the name in Host and in TLS: the certificate must still be the name's."""
        standard = {"Accept-Encoding": "identity", "User-Agent": "forewatch", "Host": request.url.netloc.decode()}
        built = self._client().build_request(
            request.method,
            request.url.copy_with(host=address),
            headers={**standard, **request.headers},
            content=request.content,
            extensions={"sni_hostname": request.url.raw_host.decode()},
        )
        return await self._client().send(built, stream=True, auth=request.auth)

    async def _read(self, response: httpx.Response, request: _Request) -> bytes:
        url, limit = request.url, request.body_bytes or self._limits.body_bytes
        if (encoding := response.headers.get("content-encoding", "identity")) != "identity":
            raise TransientError(f"{url.host} answers in {encoding[:40]!r}, which was not asked for")
        body = bytearray()
        async for chunk in response.aiter_raw():
            body += chunk
            if len(body) > limit:
                raise Oversized(f"{url.host} sends more than {limit // 1_000_000} MB")
        return bytes(body)

    def _client(self) -> httpx.AsyncClient:
        if self._made is None:
            timeout = httpx.Timeout(self._limits.read_s, connect=self._limits.connect_s)
            self._made = httpx.AsyncClient(verify=self._tls or _system_tls(), timeout=timeout, trust_env=False)
        return self._made


@dataclass(frozen=True, slots=True)
class _Request:
    method: str
    url: httpx.URL = field(repr=False)
    headers: dict[str, str] = field(repr=False)
    content: bytes | None = field(default=None, repr=False)
    content_type: str = ""
    auth: tuple[str, str] | None = field(default=None, repr=False)
    body_bytes: int | None = None

    def __post_init__(self) -> None:
        if self.content_type and not any(name.lower() == "content-type" for name in self.headers):
            self.headers["Content-Type"] = self.content_type

    def authorised(self, token: str) -> _Request:
        headers = {**self.headers, "Authorization": f"Bearer {token}"}
        return _Request(self.method, self.url, headers, self.content, body_bytes=self.body_bytes)

    def redirected(self, answer: Answer) -> _Request:
        """The same read at the new place; without credentials if that is another origin."""
        location = answer.headers.get("location", "")
        if not location:
            raise TransientError(f"{self.url.host} redirects to nowhere")
        new = parse_url(str(self.url.join(location)))
        if self.url.scheme == "https" and new.scheme == "http":
            raise AuthError(f"{self.url.host} redirects to {new.host} without encryption", remedy="use another address")
        if origin(new) == origin(self.url):
            return _Request(self.method, new, self.headers, self.content, "", self.auth, self.body_bytes)
        public = {name: value for name, value in self.headers.items() if name.lower() not in _SECRET_HEADERS}
        return _Request(self.method, new, public, self.content, body_bytes=self.body_bytes)


def _body(content: bytes | None, document: Any, form: Mapping[str, str] | None) -> tuple[bytes | None, str]:
    if document is not None:
        return json.dumps(document).encode(), "application/json"
    if form is not None:
        return str(httpx.QueryParams(dict(form))).encode(), "application/x-www-form-urlencoded"
    return content, ""


def refused(answer: Answer, now: datetime) -> ForewatchError:
    """What a status other than 2xx means for the account."""
    host, status = answer.url.host, answer.status
    retry_at = wished(answer.headers, now)
    if status == 429:
        return RateLimited(f"{host} asks for fewer calls", retry_at=retry_at)
    if status == 401:
        return AuthError(f"{host} does not accept the credentials any more", remedy="connect the account again")
    if status == 402:
        return AuthError(f"{host} wants a payment", remedy="look at your subscription there")
    if status == 403:
        return AuthError(f"{host} answers 403: access is not allowed", remedy="grant the missing permission there")
    if status in (404, 410):
        return AuthError(f"{host} answers {status}: there is nothing at that address", remedy="check the address")
    return TransientError(f"{host} answers {status}", retry_at=retry_at)


def wished(headers: Mapping[str, str], now: datetime) -> datetime | None:
    """When the source wants to be asked again, at most a day ahead.

    Retry-After as seconds, fraction or date; else the reset headers in use: seconds to go, or seconds since 1970.
    A date is read against the server's own clock, where it tells that.
    """
    if text := headers.get("retry-after", ""):
        asked = _moment(text, headers.get("date", ""), now)
    else:
        names = ("ratelimit-reset", "x-ratelimit-reset", "http_x_ratelimit_account_success_reset")
        asked = next((_moment(headers[name], "", now) for name in names if headers.get(name)), None)
    return None if asked is None else min(max(asked, now), now + _RETRY_CAP)


def _moment(text: str, server_date: str, now: datetime) -> datetime | None:
    try:
        if text[:1].isdigit() and not text.strip("0123456789."):
            seconds = float(text)
            return datetime.fromtimestamp(seconds, UTC) if seconds > 1e9 else now + timedelta(seconds=seconds)
        asked = _aware(parsedate_to_datetime(text))
        return asked - (_aware(parsedate_to_datetime(server_date)) - now) if server_date else asked
    except (ValueError, OverflowError, TypeError):
        return None


def _aware(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def translated(error: Exception, host: str) -> ForewatchError:
    """Foreign exceptions, in one place."""
    if isinstance(error, httpx.InvalidURL | httpx.UnsupportedProtocol | httpx.TooManyRedirects):
        return AuthError(f"the address of {host} cannot be used: {error}", remedy="copy it again")
    if isinstance(error, httpx.TimeoutException):
        return TransientError(f"{host} does not answer in time")
    return TransientError(f"{host} cannot be reached: {error or type(error).__name__}")


@cache
def _system_tls() -> ssl.SSLContext:
    return httpx.create_ssl_context(trust_env=False)
