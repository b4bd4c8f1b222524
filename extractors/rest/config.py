"""Settings of an account of a declarative connector."""

from __future__ import annotations

from pydantic import Field, field_validator

from extractors.address import parse_url
from extractors.oauth_settings import OAuthSettings
from schemas.errors import AuthError


class RestConfig(OAuthSettings):
    """``definition``: the path of a YAML file, or the name of one that ships. ``settings``: its ``config`` values."""

    definition: str = Field(min_length=1, max_length=1_000)
    base_url: str = Field(default="", max_length=2_000)
    """Where this account's system is, in place of the definition's base_url."""
    settings: dict[str, str] = Field(default={}, max_length=20)
    allow_private: bool = False
    """Whether it may lie in a private network or on this machine."""

    @field_validator("base_url")
    @classmethod
    def _is_web_address(cls, value: str) -> str:
        if value:
            try:
                parse_url(value)
            except AuthError as error:
                raise ValueError(str(error)) from error
        return value
