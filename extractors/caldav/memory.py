"""Memory: the cursor of a caldav account."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from extractors.caldav.home import Home
from extractors.calendar.ledger import Ledger, pack, unpack
from extractors.calendar.told import TOLD_CAP
from schemas.ids import content_hash
from schemas.model import Json

SIZE_CAP = 690_000
"""Bytes of a cursor, as JSON."""
TAGS_CAP = 30_000
"""ETags of one account, 13 bytes each. What is beyond is fetched again by the next full listing, and is no news."""
PENDING_CAP = 100
TWINS_CAP = 200

_CALENDAR, _OBJECT, _TAG = 8, 12, 8
"""Hex digits."""


def calendar_id(path: str) -> str:
    return content_hash(path.rstrip("/"))[:_CALENDAR]


def source_of(calendar: str, path: str) -> str:
    """How the ledger names an object; the first digits say which calendar it is in."""
    return calendar_id(calendar) + content_hash(path)[:_OBJECT]


def tag_of(etag: str) -> str:
    """'' for an object of which the server gives no ETag: it is fetched each time."""
    plain = etag.strip().removeprefix("W/").strip('"')
    return content_hash(plain)[:_TAG] if plain else ""


@dataclass(slots=True)
class State:
    """What is known of one calendar. ``mark``, ``token``: as in ``Calendar`` when all of it was told; '' to list it
    again. ``tags``: by source. ``pending``: hrefs of what could not be had. ``emptied``: it was found without a single
    entry at the last poll, although it had some; what was in it still counts."""

    mark: str = ""
    token: str = ""
    emptied: bool = False
    pending: tuple[str, ...] = ()
    tags: dict[str, str] = field(default_factory=dict)

    def is_settled(self, mark: str) -> bool:
        return bool(mark) and mark == self.mark and not self.pending and not self.emptied


@dataclass(slots=True)
class Memory:
    """``look``: months and zone that the ledger is for; ``low`` and ``high``: narrower than these where there is too
    much to watch. ``begun``: the account's url when ``homes`` were found. ``twins``: groups of objects that share a
    UID, and are therefore looked at together."""

    look: str = ""
    low: datetime | None = None
    high: datetime | None = None
    begun: str = ""
    homes: list[Home] = field(default_factory=list)
    told: tuple[str, ...] = ()
    twins: list[frozenset[str]] = field(default_factory=list)
    calendars: dict[str, State] = field(default_factory=dict)
    ledger: Ledger = field(default_factory=Ledger)

    def turn(self, look: str) -> bool:
        """Begin to look at other months, if these are others: everything has to be read again."""
        if self.look == look:
            return False
        self.look, self.low, self.high = look, None, None
        for path, state in self.calendars.items():
            self.calendars[path] = State(emptied=state.emptied)
        return True

    def sources(self, path: str) -> set[str]:
        """Of this calendar, all that anything is known of."""
        begin = calendar_id(path)
        known = {source for source, items in self.ledger.known.items() if items and source.startswith(begin)}
        return known | set(self.calendars[path].tags)

    def is_live(self, path: str) -> bool:
        begin = calendar_id(path)
        return any(source.startswith(begin) and not item.is_gone for source, _, item in self.ledger.items())

    def partners(self, sources: Set[str]) -> set[str]:
        """What has to be looked at with these, themselves not counted."""
        return {source for group in self.twins if group & sources for source in group} - sources

    def pair(self, groups: Iterable[frozenset[str]]) -> None:
        for group in groups:
            for other in [one for one in self.twins if one & group]:
                self.twins.remove(other)
                group |= other
            self.twins.append(group)
        del self.twins[:-TWINS_CAP]

    def forget(self, sources: Set[str]) -> None:
        for state in self.calendars.values():
            for source in sources & state.tags.keys():
                del state.tags[source]
        self.twins = [left for group in self.twins if len(left := group - sources) > 1]

    def to_json(self) -> Json:
        known = _fitting(self.ledger, SIZE_CAP - 60_000)
        room = min(TAGS_CAP, (SIZE_CAP - 40_000 - _size(known)) // 14)
        calendars: dict[str, Json] = {}
        for path, state in sorted(self.calendars.items()):
            tags = list(state.tags.items())[-room:] if room > 0 else []
            room -= len(tags)
            calendars[path] = [state.mark, state.token, state.emptied, [*state.pending], _packed(tags)]
        return {
            "look": self.look,
            "low": self.low.isoformat() if self.low else None,
            "high": self.high.isoformat() if self.high else None,
            "begun": self.begun,
            "homes": [[home.url, home.is_calendar] for home in self.homes],
            "told": [*self.told[-TOLD_CAP:]],
            "twins": [[*sorted(group)] for group in self.twins],
            "calendars": calendars,
            "known": known,
        }


def remembered(cursor: Json) -> Memory:
    if not isinstance(cursor, dict):
        return Memory()
    stored: Any = cursor
    return Memory(
        look=stored["look"],
        low=datetime.fromisoformat(stored["low"]) if stored["low"] else None,
        high=datetime.fromisoformat(stored["high"]) if stored["high"] else None,
        begun=stored["begun"],
        homes=[Home(*home) for home in stored["homes"]],
        told=tuple(stored["told"]),
        twins=[frozenset(group) for group in stored["twins"]],
        calendars={
            path: State(mark, token, emptied, tuple(pending), dict(_unpacked(path, tags)))
            for path, (mark, token, emptied, pending, tags) in stored["calendars"].items()
        },
        ledger=Ledger({source: unpack(packed) for source, packed in stored["known"].items()}),
    )


def _fitting(ledger: Ledger, cap: int) -> dict[str, Json]:
    """Of a ledger that is too large first the titles are cut, then the oldest entries are forgotten."""
    packed = _pack(ledger)
    if _size(packed) <= cap:
        return packed
    items = sorted(ledger.items(), key=lambda one: one[2].when)
    while _size(packed) > cap:
        smaller = Ledger()
        for source, key, item in items:
            smaller.put(source, key, replace(item, title=item.title[:12]))
        packed, items = _pack(smaller), items[len(items) // 20 + 1 :]
    return packed


def _pack(ledger: Ledger) -> dict[str, Json]:
    return {source: pack(items) for source, items in sorted(ledger.known.items()) if items}


def _size(packed: Json) -> int:
    return len(json.dumps(packed))


def _packed(tags: Iterable[tuple[str, str]]) -> str:
    return base64.b85encode(bytes.fromhex("".join(source[_CALENDAR:] + tag for source, tag in tags))).decode()


def _unpacked(path: str, packed: str) -> Iterator[tuple[str, str]]:
    digits, begin = base64.b85decode(packed).hex(), calendar_id(path)
    for at in range(0, len(digits), _OBJECT + _TAG):
        yield begin + digits[at : at + _OBJECT], digits[at + _OBJECT : at + _OBJECT + _TAG]
