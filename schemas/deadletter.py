"""DeadLetter: a record that can never work, with the reason; nothing is dropped in silence."""

from __future__ import annotations

from pydantic import Field

from schemas.model import Instant, Json, Model


class DeadLetter(Model):
    id: str
    topic: str
    key: str = ""
    code: str = "malformed"
    """A stable word: malformed, too_large, too_deep, unknown_kind, ..."""
    reason: str = Field(max_length=2000)
    account: str = ""
    at: Instant
    payload: bytes = b""
    """The first bytes of what was refused."""
    meta: dict[str, Json] = {}
