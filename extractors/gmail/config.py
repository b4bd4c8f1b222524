"""The settings of a Gmail account."""

from __future__ import annotations

from pydantic import Field, field_validator

from extractors.google import GoogleSettings

SCOPE = "https://www.googleapis.com/auth/gmail.readonly"


class GmailConfig(GoogleSettings):
    """``addresses`` are the owner's further ones (aliases): they tell sent mail from received; the account's own is
    known. ``days``: older mail is left alone."""

    addresses: tuple[str, ...] = Field(default=(), max_length=50)
    days: int = Field(default=365, ge=1, le=36_500)
    base_url: str = Field(default="https://gmail.googleapis.com", max_length=2_000)

    @field_validator("addresses")
    @classmethod
    def _lower_case(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for address in value:
            if address.count("@") != 1:
                raise ValueError(f"{address!r} is no mail address; write name@domain")
        return tuple(address.strip().lower() for address in value)
