"""Microsoft Graph, as the mail and the calendar connector both need it: reads only, one at a time.

Ids are asked for in their immutable form: the others change when a thing moves.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self
from urllib.parse import quote

from pydantic import Field, field_validator, model_validator

from extractors.address import origin, parse_url
from extractors.connector import Access
from extractors.http import Answer, Oversized, refused
from extractors.mail import limits
from extractors.oauth_settings import OAuthSettings
from schemas.errors import AuthError, ForewatchError, PoisonError, TransientError
from schemas.model import Json

BASE_URL = "https://graph.microsoft.com/v1.0"
PAGES_CAP = 10_000
"""Pages of one listing: two million mails."""

_EXPLAINED = (400, 403, 404, 405, 410, 501)
_FORGOTTEN = frozenset({"syncstatenotfound", "syncstateinvalid", "resyncrequired", "resyncchangesapplydifferences"})
_UNREADABLE = frozenset(
    {"errormimecontentconversionfailed", "errorcontentconversionfailed", "errormimecontentinvalid", "errorcorruptdata"}
)
_NO_MAILBOX = frozenset({"mailboxnotenabledforrestapi", "errornonexistentmailbox", "errorinvaliduser"})

Item = dict[str, Any]


class GraphSettings(OAuthSettings):
    """What the settings of the Microsoft connectors have in common."""

    addresses: tuple[str, ...] = Field(default=(), max_length=50)
    """The owner's own mail addresses."""
    base_url: str = Field(default=BASE_URL, max_length=2_000)
    """Another Graph, as the national clouds have."""
    allow_private: bool = False
    """Whether ``base_url`` may lead into a private network or to this machine, unencrypted too."""

    @field_validator("addresses")
    @classmethod
    def _lower_case(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for address in value:
            if address.count("@") != 1:
                raise ValueError(f"{address!r} is no mail address; write name@domain")
        return tuple(address.strip().lower() for address in value)

    @model_validator(mode="after")
    def _is_encrypted(self) -> Self:
        """The access token goes there."""
        if not self.base_url.startswith("https://") and not self.allow_private:
            raise ValueError("base_url must begin with https://")
        return self


def discovered(hint: str) -> dict[str, Json]:
    """Settings from what a person types: an address, or nothing. Everything else the consent says."""
    address = hint.strip().lower()
    if not address:
        return {"provider": "microsoft"}
    if address.count("@") != 1 or " " in address:
        raise AuthError(f"{hint[:80]!r} is no mail address", remedy="type your address, such as name@outlook.com")
    return {"provider": "microsoft", "addresses": [address]}


class Forgotten(TransientError):
    """The service no longer knows where we were (410 SyncStateNotFound, resyncRequired), also in mid-paging."""


class NotUnderstood(TransientError):
    """The service has no such thing, or no answer to such a question: not every calendar tells its changes."""


@dataclass(frozen=True, slots=True)
class Delta:
    """All that changed since the link that was asked. ``link`` asks for what comes after; ``pages`` were read."""

    items: Sequence[Item]
    link: str
    pages: int = 1


class Graph:
    """``wants`` names the permission that is missing where Microsoft refuses."""

    def __init__(self, access: Access, base_url: str, now: datetime, *, wants: str) -> None:
        self._access = access
        self._base = base_url.rstrip("/")
        self._now = now
        self._wants = wants

    def url(self, *path: str) -> str:
        """The address of a thing; ids may hold anything."""
        return "/".join((self._base, *(quote(part, safe="$") for part in path)))

    async def find(self, url: str, params: Mapping[str, str | int] | None = None, *, prefer: str = "") -> Item | None:
        """One object; None where there is none."""
        answer = await self._send(url, params, prefer)
        if answer.status == 404 and _code(answer) not in _NO_MAILBOX:
            return None
        return self._object(answer)

    async def every(self, url: str, params: Mapping[str, str | int], *, prefer: str = "") -> list[Item]:
        """The items of a whole listing."""
        found: list[Item] = []
        async for page in self._pages(url, params, prefer):
            found += _items(page)
        return found

    async def delta(self, url: str, params: Mapping[str, str | int] | None = None, *, prefer: str = "") -> Delta:
        """All pages from this link (or first address) to the next ``deltaLink``. Forgotten: list everything anew."""
        if origin(parse_url(url)) != origin(parse_url(self._base)):
            raise Forgotten("the place was kept for another address")
        found: list[Item] = []
        page: Item = {}
        pages = 0
        async for page in self._pages(url, params, prefer):
            found += _items(page)
            pages += 1
        link = page.get("@odata.deltaLink")
        if not isinstance(link, str):
            raise TransientError("Microsoft Graph ends a listing without a deltaLink")
        return Delta(found, self._own(link), pages)

    async def content(self, url: str) -> bytes | None:
        """The MIME text of a mail; None where it is gone. PoisonError where it is too large or Exchange cannot say."""
        try:
            answer = await self._send(url, None, "", (*_EXPLAINED, 500), limits.MESSAGE_BYTES)
        except Oversized as error:
            raise PoisonError(error.message, code="too_large") from error
        if answer.status == 404 and _code(answer) not in _NO_MAILBOX:
            return None
        if answer.status in (400, 500) and _code(answer) in _UNREADABLE:
            raise PoisonError(f"the server cannot give this mail: {_code(answer)}", code="unreadable")
        if answer.status >= 400:
            raise self._refusal(answer)
        if "html" in answer.headers.get("content-type", ""):
            raise TransientError(f"{answer.url.host} answers with a web page, not with a mail")
        return answer.body

    async def _pages(self, url: str, params: Mapping[str, str | int] | None, prefer: str) -> AsyncIterator[Item]:
        asked: set[str] = set()
        while True:
            asked.add(url)
            page = self._object(await self._send(url, params, prefer))
            yield page
            link = page.get("@odata.nextLink")
            if link is None:
                return
            if not isinstance(link, str) or link in asked or len(asked) >= PAGES_CAP:
                raise TransientError("Microsoft Graph pages in a circle")
            url, params = self._own(link), None

    async def _send(
        self,
        url: str,
        params: Mapping[str, str | int] | None,
        prefer: str,
        passing: Sequence[int] = _EXPLAINED,
        body_bytes: int | None = None,
    ) -> Answer:
        wishes = ", ".join(filter(None, ('IdType="ImmutableId"', prefer)))
        return await self._access.http.send(
            "GET",
            url,
            params=params,
            headers={"Prefer": wishes},
            bearer=self._access.token,
            passing=passing,
            body_bytes=body_bytes,
        )

    def _own(self, link: str) -> str:
        """A link that the service gave, if it leads to the service: the access token goes along."""
        try:
            target = parse_url(link)
        except AuthError as error:
            raise TransientError("Microsoft Graph gives a link that is none") from error
        if origin(target) != origin(parse_url(self._base)):
            raise TransientError(f"Microsoft Graph gives a link to {target.host}, where it does not belong")
        return link

    def _object(self, answer: Answer) -> Item:
        if answer.status in _EXPLAINED:
            if answer.status == 410 or _code(answer) in _FORGOTTEN:
                raise Forgotten("Microsoft Graph has forgotten what it told us last")
            raise self._refusal(answer)
        return answer.object()

    def _refusal(self, answer: Answer) -> ForewatchError:
        code = _code(answer)
        if code in _NO_MAILBOX:
            return AuthError("this Microsoft account has no mailbox", remedy="connect an account with Outlook")
        if answer.status == 403:
            remedy = f"connect it again and allow {self._wants}"
            return AuthError(f"Microsoft refuses: {code or 'access is not allowed'}", remedy=remedy)
        if answer.status in (400, 404, 405, 501):
            return NotUnderstood(f"Microsoft Graph answers {answer.status}: {code or 'no reason given'}")
        return refused(answer, self._now)


def text_of(item: Item, name: str) -> str:
    """A text of an object, in characters that can be stored; '' for anything else."""
    value = item.get(name)
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else ""


def removed(item: Item) -> bool:
    """Whether a delta says that the thing is no longer there (``deleted``, or ``changed`` so that it is elsewhere)."""
    return "@removed" in item


def _items(page: Item) -> list[Item]:
    items = page.get("value")
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise TransientError("Microsoft Graph answers without a list")
    return items


def _code(answer: Answer) -> str:
    """The error code in lower case; empty where the answer has none."""
    try:
        error = answer.object().get("error")
    except TransientError:
        return ""
    code = error.get("code") if isinstance(error, dict) else None
    return code.lower()[:80] if isinstance(code, str) else ""
