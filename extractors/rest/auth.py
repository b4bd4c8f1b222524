"""How a definition says that its system lets us in. Secrets are named here and never written down."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from schemas.model import Model

_HEADER = r"^[A-Za-z][A-Za-z0-9-]{0,60}$"
_PARAM = r"^[A-Za-z][A-Za-z0-9_.\[\]-]{0,60}$"


class _Auth(Model):
    help: str = Field(default="", max_length=300)
    """Where the person finds what is asked for."""


class NoAuth(_Auth):
    type: Literal["none"] = "none"


class BasicAuth(_Auth):
    """Secrets ``username`` and ``password``."""

    type: Literal["basic"]


class BearerAuth(_Auth):
    """Secret ``token``, sent as Authorization: Bearer."""

    type: Literal["bearer"]


class HeaderKey(_Auth):
    """Secret ``api_key``, sent in a header after ``prefix``."""

    type: Literal["api_key"]
    place: Literal["header", "query"] = Field(default="header", alias="in")
    name: str = Field(default="X-Api-Key", pattern=_PARAM)
    prefix: str = Field(default="", max_length=40, pattern=r"^[\x20-\x7e]*$")


class OAuth2(_Auth):
    """The account's consent: an access token that is renewed. ``connection`` names the provider for people."""

    type: Literal["oauth2"]
    connection: str = Field(default="", max_length=80)
    scopes: tuple[str, ...] = ()


class ClientCredentials(_Auth):
    """Secrets ``client_id`` and ``client_secret``, traded for an access token at ``token_url`` by every poll."""

    type: Literal["client_credentials"]
    token_url: str = Field(max_length=2_000)
    scopes: tuple[str, ...] = ()
    audience: str = Field(default="", max_length=500)
    style: Literal["basic", "form"] = "basic"


Auth = Annotated[NoAuth | BasicAuth | BearerAuth | HeaderKey | OAuth2 | ClientCredentials, Field(discriminator="type")]
