"""Listing: what a bank's API says of one bank account in one answer, before the ledger makes changes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from extractors.bank.row import Balance, Row


@dataclass(frozen=True, slots=True)
class Listed:
    """One row as the API gives it. ``settles`` is the API's own word for which pending row (by the bank's id) this
    booked one was; empty where it says nothing."""

    row: Row
    settles: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """``rows`` in the API's own order, all of one bank account.

    ``on`` is the day of the answer in the owner's zone. ``since`` is the first day that the answer covers wholly and
    ``until`` the last one (None: up to now); what we know within these days and the answer lacks is gone. ``since``
    None: the answer tells changes only. What is in ``removed`` (the bank's ids) is gone in either case.

    ``is_whole`` False: a part of the answer is missing or in doubt, so nothing is concluded from what it lacks.
    ``has_pending`` False: pending rows were not asked for. ``is_final``: what it lacks is gone at once; otherwise a
    booked row must be missing on two days in a row. ``unreadable``: ids of rows that are there and could not be read.
    """

    account: str
    on: date
    rows: Sequence[Listed] = ()
    removed: Sequence[str] = ()
    since: date | None = None
    until: date | None = None
    is_whole: bool = True
    has_pending: bool = True
    is_final: bool = False
    unreadable: Sequence[str] = ()
    balance: Balance | None = None

    def covers(self, day: date) -> bool:
        return self.since is not None and self.since <= day and (self.until is None or day <= self.until)

    def names(self, row: Row) -> bool:
        """Whether the bank itself says that this row is gone."""
        return bool(row.native_id) and row.native_id in self.removed

    def lacks(self, row: Row) -> bool:
        """Whether a known row that is not in ``rows`` is told to be gone by that."""
        if self.names(row):
            return True
        if self.since is None or (row.native_id and row.native_id in self.unreadable):
            return False
        if row.pending:
            return self.is_whole and self.has_pending and (self.is_final or self.covers(row.booked_on))
        return self.is_whole and self.covers(row.booked_on)
