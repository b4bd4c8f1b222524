"""What the cursor remembers: where in the mailbox's history we are, and 11 bytes of each mail."""

from __future__ import annotations

import base64
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from schemas.errors import CursorExpired
from schemas.model import Json

LIMIT = 40_000
"""Mails of one account that are watched: the cursor then has 590 kB."""
TOMBSTONES = 2_000
"""Removed mails that are remembered, so that one that comes back is a new version of itself."""
ID = re.compile(r"[0-9a-f]{16}")
"""Gmail's ids of mails."""

_REJECTED, _GONE = 0x40, 0x80
_LAYOUT = struct.Struct(">8sHB")

Listing = Literal["", "first", "reset"]


@dataclass(frozen=True, slots=True)
class Seen:
    """``count`` numbers the versions, so that going back to old labels is a new version too. ``bits``: see
    ``labels``. ``is_rejected``: it never became a record. ``is_gone``: remembered in case it comes back."""

    count: int
    bits: int
    is_rejected: bool = False
    is_gone: bool = False

    def now(self, bits: int) -> Seen:
        """How it looks with these labels; equal to ``self`` where nothing changed."""
        if bits == self.bits and not self.is_gone:
            return self
        return replace(self, count=self._next, bits=bits, is_gone=False)

    def gone(self) -> Seen:
        return replace(self, count=self._next, is_gone=True)

    @property
    def _next(self) -> int:
        return (self.count + 1) % 0x10000

    @property
    def is_live(self) -> bool:
        return not self.is_gone and not self.is_rejected

    @property
    def version(self) -> str:
        return f"{self.count}.gone" if self.is_gone else f"{self.count}.{self.bits:02x}"


@dataclass(slots=True)
class Memory:
    """``history``: the place in the mailbox's history up to which everything is known. ``listing``: a full listing is
    under way, the first one or one after a lost place. ``at``: when the last poll was complete."""

    history: str = ""
    address: str = ""
    listing: Listing = ""
    at: datetime | None = None
    known: dict[str, Seen] = field(default_factory=dict)

    def to_json(self) -> Json:
        return {
            "format": 1,
            "history": self.history,
            "address": self.address,
            "listing": self.listing,
            "at": self.at.isoformat() if self.at else None,
            "known": pack(self.known),
        }

    def tidy(self) -> None:
        """The oldest are forgotten."""
        gone = {name: seen for name, seen in self.known.items() if seen.is_gone}
        for name in list(gone)[: max(0, len(gone) - TOMBSTONES)]:
            del self.known[name]
        for name in list(self.known)[: max(0, len(self.known) - LIMIT)]:
            del self.known[name]


def remembered(cursor: Json) -> Memory:
    """CursorExpired for what we have not written."""
    if cursor is None:
        return Memory()
    if not isinstance(cursor, dict) or cursor.get("format") != 1:
        raise CursorExpired("the stored place in the mailbox is of another version")
    listing: Listing = "first" if cursor["listing"] == "first" else "reset" if cursor["listing"] == "reset" else ""
    at = cursor["at"]
    return Memory(
        history=str(cursor["history"]),
        address=str(cursor["address"]),
        listing=listing,
        at=datetime.fromisoformat(at) if isinstance(at, str) else None,
        known=unpack(str(cursor["known"])),
    )


def pack(known: Mapping[str, Seen]) -> str:
    """In the order of the mapping."""
    rows = (
        _LAYOUT.pack(bytes.fromhex(name), seen.count, seen.bits | _REJECTED * seen.is_rejected | _GONE * seen.is_gone)
        for name, seen in known.items()
    )
    return base64.b64encode(b"".join(rows)).decode("ascii")


def unpack(text: str) -> dict[str, Seen]:
    try:
        rows = _LAYOUT.iter_unpack(base64.b64decode(text, validate=True))
        return {
            name.hex(): Seen(count, bits & ~(_REJECTED | _GONE), bool(bits & _REJECTED), bool(bits & _GONE))
            for name, count, bits in rows
        }
    except (ValueError, struct.error) as error:
        raise CursorExpired("the stored place in the mailbox is damaged") from error
