"""Row, Balance and Statement: what a bank said, in one form, before it becomes events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from extractors.text import one_line
from schemas.model import Model
from schemas.money import Money

Day = Annotated[date, Field(ge=date(1950, 1, 1), le=date(2100, 12, 31))]
"""A day on which a bank can have booked; anything else is a misread date."""

NAME_CAP = 200
PURPOSE_CAP = 2_000
ID_CAP = 120


class Row(Model):
    """One movement on one bank account. ``amount`` is what the account was charged, signed: an outflow is negative.

    ``booked_on`` is the day that the bank wrote, in the bank's own zone. For a pending row it is the best day known.
    ``replaces`` is the key of the pending row that this booked one settles.
    """

    type: Literal["row"] = "row"
    account: str = ""
    booked_on: Day
    value_on: Day | None = None
    amount: Money
    original: Money | None = None
    counterparty: str = ""
    counterparty_iban: str | None = None
    purpose: str = ""
    booking_text: str = ""
    native_id: str = ""
    end_to_end_id: str | None = None
    mandate_id: str | None = None
    creditor_id: str | None = None
    pending: bool = False
    reversal: bool = False
    replaces: str | None = None
    warnings: tuple[str, ...] = ()


class Balance(Model):
    """What the account held at the end of ``as_of``. ``opening`` and ``consistent``: as in BalancePayload."""

    type: Literal["balance"] = "balance"
    account: str = ""
    as_of: Day
    amount: Money
    opening: Money | None = None
    consistent: bool | None = None

    @property
    def key(self) -> str:
        return f"balance:{self.account}:{self.amount.currency}:{self.as_of.isoformat()}"


ITEM: TypeAdapter[Row | Balance] = TypeAdapter(Annotated[Row | Balance, Field(discriminator="type")])
"""Reads what a record holds."""


@dataclass(frozen=True, slots=True)
class Statement:
    """What one source says of one account at one time; ``rows`` in its own order.

    ``closing`` balances the booked rows; ``balance`` is what the bank says the account holds, which may be later.
    """

    account: str = ""
    currency: str = ""
    number: str = ""
    rows: tuple[Row, ...] = ()
    opening: Money | None = None
    opening_on: date | None = None
    closing: Money | None = None
    closing_on: date | None = None
    balance: Balance | None = None
    consistent: bool | None = None
    warnings: tuple[str, ...] = ()

    @property
    def booked(self) -> list[Row]:
        return [row for row in self.rows if not row.pending]

    def total(self) -> Decimal:
        return total(self.booked)


def total(rows: Sequence[Row]) -> Decimal:
    """Sum of the amounts; meaningful only within one currency."""
    return sum((row.amount.amount for row in rows), Decimal(0))


def name(text: str | None) -> str:
    return one_line(text or "", NAME_CAP)


def purpose(text: str | None) -> str:
    return one_line(text or "", PURPOSE_CAP)


def reference(text: str | None) -> str | None:
    """A reference, or None for the words that banks write where there is none."""
    found = one_line(text or "", ID_CAP)
    return None if found.upper() in _NO_REFERENCE else found


_NO_REFERENCE = frozenset(
    ["", "-", "0", "NONREF", "NOTPROVIDED", "NOT PROVIDED", "NICHT ANGEGEBEN", "NOREF", "NONE", "NULL", "N/A"]
)
