"""Scene: what one small story adds to the year (mails, bank rows, calendar edits, labels)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Literal

from forewatch.sample.labels import Label
from forewatch.sample.letter import Letter

Bank = Literal["bank-a", "bank-b"]
Side = Literal["joint", "house"]
"""Further accounts at bank A, whose statements come into the same folder."""
Holding = Bank | Side
RowKind = Literal["transfer", "debit", "card", "salary", "income", "refund"]


@dataclass(frozen=True, slots=True)
class Row:
    """One bank row; outflows are negative. ``pending_on``: the day from which the bank shows it as not yet booked."""

    bank: Holding
    booked: date
    amount: Decimal
    counterparty: str
    purpose: str
    reference: str
    """End-to-end id, unlike any other."""
    kind: RowKind = "card"
    iban: str = ""
    creditor: str = ""
    mandate: str = ""
    pending_on: date | None = None


@dataclass(frozen=True, slots=True)
class Edit:
    """From ``at`` on, the calendar holds these VEVENT blocks for this UID; none: the entry is gone."""

    at: datetime
    uid: str
    blocks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Scene:
    letters: tuple[Letter, ...] = ()
    rows: tuple[Row, ...] = ()
    edits: tuple[Edit, ...] = ()
    labels: tuple[Label, ...] = ()


def joined(scenes: Iterable[Scene]) -> Scene:
    parts = list(scenes)
    return Scene(
        tuple(letter for part in parts for letter in part.letters),
        tuple(row for part in parts for row in part.rows),
        tuple(edit for part in parts for edit in part.edits),
        tuple(label for part in parts for label in part.labels),
    )
