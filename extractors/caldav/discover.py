"""From what a person types (a mail address, a host, an address) to the settings of an account.

Nothing is sent but questions without credentials: the person sees where the password would go before entering it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import httpx

from extractors.address import parse_url
from extractors.caldav import queries
from extractors.caldav.home import places
from extractors.caldav.xml import multistatus
from extractors.connector import Context
from extractors.http import Http
from schemas.errors import AuthError, ForewatchError, TransientError
from schemas.model import Json


@dataclass(frozen=True, slots=True)
class Provider:
    url: str
    trusted_hosts: tuple[str, ...] = ()


_ICLOUD = Provider("https://caldav.icloud.com/", (".icloud.com",))
_FASTMAIL = Provider("https://caldav.fastmail.com/")
PROVIDERS: Mapping[str, Provider] = {
    "icloud.com": _ICLOUD,
    "me.com": _ICLOUD,
    "mac.com": _ICLOUD,
    "fastmail.com": _FASTMAIL,
    "fastmail.fm": _FASTMAIL,
    "gmx.net": Provider("https://caldav.gmx.net/"),
    "gmx.de": Provider("https://caldav.gmx.net/"),
    "mailbox.org": Provider("https://dav.mailbox.org/"),
    "posteo.de": Provider("https://posteo.de:8443/"),
    "web.de": Provider("https://caldav.web.de/"),
}
"""By the domain of a mail address. iCloud spreads its calendars over numbered hosts."""

_ELSEWHERE = {
    "gmail.com": "google_calendar",
    "googlemail.com": "google_calendar",
    "outlook.com": "graph_calendar",
    "hotmail.com": "graph_calendar",
    "live.com": "graph_calendar",
}


async def discover(hint: str, context: Context) -> dict[str, Json]:
    """AuthError: what to type instead."""
    hint = hint.strip()
    if not hint:
        raise AuthError("which server?", remedy="type your mail address, or the address of the CalDAV server")
    user, at, domain = hint.rpartition("@")
    is_mail = bool(at and user) and "/" not in hint
    place = domain.lower() if is_mail else hint
    if other := _ELSEWHERE.get(place):
        raise AuthError(f"{place} has a connector of its own", remedy=f"use {other} instead of caldav")
    provider = PROVIDERS.get(place) or await _found(place, context.access.http)
    settings: dict[str, Json] = {"url": provider.url}
    if is_mail:
        settings |= {"username": hint, "addresses": [hint.lower()]}
    if provider.trusted_hosts:
        settings["trusted_hosts"] = [*provider.trusted_hosts]
    return settings


async def _found(place: str, http: Http) -> Provider:
    start = parse_url(place if "://" in place else f"https://{place}")
    failures: list[ForewatchError] = []
    guesses = places(start)
    if len(guesses) == 1:
        guesses = [*guesses, *places(start.copy_with(path="/"))]
    for url in guesses:
        try:
            if (found := await _answers(url, http)) is not None:
                return Provider(str(found))
        except (AuthError, TransientError) as error:
            failures.append(error)
    reason = f": {failures[0].message}" if failures else ""
    raise AuthError(
        f"no CalDAV server was found at {start.host}{reason}",
        remedy="look up its address in the help pages of your provider, and type that",
    )


async def _answers(url: httpx.URL, http: Http) -> httpx.URL | None:
    """Where a CalDAV server answers, redirects followed; None where something else does."""
    headers = {"Depth": "0", "Content-Type": "application/xml; charset=utf-8"}
    answer = await http.send("PROPFIND", url, headers=headers, content=queries.BEGIN, passing={401, 403, 404, 405, 501})
    if answer.status == 401:
        return answer.url
    if answer.status != 207:
        return None
    multistatus(answer.body, url.host)
    return answer.url
