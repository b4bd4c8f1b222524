"""Memory: the cursor of an ics account."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from extractors.calendar.ledger import Ledger, pack, unpack
from extractors.calendar.told import TOLD_CAP
from extractors.fetch import Stamp
from schemas.model import Json


@dataclass(slots=True)
class Memory:
    """``look``: window and zone of the last look; ``digest``: of all files then. Equal both: nothing can be new.

    ``told``: digests of what was rejected, so that it is rejected once. ``emptied``: files that were found without
    a single entry at the last look, although they had some; what was in them still counts.
    """

    look: str = ""
    digest: str = ""
    stamp: Stamp = field(default_factory=Stamp)
    told: tuple[str, ...] = ()
    emptied: frozenset[str] = frozenset()
    ledger: Ledger = field(default_factory=Ledger)

    def to_json(self) -> Json:
        return {
            "look": self.look,
            "digest": self.digest,
            "stamp": [self.stamp.etag, self.stamp.last_modified],
            "told": [*self.told[-TOLD_CAP:]],
            "emptied": [*sorted(self.emptied)],
            "known": {source: pack(items) for source, items in sorted(self.ledger.known.items()) if items},
        }


def remembered(cursor: Json) -> Memory:
    if not isinstance(cursor, dict):
        return Memory()
    stored: Any = cursor
    return Memory(
        look=stored["look"],
        digest=stored["digest"],
        stamp=Stamp(*stored["stamp"]),
        told=tuple(stored["told"]),
        emptied=frozenset(stored["emptied"]),
        ledger=Ledger({source: unpack(packed) for source, packed in stored["known"].items()}),
    )
