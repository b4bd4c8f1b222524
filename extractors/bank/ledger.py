"""Ledger: what is known of the rows that a bank's API gave, and what each of its answers adds to that.

A connector keeps one in its cursor::

    ledger = Ledger.load(cursor["ledger"], ids="hint")
    for told in ledger.take(context.account, Listing(account, today, rows, since=since, balance=balance)):
        yield Page(upserts=told.upserts, deletes=told.deletes, next_cursor={..., "ledger": ledger.dump()})

Each movement is told once, and again only when it says something else. A booked row names the pending one that it was
(``Row.replaces``), and that one is deleted; a merge that turns out wrong is taken back.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any, Self

from pydantic import ValidationError

from extractors.bank.archive import Archive
from extractors.bank.entry import Entry, entry_of
from extractors.bank.fold import CONTENT_TYPE, Fold, Step
from extractors.bank.listing import Listing
from extractors.bank.naming import Ids
from extractors.bank.standing import Standings
from extractors.connector import Delete, Upsert
from schemas.errors import CursorExpired
from schemas.ids import digest
from schemas.model import Json

VERSION = 1
KEPT_BYTES = 260_000
"""JSON of the movements that are kept whole; older ones go to the archive. Together this stays below 600 kB."""
GONE_LASTS = timedelta(days=60)
"""How long a movement that is gone is remembered, in case it comes back."""
PAGE_ROWS = 500


@dataclass(slots=True)
class Told:
    """A part of what an answer changes; the ledger knows it when it is handed out. ``in_doubt``: the answer lacked so
    much that nothing was concluded from that; the source should be asked again for the same time."""

    upserts: list[Upsert] = field(default_factory=list)
    deletes: list[Delete] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    in_doubt: bool = False

    def __bool__(self) -> bool:
        return bool(self.upserts or self.deletes or self.warnings)


class Ledger:
    """``ids``: how far the API's ids can be trusted; the same for the whole life of an account."""

    def __init__(self, ids: Ids = "hint") -> None:
        self._ids: Ids = ids
        self._entries: dict[str, Entry] = {}
        self._archive = Archive()
        self._standings = Standings()

    def take(self, scope: str, listing: Listing, size: int = PAGE_ROWS) -> Iterator[Told]:
        """Fold one answer in and hand out what it changes, at most ``size`` changes at a time; nothing where nothing
        changes. ``scope`` is our account. Between two parts the ledger knows exactly what was handed out, so each can
        be stored as a page. Exhaust it before the next call."""
        known = {key: entry for key, entry in self._entries.items() if entry.row.account == listing.account}
        fold = Fold(scope, self._ids, listing, known, self._archive)
        fold.run()
        told = Told(warnings=fold.warnings, in_doubt=fold.is_in_doubt)
        for step in fold.steps:
            self._apply(step, told)
            if len(told.upserts) + len(told.deletes) >= size:
                yield told
                told = Told()
        self._weigh(listing, told)
        self._forget(listing)
        if told:
            yield told

    def day_of(self, account: str, native_id: str) -> date | None:
        """The day under which a pending row is known, for sources that give none."""
        for entry in self._entries.values():
            row = entry.row
            if row.pending and not entry.is_gone and (row.account, row.native_id) == (account, native_id):
                return row.booked_on
        return None

    def oldest_pending(self) -> date | None:
        """The day of the oldest row that still waits to be booked: an answer should reach back to it."""
        days = [entry.row.booked_on for entry in self._entries.values() if entry.row.pending and not entry.is_gone]
        return min(days, default=None)

    def knows(self, account: str) -> bool:
        """Whether any row of this bank account was ever told."""
        return any(entry.row.account == account for entry in self._entries.values()) or account in (
            self._archive.accounts
        )

    def _apply(self, step: Step, told: Told) -> None:
        key = step.entry.key
        before = self._entries.get(key) or self._archive.get(key, "")
        self._archive.drop(key)
        self._entries[key] = step.entry
        self._standings.moved(before, step.entry)
        match step.change:
            case Upsert():
                told.upserts.append(step.change)
            case Delete():
                told.deletes.append(step.change)

    def _weigh(self, listing: Listing, told: Told) -> None:
        if listing.balance is None:
            return
        balance, warning, is_new = self._standings.judged(listing.balance, self._entries.values())
        if balance is None:
            return
        raw = balance.model_dump_json().encode()
        version = digest(balance.model_dump(mode="json", include={"amount", "as_of", "account"}))[:16]
        told.upserts.append(Upsert(balance.key, version, raw, CONTENT_TYPE, is_new=is_new))
        told.warnings += [warning] if warning else []

    def _forget(self, listing: Listing) -> None:
        """The oldest go to the archive; those that are gone and old, nowhere."""
        oldest = listing.on - GONE_LASTS
        self._entries = {k: e for k, e in self._entries.items() if not (e.is_gone and e.row.booked_on < oldest)}
        left = KEPT_BYTES
        for entry in sorted(self._entries.values(), key=lambda entry: (entry.row.booked_on, entry.key), reverse=True):
            left -= len(json.dumps(entry.dump())) + 2
            if left < 0:
                del self._entries[entry.key]
                if not entry.is_gone:
                    self._archive.put(entry)

    def dump(self) -> Json:
        return {
            "v": VERSION,
            "rows": [entry.dump() for entry in self._entries.values()],
            "archive": self._archive.dump(),
            "standings": self._standings.dump(),
        }

    @classmethod
    def load(cls, stored: Any, ids: Ids = "hint") -> Self:
        """Empty for None. CursorExpired for what this version did not write."""
        ledger = cls(ids)
        if stored is None:
            return ledger
        try:
            if stored["v"] != VERSION:
                raise CursorExpired("the ledger of a bank account is of another version")
            entries = [entry_of(row) for row in stored["rows"]]
            ledger._entries = {entry.key: entry for entry in entries}
            ledger._archive = Archive.load(stored["archive"])
            ledger._standings = Standings.load(stored["standings"])
        except (KeyError, TypeError, AttributeError, ValueError, ValidationError) as error:
            raise CursorExpired("the ledger of a bank account is not readable") from error
        return ledger
