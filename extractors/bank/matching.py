"""Which listed row is which known movement: by the bank's id where it can be trusted, by what it says, by likeness."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from datetime import timedelta

from extractors.bank.entry import Entry, words
from extractors.bank.listing import Listed, Listing
from extractors.bank.merchant import merchant
from extractors.bank.naming import Ids, names_a_row
from extractors.bank.row import Row

SHIFT = timedelta(days=2)
"""How far a booked row's day may move when the bank issues it anew under another id."""
REUSED = timedelta(days=10)
"""An id that may be reused means the same row only within this time."""


def distinct(rows: Sequence[Listed], ids: Ids) -> list[Listed]:
    """Oldest day first, booked before pending, and otherwise as the bank lists them, turned round where it lists the
    newest first. A row that is there twice under one trustworthy id is there once."""
    rows = list(rows)
    if rows and rows[0].row.booked_on > rows[-1].row.booked_on:
        rows.reverse()
    found: dict[Hashable, Listed] = {}
    for place, listed in enumerate(rows):
        found[listed.row.model_dump_json() if names_a_row(listed.row, ids) else place] = listed
    return sorted(found.values(), key=lambda listed: (listed.row.booked_on, listed.row.pending))


def matched(rows: Sequence[Row], known: Mapping[str, Entry], ids: Ids, listing: Listing) -> dict[int, str]:
    """Place in ``rows`` to key of the known movement that it is, each of them once. Live ones go before those that are
    gone. Pending is matched with pending and booked with booked."""
    found: dict[int, str] = {}
    counts = Counter(row.native_id for row in rows)

    def by_id_and_amount(row: Row) -> Hashable:
        return (row.pending, row.native_id, row.amount) if names_a_row(row, ids) else None

    def by_id(row: Row) -> Hashable:
        return (row.pending, row.native_id) if counts[row.native_id] < 2 and names_a_row(row, ids) else None

    def is_near(row: Row, entry: Entry) -> bool:
        return ids == "unique" or abs(row.booked_on - entry.row.booked_on) <= REUSED

    def is_same(row: Row, entry: Entry) -> bool:
        return ids == "unique" or (is_near(row, entry) and _is_same_merchant(row, entry.row))

    _pair(rows, known, by_id_and_amount, is_near, found)
    _pair(rows, known, by_id, is_same, found)
    _pair(rows, known, _by_words, lambda row, entry: _may_go_by_words(row, entry, ids, listing), found)
    _reissued(rows, known, listing, found)
    return found


def _by_words(row: Row) -> Hashable:
    return row.pending, row.booked_on, row.amount, words(row)


def _may_go_by_words(row: Row, entry: Entry, ids: Ids, listing: Listing) -> bool:
    """Two trustworthy ids that differ are two rows, unless the answer shows that the first one is no more."""
    if not (names_a_row(row, ids) and names_a_row(entry.row, ids)):
        return True
    if entry.is_gone:
        return ids == "hint" and not entry.settled_by
    return ids == "hint" or listing.lacks(entry.row)


def _pair(
    rows: Sequence[Row],
    known: Mapping[str, Entry],
    likeness: Callable[[Row], Hashable],
    may: Callable[[Row, Entry], bool],
    found: dict[int, str],
) -> None:
    waiting: dict[Hashable, list[str]] = defaultdict(list)
    used = set(found.values())
    for key, entry in sorted(known.items(), key=lambda item: (item[1].is_gone, item[0])):
        if key not in used and (like := likeness(entry.row)) is not None:
            waiting[like].append(key)
    for place, row in enumerate(rows):
        if place in found or (like := likeness(row)) is None:
            continue
        fitting = [key for key in waiting.get(like, ()) if may(row, known[key])]
        if fitting:
            found[place] = fitting[0]
            waiting[like].remove(fitting[0])


def _reissued(rows: Sequence[Row], known: Mapping[str, Entry], listing: Listing, found: dict[int, str]) -> None:
    """A booked row that came back under another id and in other words: the answer lacks what it was, and amount and
    merchant are the same."""
    used = set(found.values())
    missing = {
        key: entry.row
        for key, entry in known.items()
        if key not in used and not entry.is_gone and not entry.row.pending and listing.lacks(entry.row)
    }
    for place, row in enumerate(rows):
        if place in found or row.pending or not missing:
            continue
        near = [key for key, other in missing.items() if _is_like(row, other)]
        if near:
            found[place] = min(near, key=lambda key: (abs(missing[key].booked_on - row.booked_on), key))
            del missing[found[place]]


def _is_like(row: Row, other: Row) -> bool:
    is_near = abs(row.booked_on - other.booked_on) <= SHIFT
    return is_near and row.amount == other.amount and _is_same_merchant(row, other)


def _is_same_merchant(row: Row, other: Row) -> bool:
    who = merchant(row.counterparty or row.purpose)
    return bool(who) and who == merchant(other.counterparty or other.purpose)
