"""Settings of a bankfile account."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from schemas.model import Model


class BankFileConfig(Model):
    """``path`` is a folder that is watched, or one file; ``~`` is the service user's home.

    ``answers`` are what the person decided for this bank's exports, by question code (``date_order``: DMY or MDY;
    ``currency``). ``currency`` is the account's, for files that name none. ``signs``: ``turned`` for a bank that
    writes an outflow without a minus and gives no balance that would prove it.
    """

    path: str = Field(min_length=1, max_length=4096)
    currency: str | None = Field(default=None, pattern=r"^[A-Z]{3}$")
    signs: Literal["as_written", "turned"] = "as_written"
    answers: dict[str, str] = {}

    @field_validator("path")
    @classmethod
    def _is_a_path(cls, value: str) -> str:
        if "\x00" in value:
            raise ValueError("a path cannot hold a NUL character")
        return value
