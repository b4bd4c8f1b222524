"""The calendar objects themselves, fetched many at a time; one that cannot be had does not stop the others."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field

import httpx

from extractors.address import parse_url
from extractors.caldav import queries
from extractors.caldav.client import Dav, joined
from extractors.caldav.xml import CALDAV, DAV, Unusable, plain_path
from extractors.http import Oversized
from schemas.errors import TransientError

_FAILURES_CAP = 16
"""Requests of one poll that may fail while we look for the object that makes them fail."""
_BROKEN = frozenset({400, 404, 410, 413, 414, 500, 507})


@dataclass(frozen=True, slots=True)
class Fetched:
    """``raw`` is None where it cannot be had; ``fault`` says why, '' where it is simply gone by now."""

    href: str
    etag: str
    raw: bytes | None
    fault: str = ""
    code: str = "unreadable"

    @property
    def path(self) -> str:
        return plain_path(self.href)


@dataclass(slots=True)
class Fetch:
    """``size``: objects of one request."""

    dav: Dav
    size: int
    failures: int = field(default=0, init=False)

    async def all(self, calendar_url: str, hrefs: Sequence[str]) -> list[Fetched]:
        """In the order of ``hrefs``. TransientError when the server fails too often for it to be the objects."""
        url, size = parse_url(calendar_url), self.size
        chunks = [list(hrefs[at : at + size]) for at in range(0, len(hrefs), size)]
        found = [one for chunk in chunks async for one in self._some(url, chunk)]
        order = {plain_path(href): index for index, href in enumerate(hrefs)}
        return sorted(found, key=lambda one: order.get(one.path, 0))

    async def _some(self, url: httpx.URL, hrefs: list[str]) -> AsyncIterator[Fetched]:
        answered = await self._asked(url, hrefs)
        if answered is None:
            if len(hrefs) == 1:
                yield await self._alone(url, hrefs[0])
                return
            middle = len(hrefs) // 2
            for half in (hrefs[:middle], hrefs[middle:]):
                async for one in self._some(url, half):
                    yield one
            return
        left = [href for href in hrefs if plain_path(href) not in answered]
        for one in answered.values():
            yield one
        if left and answered:
            async for one in self._some(url, left):
                yield one
        else:
            for href in left:
                yield await self._alone(url, href)

    async def _asked(self, url: httpx.URL, hrefs: list[str]) -> Mapping[str, Fetched] | None:
        """By path, of those that were asked for. None where the answer cannot be used.

        A calendar that is gone meanwhile answers 404: then all of it is asked for again by the next poll.
        """
        try:
            answer = await self.dav.send("REPORT", url, queries.multiget(hrefs), "1", _BROKEN)
            if answer.status in _BROKEN:
                raise Unusable(f"{url.host} answers {answer.status}")
            found = await self.dav.read(answer)
        except (Oversized, Unusable) as error:
            self._failed(error)
            return None
        wanted = {plain_path(href): href for href in hrefs}
        answered: dict[str, Fetched] = {}
        for one in found.responses:
            if one.path in wanted and one.path not in answered:
                data = one.props.get(CALDAV + "calendar-data")
                if data is not None:
                    raw = (data.text or "").encode()
                    answered[one.path] = Fetched(wanted[one.path], one.text(DAV + "getetag"), raw)
                elif one.status in (404, 410):
                    answered[one.path] = Fetched(wanted[one.path], "", None)
        return answered

    async def _alone(self, url: httpx.URL, href: str) -> Fetched:
        """By a plain GET, which also serves what no XML can hold."""
        try:
            place = url.copy_with(raw_path=joined(url, href).raw_path)
            answer = await self.dav.send("GET", place, None, "0", {403, 406, *_BROKEN})
        except Oversized as error:
            return Fetched(href, "", None, str(error), "too_large")
        if answer.status in (404, 410):
            return Fetched(href, "", None)
        if answer.status != 200:
            self._failed(Unusable(f"{url.host} answers {answer.status}"))
            return Fetched(href, "", None, f"the server answers {answer.status} for it")
        if answer.body.lstrip()[:1] == b"<":
            return Fetched(href, "", None, "the server gives a web page for it")
        return Fetched(href, answer.headers.get("etag", ""), answer.body)

    def _failed(self, error: TransientError) -> None:
        self.failures += 1
        if self.failures > _FAILURES_CAP:
            raise error
