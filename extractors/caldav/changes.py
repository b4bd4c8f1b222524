"""What changed in one calendar since the last poll: sync-collection where the server can, else a list of ETags."""

from __future__ import annotations

from dataclasses import dataclass, field

import httpx

from extractors.address import parse_url
from extractors.caldav import queries
from extractors.caldav.client import Dav
from extractors.caldav.home import Calendar
from extractors.caldav.xml import DAV, Multistatus, is_token_refused, same_collection
from schemas.errors import TransientError

OBJECTS_CAP = 50_000
ROUNDS_CAP = 1_000

_UNABLE = frozenset({400, 403, 405, 409, 410, 412, 415, 418, 422, 500, 501, 507})
"""What servers answer that cannot do sync-collection, or not from that token (python-caldav#203, #353, #461)."""


@dataclass(slots=True)
class Listing:
    """``items``: path to (href, ETag or '') of what is there, ``gone``: paths of what is not any more.

    ``is_full``: what is not in ``items`` is gone too. ``token``: where the next listing begins; '' for one that must be
    full. ``lost``: the server no longer knew our token. ``is_missing``: there is no such calendar at this moment.
    """

    items: dict[str, tuple[str, str]] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    is_full: bool = False
    token: str = ""
    lost: bool = False
    is_missing: bool = False
    warnings: list[str] = field(default_factory=list)

    def put(self, path: str, href: str, etag: str) -> bool:
        """Whether that is news."""
        is_news = self.items.get(path) != (href, etag)
        self.items[path] = (href, etag)
        self.gone.discard(path)
        return is_news

    def drop(self, path: str) -> bool:
        is_news = path not in self.gone
        self.items.pop(path, None)
        self.gone.add(path)
        return is_news


async def list_changes(dav: Dav, calendar: Calendar, token: str) -> Listing:
    """The ladder: from the token, then from the beginning, then by ETags. The answer of one rung is never mixed with
    that of another. TransientError, where even the last one fails."""
    lost = False
    if calendar.syncs:
        for start in dict.fromkeys((token, "")):
            listing = await _synced(dav, calendar, start)
            if listing is not None:
                listing.lost = lost
                return listing
            lost = bool(token)
    listing = await _by_etags(dav, calendar)
    listing.lost = lost
    return listing


async def _synced(dav: Dav, calendar: Calendar, token: str) -> Listing | None:
    """None where the server cannot. Asks until the answer holds nothing more, however the server cuts it."""
    listing = Listing(is_full=not token, token=token)
    for _ in range(ROUNDS_CAP):
        answer = await dav.send(
            "REPORT", parse_url(calendar.url), queries.sync_collection(listing.token), "0", {404, *_UNABLE}
        )
        if answer.status == 404 and not is_token_refused(answer.body, answer.url.host):
            return Listing(is_missing=True)
        if answer.status == 404 or answer.status in _UNABLE:
            return None
        found = await dav.read(answer)
        is_cut, has_news = _take(found, calendar, listing)
        is_last = not found.sync_token or found.sync_token == listing.token or not has_news
        if is_cut and is_last:
            raise TransientError(f"{answer.url.host} cuts its list of changes and does not say how to go on")
        listing.token = found.sync_token
        if is_last:
            return listing
        _bound(listing, answer.url)
    raise TransientError(f"{parse_url(calendar.url).host} never ends its list of changes")


def _take(found: Multistatus, calendar: Calendar, listing: Listing) -> tuple[bool, bool]:
    """Whether the server says that there is more, and whether there was anything new."""
    is_cut = has_news = False
    for one in found.responses:
        if one.status == 507:
            is_cut = True
        elif same_collection(one.path, calendar.path) or one.path.endswith("/"):
            continue
        elif one.status in (404, 410):
            has_news |= listing.drop(one.path)
        elif one.status == 200:
            has_news |= listing.put(one.path, one.href, one.text(DAV + "getetag"))
    return is_cut, has_news


async def _by_etags(dav: Dav, calendar: Calendar) -> Listing:
    url = parse_url(calendar.url)
    answer = await dav.send("PROPFIND", url, queries.ETAGS, "1", passing={403, 404, 410})
    if answer.status in (403, 404, 410):
        return Listing(is_missing=True)
    found = await dav.read(answer)
    itself = found.at(calendar.path)
    if itself is not None and itself.status in (404, 410):
        return Listing(is_missing=True)
    listing = Listing(is_full=True)
    kept = [one for one in found.responses if not one.has(DAV + "resourcetype", DAV + "collection")]
    is_cut, _ = _take(Multistatus(tuple(kept)), calendar, listing)
    listing.gone.clear()
    if is_cut or not found.responses:
        listing.is_full = False
        listing.warnings.append(f"{calendar.title}: the server does not list all of it")
    _bound(listing, answer.url)
    return listing


def _bound(listing: Listing, url: httpx.URL) -> None:
    if len(listing.items) > OBJECTS_CAP:
        raise TransientError(
            f"{url.host} has more than {OBJECTS_CAP} entries in one calendar", remedy="name others in calendars"
        )
