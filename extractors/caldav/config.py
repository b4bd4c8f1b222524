"""Settings of a CalDAV account."""

from __future__ import annotations

from typing import Self

from pydantic import Field, field_validator, model_validator

from extractors.address import parse_url
from extractors.oauth_settings import OAuthSettings
from schemas.errors import AuthError


class CaldavConfig(OAuthSettings):
    """``url``: where to begin: a server, a person's page (principal), the home of calendars, or one calendar, which
    is then the only one that is watched."""

    url: str = Field(max_length=2_000)
    username: str = Field(default="", max_length=300)
    """Used where no user name was entered with the password."""
    trusted_hosts: tuple[str, ...] = Field(default=(), max_length=20)
    """Hosts beside that of ``url`` that are given the password, as the server sends us there: ``host``, ``host:port``,
    or ``.domain`` for all hosts below it. Always over https, unless ``url`` is http."""
    calendars: tuple[str, ...] = ()
    """Only these, by name or by the path of their address; empty: all."""
    addresses: tuple[str, ...] = ()
    """The owner's mail addresses: who of the attendees the owner is."""
    horizon_past_days: int = Field(default=31, ge=0, le=3_660)
    horizon_future_days: int = Field(default=400, ge=1, le=3_660)
    """How far back and ahead occurrences are watched, rounded to whole months."""
    max_occurrences: int = Field(default=3_000, ge=1, le=4_000)
    """Of more than these, the nearest to now are watched. Each costs about 150 bytes of the account's cursor."""
    allow_private: bool = False
    """Whether the server may be in a private network or on this machine, and ``url`` be http."""

    @field_validator("url")
    @classmethod
    def _is_web_address(cls, value: str) -> str:
        try:
            return str(parse_url(value))
        except AuthError as error:
            raise ValueError(str(error)) from error

    @model_validator(mode="after")
    def _is_encrypted(self) -> Self:
        if self.url.startswith("http:") and not self.allow_private:
            raise ValueError("the password would be sent in clear text: use https, or set allow_private = true at home")
        return self

    @field_validator("trusted_hosts")
    @classmethod
    def _are_hosts(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for host in value:
            if "/" in host or "@" in host or "*" in host or not host.strip(".") or "." not in host.strip("."):
                raise ValueError(f"{host!r} is no host name: dav.example.org, dav.example.org:8443 or .example.org")
        return tuple(host.lower() for host in value)
