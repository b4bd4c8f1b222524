"""Bank rows as stories write them: who, how much, on which day, in which words."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from forewatch.sample import bankdays
from forewatch.sample.dice import Dice
from forewatch.sample.scene import Bank, Holding, Row, RowKind
from forewatch.sample.stage import Stage, days

PROMPT: dict[Bank, tuple[int, ...]] = {"bank-a": (0, 1, 2, 3, 4), "bank-b": (0, 2, 4, 6, 8, 10)}
"""Days after a booking on which the bank must speak, so that the row is seen when it should be."""


def paid(
    dice: Dice,
    bank: Holding,
    day: date,
    amount: Decimal,
    counterparty: str,
    purpose: str = "",
    *,
    kind: RowKind = "card",
    iban: str = "",
) -> Row:
    """Booked on the first bank day from ``day`` on; negative amounts leave the account. Each needs dice of its own."""
    words = purpose or f"Kartenzahlung {counterparty}"
    return Row(bank, bankdays.on_or_after(day), amount, counterparty, words, f"8{dice['e2e'].digits(14)}", kind, iban)


def monthly(first: date, end: date) -> list[date]:
    """The same day of each month from ``first`` on, before ``end``; not later than the 28th."""
    start = first.year * 12 + first.month - 1
    found = (date((start + n) // 12, (start + n) % 12 + 1, min(first.day, 28)) for n in range(40))
    return [day for day in found if day < end]


def window(stage: Stage, row: Row, late: int = 2) -> tuple[date, date]:
    """From the booking until ``late`` days after the statement that first shows it."""
    return row.booked, min(stage.seen_on(row.bank, row.booked) + days(late), stage.last)
