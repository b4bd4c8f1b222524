"""Which new bookings settle which pending rows: by the bank's word, one by one, in parts, or several at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import combinations

from extractors.bank.entry import Entry
from extractors.bank.merchant import merchant
from extractors.bank.pending import EARLIEST, LATEST, settled_by
from extractors.bank.row import Row

_PARTS = (2, 3)
_CANDIDATES = 8


@dataclass(frozen=True, slots=True)
class Settlement:
    """``replaces``: booked key to the pending key that it settles. ``settled``: pending key to booked key."""

    replaces: dict[str, str] = field(default_factory=dict)
    settled: dict[str, str] = field(default_factory=dict)
    proven: frozenset[str] = frozenset()

    def note(self, booked: str, pending: str) -> None:
        self.replaces.setdefault(booked, pending)
        self.settled.setdefault(pending, booked)


def settlement(booked: Mapping[str, Row], pending: Mapping[str, Row], links: Mapping[str, str]) -> Settlement:
    """``booked``: the new bookings by key, oldest first. ``pending``: the rows that may have been booked.

    ``links`` (booked key to pending key) is the bank's own word and settles everything that it names.
    """
    found = Settlement(proven=frozenset(links))
    for key, settles in links.items():
        found.note(key, settles)
    _one_by_one(booked, pending, found)
    _in_parts(booked, pending, found)
    _several_at_once(booked, pending, found)
    return found


def undone_by(listed: Mapping[str, Row], settled: Settlement, known: Mapping[str, Entry]) -> set[str]:
    """Booked rows that turn out not to have been the pending row that they were taken for: that one is listed as
    pending again, or the bank names another booking for it."""
    wrong = set()
    for key, row in listed.items():
        entry = known.get(key)
        is_back = row.pending and entry is not None and entry.settled_by and not entry.is_proven
        if entry is not None and is_back and key not in settled.settled:
            wrong.add(entry.settled_by)
    for pending, booked in settled.settled.items():
        entry = known.get(pending)
        if entry is not None and entry.settled_by not in ("", booked) and booked in settled.proven:
            wrong.add(entry.settled_by)
    return {key for key in wrong if (entry := known.get(key)) and entry.replaces and key not in settled.proven}


def _one_by_one(booked: Mapping[str, Row], pending: Mapping[str, Row], found: Settlement) -> None:
    for key, row in _unlinked(booked, found).items():
        settles = settled_by(row, _open(pending, found))
        if settles is not None:
            found.note(key, settles)


def _in_parts(booked: Mapping[str, Row], pending: Mapping[str, Row], found: Settlement) -> None:
    """One order that was booked in two or three parts, such as when it is shipped."""
    for key, row in _open(pending, found).items():
        for part in _adding_up(row, _unlinked(booked, found)):
            found.note(part, key)


def _several_at_once(booked: Mapping[str, Row], pending: Mapping[str, Row], found: Settlement) -> None:
    """Two or three payments to one merchant that were booked as one."""
    for key, row in _unlinked(booked, found).items():
        for part in _adding_up(row, _open(pending, found)):
            found.note(key, part)


def _adding_up(whole: Row, rows: Mapping[str, Row]) -> tuple[str, ...]:
    near = [key for key, row in rows.items() if _is_part(whole, row)][:_CANDIDATES]
    for count in _PARTS:
        for keys in combinations(near, count):
            if sum((rows[key].amount.amount for key in keys), Decimal(0)) == whole.amount.amount:
                return keys
    return ()


def _is_part(whole: Row, row: Row) -> bool:
    pending, booked = (whole, row) if whole.pending else (row, whole)
    who = merchant(whole.counterparty or whole.purpose)
    return (
        bool(who)
        and who == merchant(row.counterparty or row.purpose)
        and whole.amount.currency == row.amount.currency
        and (whole.amount.amount < 0) == (row.amount.amount < 0)
        and pending.booked_on - EARLIEST <= booked.booked_on <= pending.booked_on + LATEST
    )


def _unlinked(booked: Mapping[str, Row], found: Settlement) -> dict[str, Row]:
    return {key: row for key, row in booked.items() if key not in found.replaces}


def _open(pending: Mapping[str, Row], found: Settlement) -> dict[str, Row]:
    return {key: row for key, row in pending.items() if key not in found.settled}
