"""Paging: what to ask for the next page of a list, and whether there is one. Pure.

A position is JSON that a cursor can keep: a page number, an offset, a token, or an address; None is the first page.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import assert_never

import httpx

from extractors.address import origin, parse_url
from extractors.rest.expression import Unfit, holds, search
from extractors.rest.pagination import (
    Cursors,
    JsonLink,
    LinkHeader,
    Offsets,
    OnePage,
    PageNumbers,
    Pagination,
    Relay,
)
from schemas.errors import AuthError
from schemas.model import Json

TOKEN_CAP = 4_000
_LINK = re.compile(r"<([^<>]{1,4000})>([^<]{0,1000})")
_REL = re.compile(r';\s*rel\s*=\s*(?:"([^"]{0,200})"|([^\s;,"]{1,200}))', re.IGNORECASE)


class Stuck(ValueError):
    """The source cannot say what its next page is."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What a position adds to a request. With ``url`` it is the whole request."""

    values: Mapping[str, str | int] = field(default_factory=dict)
    in_body: bool = False
    url: str = ""


@dataclass(frozen=True, slots=True)
class Given:
    """What was given for the last request. ``rows`` counts all items, also those that are of no use."""

    document: Json
    headers: Mapping[str, str]
    url: httpx.URL
    rows: int


def turn(paginate: Pagination, position: Json) -> Turn:
    match paginate:
        case PageNumbers() | Offsets():
            start = paginate.start if isinstance(paginate, PageNumbers) else 0
            values: dict[str, str | int] = {paginate.param: position if isinstance(position, int) else start}
            if paginate.size_param is not None and paginate.size is not None:
                values[paginate.size_param] = paginate.size
            return Turn(values, paginate.place == "body")
        case Cursors():
            values = {paginate.param: position} if isinstance(position, str | int) else {}
            return Turn(values, paginate.place == "body")
        case Relay():
            return Turn({paginate.param: position} if isinstance(position, str | int) else {}, in_body=True)
        case LinkHeader() | JsonLink():
            return Turn(url=position if isinstance(position, str) else "")
        case OnePage():
            return Turn()
        case _:
            assert_never(paginate)


def following(paginate: Pagination, position: Json, given: Given) -> Json:
    """The next position; None after the last page. Stuck, or AuthError for a link that leads elsewhere."""
    try:
        return _following(paginate, position, given)
    except Unfit as error:
        raise Stuck(f"the pages cannot be followed: {error}") from error


def _following(paginate: Pagination, position: Json, given: Given) -> Json:
    match paginate:
        case PageNumbers():
            return _next_number(paginate, position, given)
        case Offsets():
            return _next_offset(paginate, position, given)
        case Cursors():
            return None if _stops(paginate.stop_when, given) else _token(search(paginate.cursor, given.document))
        case Relay():
            return _end_cursor(search(paginate.info, given.document))
        case LinkHeader():
            return _address(_link(given.headers.get("link", ""), paginate.rel), given)
        case JsonLink():
            return None if _stops(paginate.stop_when, given) else _address(search(paginate.link, given.document), given)
        case OnePage():
            return None
        case _:
            assert_never(paginate)


def _stops(expression: str | None, given: Given) -> bool:
    return expression is not None and holds(expression, given.document)


def _next_number(paginate: PageNumbers, position: Json, given: Given) -> Json:
    page = position if isinstance(position, int) else paginate.start
    if _stops(paginate.stop_when, given):
        return None
    if paginate.pages is not None:
        return page + 1 if page + 1 - paginate.start < _count(search(paginate.pages, given.document)) else None
    return page + 1 if given.rows else None


def _next_offset(paginate: Offsets, position: Json, given: Given) -> Json:
    """Past what was given, not past what was asked for: sources give fewer at a time than they are asked for."""
    reached = (position if isinstance(position, int) else 0) + given.rows
    if _stops(paginate.stop_when, given) or not given.rows:
        return None
    if paginate.total is not None and reached >= _count(search(paginate.total, given.document)):
        return None
    return reached


def _count(found: Json) -> int:
    text = str(found)
    if isinstance(found, bool) or not isinstance(found, int | str) or not text.isdecimal() or len(text) > 18:
        raise Stuck(f"{text[:40]!r} is no number of pages or rows")
    return int(found)


def _token(found: Json) -> Json:
    if found is None or found is False or found == "":
        return None
    if isinstance(found, bool) or not isinstance(found, str | int) or len(str(found)) > TOKEN_CAP:
        raise Stuck("the next page's cursor is no token")
    return found


def _end_cursor(info: Json) -> Json:
    if not isinstance(info, dict) or not isinstance(info.get("hasNextPage"), bool):
        raise Stuck("there is no pageInfo")
    if not info["hasNextPage"]:
        return None
    token = _token(info.get("endCursor"))
    if token is None:
        raise Stuck("there is another page, and no cursor that leads to it")
    return token


def _link(header: str, rel: str) -> str | None:
    """The address with this relation in a Link header (RFC 8288)."""
    for match in _LINK.finditer(header[:20_000]):
        found = _REL.search(match.group(2))
        if found is not None and rel in (found.group(1) or found.group(2) or "").lower().split():
            return match.group(1)
    return None


def _address(found: Json, given: Given) -> Json:
    """A whole address on the same origin; a token for this system must not be sent to another."""
    if found is None or found is False or found == "":
        return None
    if not isinstance(found, str) or len(found) > TOKEN_CAP:
        raise Stuck("the next page's link is no address")
    try:
        url = parse_url(str(given.url.join(found)))
    except (httpx.InvalidURL, ValueError) as error:
        raise Stuck("the next page's link is no address") from error
    if origin(url) != origin(given.url):
        raise AuthError(
            f"{given.url.host} sends us on to {url.host} for its next page, where its credentials do not belong",
            remedy="correct base_url in the definition",
        )
    return str(url)
