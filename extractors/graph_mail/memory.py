"""Memory: the cursor of a Microsoft mail account."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from extractors.mail.ledger import Ledger, unpack
from schemas.errors import CursorExpired
from schemas.model import Json

_PLACES = 256


@dataclass(slots=True)
class Memory:
    """``named``: ids of the well-known folders. ``places``: the byte that stands for each watched folder in the ledger;
    ``links``: where its changes go on. ``kept_at``: when this cursor was handed out."""

    named: dict[str, str] = field(default_factory=dict)
    places: dict[str, int] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    ledger: Ledger = field(default_factory=Ledger)
    kept_at: datetime | None = None

    def place(self, folder: str) -> int:
        """The folder's own byte: the first of its hash, or the next that is free, so that it is nearly always the same
        one. With more folders than bytes some share theirs, and a move between them is not told."""
        if folder not in self.places:
            wished = hashlib.sha256(folder.encode("utf-8", "surrogatepass")).digest()[0]
            taken = set(self.places.values())
            free = ((wished + step) % _PLACES for step in range(_PLACES))
            self.places[folder] = next((place for place in free if place not in taken), wished)
        return self.places[folder]

    def forget(self, folder: str) -> None:
        self.places.pop(folder, None)
        self.links.pop(folder, None)

    def to_json(self, now: datetime) -> Json:
        folders: Any = {folder: [place, self.links.get(folder, "")] for folder, place in sorted(self.places.items())}
        cursor: dict[str, Json] = {"format": 1, "at": now.isoformat(), "named": {**self.named}, "folders": folders}
        self.ledger.trim(len(json.dumps(cursor)))
        return {**cursor, "known": self.ledger.pack()}


def remembered(cursor: Json) -> Memory:
    """CursorExpired for a cursor of another version."""
    if cursor is None:
        return Memory()
    stored: Any = cursor
    if not isinstance(stored, dict) or stored.get("format") != 1:
        raise CursorExpired("the stored place in the mailbox is of another version")
    folders = stored["folders"]
    return Memory(
        named=dict(stored["named"]),
        places={folder: place for folder, (place, _) in folders.items()},
        links={folder: link for folder, (_, link) in folders.items() if link},
        ledger=unpack(stored["known"]),
        kept_at=datetime.fromisoformat(stored["at"]),
    )
