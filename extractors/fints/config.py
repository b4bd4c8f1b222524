"""Settings of a FinTS account."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from extractors.openbanking.address import encrypted
from schemas.model import Model


class FinTSConfig(Model):
    """``server`` and ``bank_code`` (BLZ) are what the bank gives out for FinTS with PIN and TAN. ``days``: how far back
    the first read goes; beyond 90 days every bank asks for a TAN. ``skip``: accounts that are not read, by the end of
    their number. ``allow_private``: ``server`` is in this network or on this machine."""

    bank_code: str = Field(pattern=r"^\d{8}$")
    server: str = Field(pattern=r"^https?://[^\s]+$", max_length=300)
    days: int = Field(default=85, ge=1, le=89)
    skip: tuple[Annotated[str, Field(min_length=3, max_length=40)], ...] = ()
    allow_private: bool = False

    @model_validator(mode="after")
    def _is_encrypted(self) -> Self:
        encrypted(self.server, allow_private=self.allow_private)
        return self
