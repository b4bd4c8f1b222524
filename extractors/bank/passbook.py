"""Passbook: what is known of an account's rows, and what a statement adds to it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache
from typing import Any, Self

import msgspec
from pydantic import ValidationError

from extractors.bank.identity import Keyed, keyed
from extractors.bank.known import Known
from extractors.bank.pending import settled_by
from extractors.bank.row import ITEM, Balance, Row, Statement
from extractors.connector import Delete, Upsert
from schemas.errors import CursorExpired
from schemas.ids import digest
from schemas.model import Json

CONTENT_TYPE = "application/json"
OPEN_LIMIT, RECENT_LIMIT = 300, 400
RECENT = timedelta(days=30)
_KEPT = ("account", "booked_on", "amount", "counterparty", "native_id", "end_to_end_id", "pending")
_PURPOSE_KEPT = 60


@dataclass(slots=True)
class Taken:
    """What one file added, oldest first. ``deletes`` are pending rows that were booked; nothing else ever goes."""

    upserts: list[Upsert] = field(default_factory=list)
    deletes: list[Delete] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Recent:
    """A row booked lately; ``settles`` is the pending row that it was."""

    row: Row
    settles: str | None = None


class Passbook:
    """A fold over statements that lives in a connector's cursor.

    The rows it hands out do not depend on the order in which files come: a pending row that turns up after its booking
    is passed over, and a row that is known is never handed out again unless it says something else.
    """

    def __init__(self) -> None:
        self._known = Known()
        self._open: dict[str, Row] = {}
        self._recent: dict[str, _Recent] = {}

    def take(self, scope: str, statements: Sequence[Statement]) -> Taken:
        """Fold the statements of one file in. ``scope`` is our account."""
        taken = Taken()
        rows = iter(keyed(scope, statements))
        for statement in statements:
            self._take_rows([next(rows) for _ in statement.rows], taken)
        for balance in _balances(statements):
            self._take_balance(balance, taken)
        return taken

    def _take_rows(self, rows: Sequence[Keyed], taken: Taken) -> None:
        """Rows of one statement are different movements, so none of its pending rows is one of its booked ones."""
        listed = {each.key for each in rows if each.row.pending}
        candidates = {key: row for key, row in self._open.items() if key not in listed}
        earlier = dict(self._recent)
        for each in _oldest_first(rows):
            status = self._known.status(each.key, each.version)
            if status == "same":
                continue
            if each.row.pending:
                self._take_pending(each, earlier, taken, is_new=status == "new")
            else:
                self._take_booked(each, candidates, taken, is_new=status == "new")
        self._forget_old()

    def _take_pending(self, each: Keyed, earlier: dict[str, _Recent], taken: Taken, *, is_new: bool) -> None:
        is_over = self._was_booked(each, earlier) if is_new else each.key not in self._open
        if is_over:
            self._known.add(each.key, each.version)
            return
        self._open[each.key] = _slim(each.row)
        taken.upserts.append(self._upsert(each, each.row, is_new=is_new))

    def _take_booked(self, each: Keyed, candidates: dict[str, Row], taken: Taken, *, is_new: bool) -> None:
        settles = settled_by(each.row, candidates) if is_new else self._settled_before(each.key)
        if is_new and settles is not None:
            pending = candidates.pop(settles)
            self._open.pop(settles, None)
            taken.deletes.append(_withdrawal(settles, pending, each.key))
        self._recent[each.key] = _Recent(_slim(each.row), settles)
        taken.upserts.append(self._upsert(each, each.row.model_copy(update={"replaces": settles}), is_new=is_new))

    def _settled_before(self, key: str) -> str | None:
        known = self._recent.get(key)
        return known.settles if known else None

    def _was_booked(self, pending: Keyed, earlier: dict[str, _Recent]) -> bool:
        """Whether this pending row is old news: booked no earlier than its own day, by a row that settled nothing."""
        for key, known in earlier.items():
            late = known.settles is None and known.row.booked_on >= pending.row.booked_on
            if late and settled_by(known.row, {pending.key: pending.row}):
                self._recent[key] = earlier[key] = _Recent(known.row, pending.key)
                return True
        return False

    def _take_balance(self, balance: Balance, taken: Taken) -> None:
        version = digest(balance.model_dump(mode="json"))[:16]
        status = self._known.status(balance.key, version)
        if status != "same":
            self._known.add(balance.key, version)
            raw = balance.model_dump_json().encode()
            taken.upserts.append(Upsert(balance.key, version, raw, CONTENT_TYPE, is_new=status == "new"))

    def _upsert(self, each: Keyed, row: Row, *, is_new: bool) -> Upsert:
        self._known.add(each.key, each.version)
        return Upsert(each.key, each.version, row.model_dump_json().encode(), CONTENT_TYPE, is_new=is_new)

    def _forget_old(self) -> None:
        newest = max((known.row.booked_on for known in self._recent.values()), default=None)
        if newest is not None:
            kept = [(key, known) for key, known in self._recent.items() if known.row.booked_on >= newest - RECENT]
            self._recent = dict(kept[-RECENT_LIMIT:])
        self._open = dict(list(self._open.items())[-OPEN_LIMIT:])

    def dump(self) -> Json:
        return {
            "rows": self._known.dump(),
            "open": {key: _stored(row) for key, row in self._open.items()},
            "recent": {
                key: {"row": _stored(known.row), "settles": known.settles} for key, known in self._recent.items()
            },
        }

    @classmethod
    def load(cls, stored: Any) -> Self:
        """CursorExpired for what this version did not write."""
        book = cls()
        try:
            book._known = Known.load(stored["rows"])
            book._open = {key: _row(row) for key, row in stored["open"].items()}
            book._recent = {
                key: _Recent(_row(entry["row"]), entry["settles"]) for key, entry in stored["recent"].items()
            }
        except (KeyError, TypeError, AttributeError, ValidationError) as error:
            raise CursorExpired("the cursor of a bank account is not readable") from error
        return book


def _oldest_first(rows: Iterable[Keyed]) -> list[Keyed]:
    """By day, booked before pending; within a day as the bank lists them, turned round where it lists newest first."""
    rows = list(rows)
    if rows and rows[0].row.booked_on > rows[-1].row.booked_on:
        rows.reverse()
    return sorted(rows, key=lambda each: (each.row.booked_on, each.row.pending))


def _balances(statements: Sequence[Statement]) -> list[Balance]:
    """The last word on each day: pages and repeats of a statement give one balance."""
    found = {statement.balance.key: statement.balance for statement in statements if statement.balance}
    return sorted(found.values(), key=lambda balance: balance.as_of)


def _withdrawal(key: str, pending: Row, settled_by_key: str) -> Delete:
    meta: dict[str, Json] = {"row": pending.model_dump(mode="json"), "settled_by": settled_by_key}
    return Delete(key, f"booked:{settled_by_key}", meta)


def _slim(row: Row) -> Row:
    """Only what matching needs, and what a withdrawal tells. Cut before it is kept, never when it is stored: a cursor
    that was stored and read must not lead to other records than one that was not."""
    kept = {name: getattr(row, name) for name in _KEPT}
    return Row(**kept, purpose=row.purpose[:_PURPOSE_KEPT])


def _stored(row: Row) -> Json:
    slim: dict[str, Json] = row.model_dump(mode="json", exclude_defaults=True)
    return {**slim, "type": "row"}


def _row(stored: Json) -> Row:
    """Remembered: each poll reads its cursor, and of its rows hardly one is another than the time before."""
    return _read(msgspec.json.encode(stored))


@lru_cache(maxsize=2 * (OPEN_LIMIT + RECENT_LIMIT))
def _read(stored: bytes) -> Row:
    item = ITEM.validate_json(stored)
    if not isinstance(item, Row):
        raise TypeError("not a row")
    return item
