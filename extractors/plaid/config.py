"""Settings of a Plaid account, which is one Item: one login at one bank, with all accounts behind it."""

from __future__ import annotations

from pydantic import Field, field_validator

from extractors.address import parse_url
from schemas.errors import AuthError
from schemas.model import Model

PRODUCTION = "https://production.plaid.com"
_HERE = frozenset(["127.0.0.1", "localhost", "::1"])


class PlaidConfig(Model):
    url: str = Field(default=PRODUCTION, max_length=200)
    """https://sandbox.plaid.com for trying it out."""
    countries: tuple[str, ...] = ("US",)
    """Whose banks Plaid's page shows when an account is connected."""
    language: str = Field(default="en", pattern=r"^[a-z]{2}$")
    history_days: int = Field(default=730, ge=1, le=730)
    """How far back a new connection asks; Plaid allows two years."""
    ignored: tuple[str, ...] = ()
    """Plaid's ids of bank accounts that are not watched."""
    turned: tuple[str, ...] = ()
    """Plaid's ids of bank accounts (some loans) whose bank gives the sign the wrong way round."""

    @field_validator("url")
    @classmethod
    def _is_encrypted(cls, value: str) -> str:
        try:
            target = parse_url(value)
        except AuthError as error:
            raise ValueError(str(error)) from error
        if target.scheme != "https" and target.host not in _HERE:
            raise ValueError(f"{target.host} is addressed without encryption")
        return str(target).rstrip("/")

    @field_validator("countries")
    @classmethod
    def _are_countries(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not value or any(len(each) != 2 or not each.isalpha() for each in value):
            raise ValueError("a country is two letters, such as US")
        return tuple(each.upper() for each in value)
