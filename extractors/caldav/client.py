"""The WebDAV client of one poll: who is given the credentials, and what an answer means."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping

import httpx

from extractors.address import origin, parse_url
from extractors.caldav.config import CaldavConfig
from extractors.caldav.xml import Multistatus, multistatus
from extractors.connector import Access
from extractors.http import Answer
from schemas.errors import AuthError, TransientError

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_REDIRECTS_CAP = 5


class Dav:
    """Every request carries the credentials, so every address is checked first: the origin of the account's ``url``,
    or one that ``trusted_hosts`` names."""

    def __init__(self, config: CaldavConfig, access: Access) -> None:
        self._config = config
        self._access = access
        self._start = parse_url(config.url)

    async def find(self, method: str, url: httpx.URL, body: bytes, depth: str) -> tuple[Multistatus, httpx.URL]:
        """What a PROPFIND or REPORT gives, and where it was found in the end. Errors as in ``Http.send``, and
        TransientError for what is no multistatus."""
        answer = await self.send(method, url, body, depth)
        return await self.read(answer), answer.url

    async def read(self, answer: Answer) -> Multistatus:
        """207 is what they should say; a captive portal says 200."""
        return await asyncio.to_thread(multistatus, answer.body, answer.url.host)

    async def send(
        self, method: str, url: httpx.URL, body: bytes | None, depth: str, passing: Collection[int] = ()
    ) -> Answer:
        """AuthError where the server sends us to a host that nobody said to trust."""
        headers = {"Depth": depth} if body is not None else {}
        if body is not None:
            headers["Content-Type"] = "application/xml; charset=utf-8"
        for _ in range(_REDIRECTS_CAP + 1):
            self._check(url)
            answer = await self._access.http.send(
                method,
                url,
                headers=headers,
                content=body,
                auth=None if self._config.provider else self._basic(),
                bearer=self._access.token if self._config.provider else None,
                passing={*passing, *_REDIRECTS},
            )
            if answer.status not in _REDIRECTS:
                return answer
            location = answer.headers.get("location", "")
            if not location:
                raise TransientError(f"{url.host} redirects to nowhere")
            url = joined(answer.url, location)
        raise TransientError(f"{url.host} redirects more than {_REDIRECTS_CAP} times")

    async def change(
        self,
        method: str,
        url: httpx.URL,
        headers: Mapping[str, str],
        content: bytes | None,
        passing: Collection[int] = (),
    ) -> Answer:
        """For tools alone: a poll changes nothing. No redirect is followed."""
        self._check(url)
        return await self._access.http.send(
            method,
            url,
            headers=headers,
            content=content,
            auth=None if self._config.provider else self._basic(),
            bearer=self._access.token if self._config.provider else None,
            passing=passing,
        )

    def trusts(self, url: httpx.URL) -> bool:
        if origin(url) == origin(self._start):
            return True
        if url.scheme != "https" and self._start.scheme == "https":
            return False
        named = [entry for entry in self._config.trusted_hosts if _is_named(url, entry)]
        return bool(named)

    def _check(self, url: httpx.URL) -> None:
        if self.trusts(url):
            return
        if url.scheme != "https" and self._start.scheme == "https":
            raise AuthError(f"{self._start.host} sends us to {url.host} without encryption", remedy="ask its operator")
        place = url.netloc.decode()
        raise AuthError(
            f"{self._start.host} says that the calendars are on {place}, which is not trusted with the password",
            remedy=f"if that is right, add {place!r} to the account's trusted_hosts",
        )

    def _basic(self) -> tuple[str, str]:
        password = self._access.secret("password")
        try:
            entered = self._access.secret("username")
        except AuthError:
            entered = ""
        return entered or self._config.username, password


def _is_named(url: httpx.URL, entry: str) -> bool:
    host, _, port = entry.partition(":")
    if str(url.port or "") != port:
        return False
    return url.host == host or (host.startswith(".") and url.host.endswith(host))


def joined(base: httpx.URL, href: str) -> httpx.URL:
    """AuthError for what is no web address."""
    try:
        return parse_url(str(base.join(href)))
    except (httpx.InvalidURL, ValueError) as error:
        raise AuthError(f"{base.host} names an address that cannot be used: {href[:80]!r}") from error
