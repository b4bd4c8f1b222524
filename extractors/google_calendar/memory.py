"""Memory: the cursor of a Google Calendar account."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from extractors.calendar.ledger import Key, Known, Ledger, pack, unpack
from extractors.calendar.told import TOLD_CAP
from extractors.google_calendar.source import Calendar
from extractors.text import one_line
from schemas.errors import CursorExpired
from schemas.ids import content_hash
from schemas.model import Json

ROWS_CAP = 3_800
"""Occurrences that are remembered, those that are off among them: about 650 kB."""
_SUFFIX = "@google.com"
_UID_CAP = 200


@dataclass(slots=True)
class State:
    """What is known of one calendar. ``token``: where its next list of changes begins; '' to list all of it.

    ``uids``: what events are called in the ledger, by Google's id, where the id does not tell. The ledger's sources are
    these names: each event, with all its dates, is looked at for itself.
    """

    token: str = ""
    is_primary: bool = False
    uids: dict[str, str] = field(default_factory=dict)
    ledger: Ledger = field(default_factory=Ledger)

    def tidy(self) -> None:
        known = self.ledger.known
        self.uids = {event: uid for event, uid in self.uids.items() if known.get(uid)}


@dataclass(slots=True)
class Memory:
    """``look``: months and zone that the ledgers are for. ``day``: when the cursor was last written; a sync token that
    is not renewed for long is forgotten by Google."""

    look: str = ""
    day: str = ""
    told: tuple[str, ...] = ()
    calendars: dict[str, State] = field(default_factory=dict)

    def to_json(self) -> Json:
        kept = self._kept()
        return {
            "format": 1,
            "look": self.look,
            "day": self.day,
            "told": [*self.told[-TOLD_CAP:]],
            "calendars": {
                name: [state.token, state.is_primary, {**state.uids}, pack(kept[name])]
                for name, state in self.calendars.items()
            },
        }

    def size(self) -> int:
        return sum(len(items) for state in self.calendars.values() for items in state.ledger.known.values())

    def _kept(self) -> dict[str, dict[Key, Known]]:
        """Of more than can be remembered, what is off goes first, then what is longest over."""
        rows = [
            (not item.is_gone, item.when, name, key, item)
            for name, state in self.calendars.items()
            for _, key, item in state.ledger.items()
        ]
        if len(rows) > ROWS_CAP:
            rows = sorted(rows, key=lambda row: row[:4])[len(rows) - ROWS_CAP :]
        kept: dict[str, dict[Key, Known]] = {name: {} for name in self.calendars}
        for _, _, name, key, item in rows:
            kept[name][key] = item
        return kept


def remembered(cursor: Json) -> Memory:
    """CursorExpired for what we have not written."""
    if cursor is None:
        return Memory()
    if not isinstance(cursor, dict) or cursor.get("format") != 1:
        raise CursorExpired("the stored place in the calendars is of another version")
    stored: Any = cursor
    return Memory(
        look=stored["look"],
        day=stored["day"],
        told=tuple(stored["told"]),
        calendars={
            name: State(token, is_primary, dict(uids), _by_uid(unpack(packed)))
            for name, (token, is_primary, uids, packed) in stored["calendars"].items()
        },
    )


def _by_uid(items: dict[Key, Known]) -> Ledger:
    ledger = Ledger()
    for key, item in items.items():
        ledger.put(key[1], key, item)
    return ledger


def uid_of(calendar: Calendar, event: str, ical: str) -> str:
    """What an event is called in the ledger. Somebody else's calendar may hold a copy of a meeting: that is another
    event, with answers of its own."""
    name = one_line(ical, _UID_CAP + 1) or f"{event}{_SUFFIX}"
    if len(name) > _UID_CAP:
        name = content_hash(ical)[:40]
    return name if calendar.is_primary else f"{name}/{content_hash(calendar.id)[:10]}"


def event_of(state: State, uid: str) -> str:
    """Google's id of an event that the ledger knows."""
    event = next((event for event, name in state.uids.items() if name == uid), "")
    name = uid if state.is_primary else uid.rpartition("/")[0]
    return event or name.removesuffix(_SUFFIX)
