"""Memory: the cursor of an ics account."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from extractors.calendar.agenda import Mark
from extractors.calendar.ledger import Ledger, pack, unpack
from extractors.calendar.told import TOLD_CAP
from extractors.fetch import Stamp
from schemas.model import Json


@dataclass(slots=True)
class Memory:
    """``look``: window and zone of the last look; ``digest``: of all files then. Equal both: nothing can be new.

    ``told``: digests of what was rejected, so that it is rejected once. ``emptied``: files that were found without
    a single entry at the last look, although they had some; what was in them still counts. ``marks``: of the series
    that repeat, as the last look found them.
    """

    look: str = ""
    digest: str = ""
    stamp: Stamp = field(default_factory=Stamp)
    told: tuple[str, ...] = ()
    emptied: frozenset[str] = frozenset()
    ledger: Ledger = field(default_factory=Ledger)
    marks: Mapping[str, Mark] = field(default_factory=dict)

    def to_json(self) -> Json:
        return {
            "look": self.look,
            "digest": self.digest,
            "stamp": [self.stamp.etag, self.stamp.last_modified],
            "told": [*self.told[-TOLD_CAP:]],
            "emptied": [*sorted(self.emptied)],
            "known": {source: pack(items) for source, items in sorted(self.ledger.known.items()) if items},
            "marks": {series: _packed(mark) for series, mark in sorted(self.marks.items())},
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
        marks={series: _unpacked(packed) for series, packed in stored.get("marks", {}).items()},
    )


def _packed(mark: Mark) -> Json:
    return [mark.digest, mark.steps, mark.count, mark.first.isoformat() if mark.first else ""]


def _unpacked(packed: Any) -> Mark:
    digest, steps, count, first = packed
    return Mark(digest, steps, count, datetime.fromisoformat(first) if first else None)
