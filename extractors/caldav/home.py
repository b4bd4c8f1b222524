"""Where a person's calendars are, and which there are: RFC 4791 and 6764, as servers really do it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import httpx

from extractors.address import origin, parse_url
from extractors.caldav import queries
from extractors.caldav.client import Dav, joined
from extractors.caldav.xml import CALDAV, DAV, SERVER, Multistatus, Response, Unusable, plain_path, same_collection
from extractors.text import one_line
from schemas.errors import AuthError, TransientError

CALENDARS_CAP = 200
HOMES_CAP = 5
WELL_KNOWN = "/.well-known/caldav"
NEXTCLOUD = "/remote.php/dav/"

_NOTHING_HERE = frozenset({403, 404, 405, 410, 501})
_KINDS = {"VEVENT": "events", "VTODO": "to-dos"}


@dataclass(frozen=True, slots=True)
class Home:
    """A collection of calendars, or a single one."""

    url: str
    is_calendar: bool = False


@dataclass(frozen=True, slots=True)
class Calendar:
    """``path`` names it, whatever host it is on. ``mark``: equal as long as nothing changes in it; '' where the server
    has none. ``token``: the sync token, where the server shows it. ``syncs``: it may know sync-collection."""

    url: str
    path: str
    title: str
    holds: tuple[str, ...]
    mark: str
    token: str
    syncs: bool
    is_own: bool
    transparent: bool


async def find_homes(dav: Dav, url: str) -> list[Home]:
    """From any address that a person may have typed. AuthError where there is no CalDAV."""
    itself, place = await _begin(dav, parse_url(url))
    if itself.has(DAV + "resourcetype", CALDAV + "calendar"):
        return [Home(str(place), is_calendar=True)]
    if homes := itself.hrefs(CALDAV + "calendar-home-set"):
        return _homes(place, homes)
    for principal in itself.hrefs(DAV + "current-user-principal")[:1]:
        found, where = await dav.find("PROPFIND", joined(place, principal), queries.PRINCIPAL, "0")
        if homes := _about(found, where).hrefs(CALDAV + "calendar-home-set"):
            return _homes(where, homes)
    if itself.has(DAV + "resourcetype", DAV + "collection"):
        return [Home(str(place))]
    raise AuthError(f"{place.host} has no calendars at {place.path}", remedy="check the address")


async def _begin(dav: Dav, start: httpx.URL) -> tuple[Response, httpx.URL]:
    """The first of the places to look at where there is anything."""
    web_page: Unusable | None = None
    for url in places(start):
        answer = await dav.send("PROPFIND", url, queries.BEGIN, "0", passing=_NOTHING_HERE)
        if answer.status not in _NOTHING_HERE:
            try:
                return _about(await dav.read(answer), answer.url), answer.url
            except Unusable as error:
                web_page = web_page or error
    if web_page is not None:  # perhaps that of a captive portal, and gone tomorrow
        raise web_page
    raise AuthError(f"{start.host} has no CalDAV at that address", remedy="type the one that your provider names")


def places(start: httpx.URL) -> Sequence[httpx.URL]:
    """An address with a path is meant as it is; of a bare host it is asked where its calendars are."""
    if start.path not in ("", "/"):
        return [start]
    return [start.copy_with(path=path) for path in (WELL_KNOWN, "/", NEXTCLOUD)]


def _about(found: Multistatus, place: httpx.URL) -> Response:
    """What is said of the resource itself: some servers name it by another path than the one that was asked."""
    if (exact := found.at(plain_path(str(place)))) is not None:
        itself = exact
    elif len(found.responses) == 1:
        itself = found.responses[0]
    else:
        raise TransientError(f"{place.host} does not say what is at {place.path}")
    if itself.status >= 400:
        raise AuthError(f"{place.host} answers {itself.status} for {place.path}", remedy="check the address")
    return itself


def _homes(base: httpx.URL, hrefs: Sequence[str]) -> list[Home]:
    return [Home(str(joined(base, href))) for href in dict.fromkeys(hrefs)][:HOMES_CAP]


async def find_calendars(dav: Dav, homes: Sequence[Home]) -> list[Calendar]:
    """In order of their paths; those that hold neither events nor to-dos are left out."""
    calendars: dict[str, Calendar] = {}
    for home in homes:
        depth = "0" if home.is_calendar else "1"
        found, place = await dav.find("PROPFIND", parse_url(home.url), queries.CALENDARS, depth)
        if found.responses and all(one.status == 404 for one in found.responses):
            raise AuthError(f"{place.host} answers 404 for {place.path}", remedy="check the address")
        for one in found.responses:
            if one.status == 200 and one.has(DAV + "resourcetype", CALDAV + "calendar"):
                calendar = _calendar(one, place)
                calendars.setdefault(calendar.path.rstrip("/"), calendar)
        if len(calendars) > CALENDARS_CAP:
            raise AuthError(
                f"more than {CALENDARS_CAP} calendars", remedy="name those to watch in the setting calendars"
            )
    return sorted((one for one in calendars.values() if one.holds), key=lambda one: one.path)


def chosen(calendars: Sequence[Calendar], names: Sequence[str]) -> list[Calendar]:
    """All, where there are no names."""
    wanted = set(names)
    return [
        one
        for one in calendars
        if not wanted or one.title in wanted or any(same_collection(one.path, name) for name in wanted)
    ]


async def is_gone(dav: Dav, path: str, homes: Sequence[Home]) -> bool:
    """Whether each server, asked for this very calendar, says that it is no more."""
    places = {origin(url): url for url in (parse_url(home.url) for home in homes)}
    return all([await _is_gone_at(dav, url.copy_with(path=path)) for url in places.values()])


async def _is_gone_at(dav: Dav, url: httpx.URL) -> bool:
    answer = await dav.send("PROPFIND", url, queries.CALENDARS, "0", passing={403, 404, 410})
    if answer.status in (403, 404, 410):
        return answer.status != 403
    itself = (await dav.read(answer)).at(plain_path(str(url)))
    if itself is None:
        return False
    is_other = DAV + "resourcetype" in itself.props and not itself.has(DAV + "resourcetype", CALDAV + "calendar")
    return itself.status in (404, 410) or is_other


def _calendar(found: Response, place: httpx.URL) -> Calendar:
    # the path alone: of another host than the one that answers nothing may be said
    url = place.copy_with(raw_path=joined(place, found.href).raw_path)
    token, ctag = found.text(DAV + "sync-token"), found.text(SERVER + "getctag")
    reports = found.props.get(DAV + "supported-report-set")
    owner, person = found.hrefs(DAV + "owner"), found.hrefs(DAV + "current-user-principal")
    title = one_line(found.text(DAV + "displayname"), 200)
    return Calendar(
        url=str(url),
        path=found.path,
        title=title or found.path.rstrip("/").rpartition("/")[2],
        holds=_held(found),
        mark=f"{token} {ctag}".strip(),
        token=token,
        syncs=reports is None or not len(reports) or any(True for _ in reports.iter(DAV + "sync-collection")),
        is_own=not owner or not person or same_collection(plain_path(owner[0]), plain_path(person[0])),
        transparent=found.has(CALDAV + "schedule-calendar-transp", CALDAV + "transparent"),
    )


def _held(found: Response) -> tuple[str, ...]:
    """Of events and to-dos; both where the server does not say."""
    kinds = found.props.get(CALDAV + "supported-calendar-component-set")
    if kinds is None:
        return tuple(_KINDS.values())
    names = {str(one.get("name", "")).upper() for one in kinds.iter(CALDAV + "comp")}
    return tuple(word for name, word in _KINDS.items() if name in names) if names else tuple(_KINDS.values())
