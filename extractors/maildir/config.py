"""The settings of a maildir account."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator

from schemas.model import Model


class MaildirConfig(Model):
    """``path``: a Maildir or an mbox file; ``~`` is the home folder.

    ``subfolders``: read the Maildir++ folders beside the inbox too; drafts, spam and bins are never read. ``role``
    says what the main folder holds; folders that are called like sent mail hold sent mail. ``addresses`` are the
    owner's own: they tell sent mail from received. ``max_age_days``: older mail is left alone.
    """

    path: str = Field(min_length=1, max_length=4_000)
    kind: Literal["auto", "maildir", "mbox"] = "auto"
    subfolders: bool = True
    role: Literal["inbox", "sent"] = "inbox"
    addresses: tuple[str, ...] = Field(default=(), max_length=50)
    max_age_days: int | None = Field(default=None, ge=1)

    @field_validator("addresses")
    @classmethod
    def _lower_case(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for address in value:
            if address.count("@") != 1:
                raise ValueError(f"{address!r} is no mail address; write name@domain")
        return tuple(address.strip().lower() for address in value)

    @property
    def location(self) -> Path:
        return Path(self.path).expanduser()
