"""Archive: old movements that a ledger told, at 44 characters each: enough to know them again and to withdraw them."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from hashlib import sha256
from struct import Struct
from typing import Any, Self

from extractors.bank.entry import Entry
from extractors.bank.row import Row
from schemas.errors import CursorExpired
from schemas.model import Json
from schemas.money import Money

LIMIT = 7_500
"""Movements kept; those told longest ago are forgotten first. One that comes again after that is told again under the
same record id, so it is still not doubled."""
_NAMES = 60
_SCALE = 6
_ENTRY = Struct(">16s5sHBBq")


@dataclass(slots=True)
class Archive:
    """``packed`` by key. ``accounts`` and ``currencies`` are what the one-byte numbers in it mean."""

    packed: dict[str, bytes] = field(default_factory=dict)
    accounts: list[str] = field(default_factory=list)
    currencies: list[str] = field(default_factory=list)

    def __contains__(self, key: str) -> bool:
        return key in self.packed

    def put(self, entry: Entry) -> None:
        row = entry.row
        amount = int(row.amount.amount.scaleb(_SCALE))
        account, currency = _place(self.accounts, row.account), _place(self.currencies, row.amount.currency)
        if account is None or currency is None or abs(amount) >= 2**63:
            return
        day = row.booked_on.toordinal() - _EPOCH
        self.packed.pop(entry.key, None)
        head = bytes.fromhex(entry.key), _mark(entry.version)
        self.packed[entry.key] = _ENTRY.pack(*head, day, account, currency, amount)
        if len(self.packed) > LIMIT:
            del self.packed[next(iter(self.packed))]

    def get(self, key: str, version: str) -> Entry | None:
        """``version`` is what its row says now: the movement has it if that is what it said before."""
        packed = self.packed.get(key)
        return None if packed is None else self._entry(packed, version)

    def drop(self, key: str) -> None:
        self.packed.pop(key, None)

    def of(self, account: str) -> Iterator[Entry]:
        """All booked movements of a bank account."""
        if account in self.accounts:
            number = self.accounts.index(account)
            for packed in self.packed.values():
                if _ENTRY.unpack(packed)[3] == number:
                    yield self._entry(packed, "")

    def _entry(self, packed: bytes, version: str) -> Entry:
        key, mark, day, account, currency, amount = _ENTRY.unpack(packed)
        row = Row(
            account=self.accounts[account],
            booked_on=date.fromordinal(day + _EPOCH),
            amount=Money.of(Decimal(amount).scaleb(-_SCALE), self.currencies[currency]),
        )
        is_same = _mark(version) == mark
        return Entry(key.hex(), row, version if is_same else "", (version,) if is_same else ())

    def dump(self) -> Json:
        packed = base64.b64encode(b"".join(self.packed.values())).decode()
        accounts: list[Json] = [*self.accounts]
        currencies: list[Json] = [*self.currencies]
        return {"accounts": accounts, "currencies": currencies, "rows": packed}

    @classmethod
    def load(cls, stored: Any) -> Self:
        """CursorExpired for what ``dump`` did not write."""
        try:
            raw = base64.b64decode(stored["rows"], validate=True)
            rows = [raw[i : i + _ENTRY.size] for i in range(0, len(raw), _ENTRY.size)]
            found = cls({row[:16].hex(): row for row in rows}, list(stored["accounts"]), list(stored["currencies"]))
        except (KeyError, TypeError, binascii.Error, ValueError) as error:
            raise CursorExpired("the archive of a bank account is not readable") from error
        if len(raw) % _ENTRY.size:
            raise CursorExpired("the archive of a bank account is cut off")
        return found


_EPOCH = date(1950, 1, 1).toordinal()


def _place(names: list[str], name: str) -> int | None:
    if name not in names:
        if len(names) >= _NAMES:
            return None
        names.append(name)
    return names.index(name)


def _mark(version: str) -> bytes:
    return sha256(version.encode()).digest()[:5]
