"""Naming: the key under which a row of an API is handed out, made of its id or of what it says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from extractors.bank.entry import Entry, words
from extractors.bank.identity import KEY_LENGTH, is_trustworthy
from extractors.bank.row import Row, reference
from schemas.ids import content_hash

Ids = Literal["unique", "hint"]
"""``unique``: the API promises that an id names one row of an account for as long as it lists the row. ``hint``: ids
may be blank, reused or issued anew with each answer, so a row's key is made of what it says."""


def names_a_row(row: Row, ids: Ids) -> bool:
    return reference(row.native_id) is not None and (ids == "unique" or is_trustworthy(row.native_id, row))


def base_key(scope: str, row: Row, ids: Ids) -> str:
    """What makes a row this row, apart from equal ones. ``scope`` is our account."""
    state = "pending" if row.pending else "booked"
    if ids == "unique" and names_a_row(row, ids):
        return key_of_id(scope, row.account, row.native_id, pending=row.pending)
    return content_hash(scope, row.account, state, row.booked_on.isoformat(), str(row.amount), "said", *words(row))


def key_of_id(scope: str, account: str, native_id: str, *, pending: bool) -> str:
    return content_hash(scope, account, "pending" if pending else "booked", "id", native_id)


def numbered(base: str, number: int) -> str:
    """The key of the n-th row of those that nothing tells apart."""
    return content_hash(base, str(number))[:KEY_LENGTH]


def keys_of(
    scope: str, rows: Sequence[Row], places: Mapping[int, str], known: Mapping[str, Entry], ids: Ids
) -> list[str]:
    """The key of each row: that of the known movement that it is by ``places``, else the first number that no other
    row has."""
    used = set(places.values())
    keys = []
    for place, row in enumerate(rows):
        key = places.get(place) or _free(base_key(scope, row, ids), used, known)
        used.add(key)
        keys.append(key)
    return keys


def _free(base: str, used: set[str], known: Mapping[str, Entry]) -> str:
    number = 1
    while (key := numbered(base, number)) in used or _is_other(known.get(key)):
        number += 1
    return key


def _is_other(entry: Entry | None) -> bool:
    """Whether this is another movement: one that still is, or that was settled."""
    return entry is not None and (not entry.is_gone or bool(entry.settled_by))
