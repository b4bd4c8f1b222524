"""The ``Dav`` of tools, over the CalDAV client of the connector: the same trust in hosts, the same reading of XML."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from xml.sax.saxutils import escape

from actions.tools.caldav import Found
from actions.tools.wire import Reply
from extractors.address import parse_url
from extractors.caldav.client import Dav, joined
from extractors.caldav.config import CaldavConfig
from extractors.caldav.home import chosen, find_calendars, find_homes
from extractors.caldav.xml import CALDAV, DAV
from extractors.connector import Access
from forewatch.outgoing.http import ANY, classified, reply_of
from schemas.errors import AuthError, ForewatchError, NotSent, TransientError

_WORDS = {"VEVENT": "events", "VTODO": "to-dos"}
_QUERY = (
    '<?xml version="1.0" encoding="utf-8"?>\n<c:calendar-query xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav">'
    '<d:prop><d:getetag/><c:calendar-data/></d:prop><c:filter><c:comp-filter name="VCALENDAR"><c:comp-filter '
    'name="{component}"><c:prop-filter name="UID"><c:text-match collation="i;octet">{uid}</c:text-match>'
    "</c:prop-filter></c:comp-filter></c:comp-filter></c:filter></c:calendar-query>"
)


class AccountDav:
    """Its calendars are looked up once."""

    def __init__(self, config: CaldavConfig, access: Access, now: Callable[[], datetime]) -> None:
        self._config = config
        self._access = access
        self._dav = Dav(config, access)
        self._now = now
        self._known: list[tuple[str, tuple[str, ...]]] | None = None

    async def calendars(self, component: str) -> Sequence[str]:
        if self._known is None:
            try:
                homes = await find_homes(self._dav, self._config.url)
                found = chosen(await find_calendars(self._dav, homes), self._config.calendars)
            except TransientError as error:
                raise NotSent(error.message, remedy=error.remedy) from error
            self._known = [(each.url, each.holds) for each in sorted(found, key=lambda each: not each.is_own)]
        return [url for url, holds in self._known if _WORDS[component] in holds]

    async def find(self, calendar: str, component: str, uid: str) -> Sequence[Found]:
        body = _QUERY.format(component=component, uid=escape(uid)).encode()
        place = parse_url(calendar)
        try:
            answer = await self._dav.send("REPORT", place, body, "1")
            multistatus = await self._dav.read(answer)
        except TransientError as error:
            raise NotSent(error.message) from error
        return [
            Found(str(joined(place, one.href)), one.text(DAV + "getetag"), data.text or "")
            for one in multistatus.responses
            if (data := one.props.get(CALDAV + "calendar-data")) is not None
        ]

    async def put(self, url: str, text: str, etag: str) -> Reply:
        guard = {"If-Match": etag} if etag else {"If-None-Match": "*"}
        headers = {**guard, "Content-Type": "text/calendar; charset=utf-8"}
        return await self._changed("PUT", url, headers, text.encode("utf-8", "surrogateescape"))

    async def delete(self, url: str, etag: str) -> Reply:
        return await self._changed("DELETE", url, {"If-Match": etag} if etag else {}, None)

    async def _changed(self, method: str, url: str, headers: dict[str, str], content: bytes | None) -> Reply:
        """Looking up whose password it is comes first: what fails there was not sent."""
        await self._let_in()
        try:
            answer = await self._dav.change(method, parse_url(url), headers, content, ANY)
        except AuthError:
            raise
        except ForewatchError as error:
            raise classified(error) from error
        return reply_of(answer, self._now())

    async def _let_in(self) -> None:
        if self._config.provider:
            try:
                await self._access.token()
            except TransientError as error:
                raise NotSent(error.message) from error
