"""The cursor of a consent's accounts: how far each was read, and the ledger of their rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from extractors.bank.ledger import Ledger
from schemas.errors import CursorExpired
from schemas.model import Json

VERSION = 1
DAYS_KEPT = 40
REFUSED_KEPT = 500
"""Rows that cannot be read and were told, by a mark of what they say."""


@dataclass(frozen=True, slots=True)
class Place:
    """``read_at``: when the account was last read to the end, and ``until`` the day of that read. ``wait_until``: the
    bank's word that it allows no read before. ``balance``: the last one told. ``days``: those with booked
    rows that the next read should list again, newest last."""

    read_at: datetime | None = None
    until: date | None = None
    wait_until: datetime | None = None
    balance: str = ""
    days: tuple[date, ...] = ()


@dataclass(slots=True)
class Cursor:
    """``places`` by the account's key."""

    places: dict[str, Place] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)
    ledger: Ledger = field(default_factory=Ledger)

    def dump(self) -> Json:
        return {
            "v": VERSION,
            "places": {key: _stored(place) for key, place in self.places.items()},
            "refused": list(self.refused[-REFUSED_KEPT:]),
            "ledger": self.ledger.dump(),
        }


def load(stored: Any) -> Cursor:
    """CursorExpired for what this version did not write."""
    if stored is None:
        return Cursor()
    if not isinstance(stored, dict) or stored.get("v") != VERSION:
        raise CursorExpired("the cursor of a bank account is of another version")
    try:
        places = {str(key): _place(entry) for key, entry in stored["places"].items()}
        refused = [str(mark) for mark in stored["refused"]]
        return Cursor(places, refused, Ledger.load(stored["ledger"], ids="hint"))
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise CursorExpired("the cursor of a bank account is not readable") from error


def _stored(place: Place) -> Json:
    return [
        place.read_at.isoformat() if place.read_at else "",
        place.until.isoformat() if place.until else "",
        place.wait_until.isoformat() if place.wait_until else "",
        place.balance,
        [day.isoformat() for day in place.days],
    ]


def _place(stored: Any) -> Place:
    read_at, until, wait_until, balance, days = stored
    return Place(
        datetime.fromisoformat(read_at) if read_at else None,
        date.fromisoformat(until) if until else None,
        datetime.fromisoformat(wait_until) if wait_until else None,
        str(balance),
        tuple(date.fromisoformat(day) for day in days),
    )
