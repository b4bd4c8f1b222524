"""Settings of an ics account."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from pydantic import Field, field_validator, model_validator

from extractors.address import parse_url
from schemas.errors import AuthError
from schemas.model import Model


class IcsConfig(Model):
    """Either ``path`` (a file, or a folder of .ics files) or ``url``."""

    path: Path | None = None
    url: str | None = Field(default=None, max_length=2_000)
    """http, https or webcal (which is https)."""
    title: str = Field(default="", max_length=200)
    """What to call this calendar; by default what it calls itself."""
    horizon_past_days: int = Field(default=31, ge=0, le=3_660)
    horizon_future_days: int = Field(default=400, ge=1, le=3_660)
    """How far back and ahead occurrences are watched, rounded to whole months."""
    transparent: bool = False
    """Nothing in this calendar blocks the owner's time."""
    mine: bool = True
    """False for a calendar that others publish (a club, holidays): its words are then outside text."""
    addresses: tuple[str, ...] = ()
    """The owner's mail addresses: who of the attendees the owner is."""
    allow_private: bool = False
    """Whether ``url`` may lead into a private network or to this machine."""
    max_occurrences: int = Field(default=4_000, ge=1, le=20_000)
    """Of more than these, the nearest to now are watched. Each costs about 150 bytes of the account's cursor."""

    @field_validator("url")
    @classmethod
    def _is_web_address(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                parse_url(value)
            except AuthError as error:
                raise ValueError(str(error)) from error
        return value

    @model_validator(mode="after")
    def _has_one_source(self) -> Self:
        if (self.path is None) == (self.url is None):
            raise ValueError("an ics account needs either path or url")
        return self
