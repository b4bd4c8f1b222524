"""Settings of a GoCardless Bank Account Data account."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from extractors.openbanking.address import encrypted
from schemas.model import Model

URL = "https://bankaccountdata.gocardless.com"


class GoCardlessConfig(Model):
    """``bank`` is the institution's id, such as ``REVOLUT_REVOGB21``. ``days``: how far back the first read goes.
    ``consent_days``: how long a consent is asked for; the bank may allow less. ``skip``: accounts that are not read, by
    the end of their number. ``allow_private``: ``url`` is in this network or on this machine."""

    bank: str = Field(pattern=r"^[A-Za-z0-9_.-]{2,100}$")
    days: int = Field(default=90, ge=1, le=730)
    consent_days: int = Field(default=90, ge=1, le=180)
    skip: tuple[Annotated[str, Field(min_length=3, max_length=40)], ...] = ()
    url: str = Field(default=URL, pattern=r"^https?://[^\s]+$", max_length=300)
    allow_private: bool = False

    @model_validator(mode="after")
    def _is_encrypted(self) -> Self:
        encrypted(self.url, allow_private=self.allow_private)
        return self
