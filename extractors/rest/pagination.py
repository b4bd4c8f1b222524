"""How a source hands out long lists: the pagination of a stream as its definition says it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from extractors.rest.expression import Expression
from schemas.model import Model

Place = Literal["query", "body"]
_WORD = r"^[A-Za-z$_][A-Za-z0-9_.$\[\]-]{0,60}$"
_Param = Annotated[str, Field(pattern=_WORD)]


class OnePage(Model):
    type: Literal["none"] = "none"


class _Counted(Model):
    """Without ``stop_when`` the list ends at the first empty page: a page that is shorter than asked for may only
    mean that the source gives fewer at a time."""

    place: Place = Field(default="query", alias="in")
    size_param: _Param | None = None
    size: int | None = Field(default=None, ge=1, le=10_000)
    stop_when: Expression | None = None


class PageNumbers(_Counted):
    """``pages``: how many there are, where the answer says so."""

    type: Literal["page"]
    param: _Param = "page"
    start: int = Field(default=1, ge=0, le=1)
    pages: Expression | None = None


class Offsets(_Counted):
    """``total``: how many rows there are, where the answer says so."""

    type: Literal["offset"]
    param: _Param = "offset"
    total: Expression | None = None


class Cursors(Model):
    """The answer holds the token of the next page; none, or an empty one, ends the list."""

    type: Literal["cursor"]
    cursor: Expression
    param: _Param
    place: Place = Field(default="query", alias="in")
    stop_when: Expression | None = None


class LinkHeader(Model):
    """RFC 8288: ``Link: <...>; rel="next"``."""

    type: Literal["link_header"]
    rel: str = Field(default="next", pattern=r"^[a-z-]{1,20}$")


class JsonLink(Model):
    """The answer holds the address of the next page."""

    type: Literal["json_link"]
    link: Expression
    stop_when: Expression | None = None


class Relay(Model):
    """A GraphQL connection: ``info`` leads to its pageInfo, ``param`` is the variable that takes the end cursor."""

    type: Literal["graphql"]
    info: Expression
    param: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,60}$")] = "after"


Pagination = Annotated[
    OnePage | PageNumbers | Offsets | Cursors | LinkHeader | JsonLink | Relay, Field(discriminator="type")
]
