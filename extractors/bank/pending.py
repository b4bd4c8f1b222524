"""Which pending row a booked one settles: by a shared reference, else by amount, day and merchant."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from extractors.bank.identity import is_trustworthy
from extractors.bank.merchant import merchant
from extractors.bank.row import Row

EARLIEST = timedelta(days=2)
"""A bank may book with a day before the one that its pending row showed."""
LATEST = timedelta(days=21)
"""Hotels and fuel stations take their time."""
UNNAMED = timedelta(days=5)
"""How far apart the days may be where only the amount speaks for it."""


def settled_by(booked: Row, pending: Mapping[str, Row]) -> str | None:
    """The key of the pending row that became this booked one; None where none fits.

    A shared reference is proof, and then the amount may differ (a tip, an exchange rate). Without one the amount must
    be the same and the merchant too; a pending row that names nobody may go by its amount if it is the only one.
    """
    near = {key: row for key, row in pending.items() if _is_near(booked, row)}
    for key, row in near.items():
        if _shares_reference(booked, row):
            return key
    equal = {key: row for key, row in near.items() if row.amount == booked.amount}
    named = [key for key, row in equal.items() if _same_merchant(booked, row)]
    if named:
        return min(named, key=lambda key: (abs(booked.booked_on - equal[key].booked_on), key))
    unnamed = [key for key, row in equal.items() if _says_nothing(row) and _gap(booked, row) <= UNNAMED]
    return unnamed[0] if len(unnamed) == 1 else None


def _is_near(booked: Row, row: Row) -> bool:
    same_sign = (booked.amount.amount < 0) == (row.amount.amount < 0)
    same_account = booked.account == row.account and booked.amount.currency == row.amount.currency
    return same_account and same_sign and row.booked_on - EARLIEST <= booked.booked_on <= row.booked_on + LATEST


def _shares_reference(booked: Row, row: Row) -> bool:
    pairs = ((booked.end_to_end_id or "", row.end_to_end_id), (booked.native_id, row.native_id))
    return any(one == other and is_trustworthy(one, booked) for one, other in pairs)


def _same_merchant(booked: Row, row: Row) -> bool:
    """Equal, or the shorter is how the longer begins: card networks cut names."""
    one, other = sorted((_merchant(booked), _merchant(row)), key=len)
    return bool(one) and (other == one or other.startswith(one + "-") or (len(one) >= 8 and other.startswith(one)))


def _merchant(row: Row) -> str:
    return merchant(row.counterparty or row.purpose)


def _says_nothing(row: Row) -> bool:
    return not _merchant(row)


def _gap(booked: Row, row: Row) -> timedelta:
    return abs(booked.booked_on - row.booked_on)
