"""Settings of an Enable Banking account."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from extractors.openbanking.address import encrypted
from schemas.model import Model

URL = "https://api.enablebanking.com"

PsuHeader = Literal[
    "Psu-Ip-Address",
    "Psu-User-Agent",
    "Psu-Referer",
    "Psu-Accept",
    "Psu-Accept-Charset",
    "Psu-Accept-Encoding",
    "Psu-Accept-language",
    "Psu-Geo-Location",
]


class EnableBankingConfig(Model):
    """``bank`` and ``country`` name the bank as Enable Banking does. ``days``: how far back the first read goes.
    ``consent_days``: how long a consent is asked for; the bank may allow less. ``skip``: accounts that are not read, by
    the end of their number. ``psu``: headers of the person's browser, sent only to a bank that insists on them.
    ``allow_private``: ``url`` is in this network or on this machine.
    """

    bank: str = Field(min_length=1, max_length=200)
    country: str = Field(pattern=r"^[A-Z]{2}$")
    kind: Literal["personal", "business"] = "personal"
    days: int = Field(default=90, ge=1, le=730)
    consent_days: int = Field(default=180, ge=1, le=180)
    skip: tuple[Annotated[str, Field(min_length=3, max_length=40)], ...] = ()
    psu: dict[PsuHeader, Annotated[str, Field(min_length=1, max_length=300)]] = {}
    url: str = Field(default=URL, pattern=r"^https?://[^\s]+$", max_length=300)
    allow_private: bool = False

    @model_validator(mode="after")
    def _is_encrypted(self) -> Self:
        encrypted(self.url, allow_private=self.allow_private)
        return self
