"""Memory: the cursor of a Microsoft calendar account."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from extractors.calendar.ledger import Ledger, pack, unpack
from extractors.calendar.told import TOLD_CAP
from schemas.errors import CursorExpired
from schemas.model import Json


@dataclass(slots=True)
class Memory:
    """``look``: window and zone of the last look. ``links``: where each calendar's changes go on, for that window.

    ``told``: digests of what was rejected, so that it is rejected once. ``emptied``: calendars that were found empty
    without a word about their entries; believed when the next poll agrees. ``kept_at``: when this was handed out.
    """

    look: str = ""
    links: dict[str, str] = field(default_factory=dict)
    told: tuple[str, ...] = ()
    emptied: frozenset[str] = frozenset()
    ledger: Ledger = field(default_factory=Ledger)
    kept_at: datetime | None = None

    def to_json(self, now: datetime) -> Json:
        return {
            "format": 1,
            "at": now.isoformat(),
            "look": self.look,
            "links": {**self.links},
            "told": [*self.told[-TOLD_CAP:]],
            "emptied": [*sorted(self.emptied)],
            "known": {source: pack(items) for source, items in sorted(self.ledger.known.items()) if items},
        }


def remembered(cursor: Json) -> Memory:
    """CursorExpired for a cursor of another version."""
    if cursor is None:
        return Memory()
    stored: Any = cursor
    if not isinstance(stored, dict) or stored.get("format") != 1:
        raise CursorExpired("the stored place in the calendars is of another version")
    return Memory(
        look=stored["look"],
        links=dict(stored["links"]),
        told=tuple(stored["told"]),
        emptied=frozenset(stored["emptied"]),
        ledger=Ledger({source: unpack(packed) for source, packed in stored["known"].items()}),
        kept_at=datetime.fromisoformat(stored["at"]),
    )
