"""Values with labels: where each came from and how far it may be trusted (law L4)."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import Field

from schemas.fact import Span
from schemas.model import Json, Model


class Integrity(StrEnum):
    """user > system > known > untrusted; a derived value has the least of its inputs."""

    USER = "user"
    SYSTEM = "system"
    KNOWN = "known"
    UNTRUSTED = "untrusted"


_ORDER = (Integrity.UNTRUSTED, Integrity.KNOWN, Integrity.SYSTEM, Integrity.USER)


def least(*levels: Integrity) -> Integrity:
    """The lattice join: the least trusted; ``user`` for no inputs."""
    return min(levels, key=_ORDER.index, default=Integrity.USER)


class Value(Model):
    """``v`` is JSON in the form of its nominal ``type`` (Money as {"amount","currency"}, Date as ISO text)."""

    v: Json = None
    type: str = "Text"
    """Text, Query, Email, Url, FileName, FilePath, Date, DateTime, Days, Money, Iban, AccountId, MessageId,
    EventId, Bool, Number."""
    sources: tuple[str, ...] = ()
    """Event ids, rule ids, step uids."""
    integrity: Integrity = Integrity.UNTRUSTED
    readers: tuple[str, ...] | None = None
    """None: anybody may read it."""
    how: Literal["user", "planner_literal", "tool", "extracted", "template", "endorsed", "rule"] = "extracted"
    span: Span | None = Field(default=None)
