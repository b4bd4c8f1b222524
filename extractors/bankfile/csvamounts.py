"""Signed amounts from the columns of a CSV file, in the reading that its running balance confirms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal

from extractors.bank.amounts import Mark, Scanned, decimal_mark, number, scan

Orientation = Literal["oldest_first", "newest_first"]

SIGNS_TURNED = "the running balance shows that an outflow is positive in this file: signs were turned"
FEE_UNKNOWN = "there is a fee column, and no running balance tells whether the amounts include it"
BALANCE_MISFIT = "the running balance does not fit the amounts"

_DEBITS = "d dr db debit dbit s soll lastschrift belastung cargo debe debito depense out - af"
_CREDITS = "c cr credit crdt h haben gutschrift abono credito recette in + bij"
_DEBIT_WORDS = frozenset(_DEBITS.split())
_CREDIT_WORDS = frozenset(_CREDITS.split())


@dataclass(frozen=True, slots=True)
class Cells:
    """The amount cells of one row, as written; empty where the file has no such column."""

    amount: str = ""
    debit: str = ""
    credit: str = ""
    side: str = ""
    fee: str = ""
    net: str = ""
    balance: str = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """``amounts``: one for each row, outflow negative. ``orientation`` None: no running balance, or it contradicts."""

    amounts: list[Decimal]
    balances: list[Decimal | None]
    consistent: bool | None
    orientation: Orientation | None
    warning: str = ""


@dataclass(frozen=True, slots=True)
class Numbers:
    """Reads cells under one decimal mark; None: the file uses both, so each cell must be plain by itself."""

    mark: Mark | None
    digits: int

    def scanned(self, text: str) -> tuple[Scanned, Decimal] | None:
        """None for an empty cell; ValueError for one that holds something else than an amount."""
        if not text.strip() or text.strip() in "-–—":
            return None
        found = scan(text)
        if found is None:
            raise ValueError(f"not an amount: {text[:40]!r}")
        mark = self.mark or decimal_mark([found.body], self.digits) or "."
        return found, number(found.body, mark)

    def plain(self, text: str) -> Decimal | None:
        """With its sign: a minus, parentheses or a DR mark make it negative."""
        found = self.scanned(text)
        if found is None:
            return None
        is_out = found[0].negative or found[0].side == "debit"
        return -found[1] if is_out else found[1]


def mark_of(cells: Iterable[Cells], digits: int) -> Mark | None:
    texts = (text for row in cells for text in (row.amount, row.debit, row.credit, row.fee, row.net, row.balance))
    return decimal_mark((found.body for text in texts if text and (found := scan(text))), digits)


def amount_of(row: Cells, numbers: Numbers, style: Style) -> Decimal:
    """The amount of one row as the file's style has it; ValueError where there is none."""
    net = numbers.plain(row.net)
    if net is not None:
        return net
    if row.debit or row.credit:
        debit, credit = numbers.plain(row.debit), numbers.plain(row.credit)
        if debit is not None or credit is not None:
            out = debit or Decimal(0)
            return (credit or Decimal(0)) + (out if style.negative_debits else -out)
    amount = numbers.plain(row.amount)
    if amount is None:
        raise ValueError("the amount is missing")
    side = side_of(row.side)
    if side and not style.signed:
        amount = -amount if side == "debit" else amount
    return amount


@dataclass(frozen=True, slots=True)
class Style:
    """``signed``: amounts carry their sign, so a debit/credit word adds nothing. ``negative_debits``: the debit column
    is negative throughout, so its minus does not turn a debit into a refund."""

    signed: bool
    negative_debits: bool


def style_of(rows: Sequence[Cells], numbers: Numbers) -> Style:
    """A single positive debit means that a negative one is a refund."""
    debits = [value for row in rows if (value := _quiet(numbers, row.debit))]
    amounts = [value for row in rows if (value := _quiet(numbers, row.amount))]
    return Style(
        signed=any(value < 0 for value in amounts),
        negative_debits=bool(debits) and all(value < 0 for value in debits),
    )


def _quiet(numbers: Numbers, text: str) -> Decimal | None:
    try:
        return numbers.plain(text)
    except ValueError:
        return None


def side_of(word: str) -> Literal["", "debit", "credit"]:
    plain = word.strip().casefold()
    if plain in _DEBIT_WORDS:
        return "debit"
    return "credit" if plain in _CREDIT_WORDS else ""


def read(rows: Sequence[Cells], amounts: list[Decimal], counted: Sequence[bool], numbers: Numbers) -> Reading:
    """The first reading that the running balance confirms: as written, with the fee taken off, with signs turned.

    Without a balance, or with one that fits no reading, it is as written. Rows that are not ``counted`` (pending ones)
    stand outside of the balance.
    """
    fees = [abs(_quiet(numbers, row.fee) or Decimal(0)) for row in rows]
    balances = [_quiet(numbers, row.balance) if counts else None for row, counts in zip(rows, counted, strict=True)]
    if sum(balance is not None for balance in balances) < 2:
        warning = FEE_UNKNOWN if any(fees) and not any(row.net for row in rows) else ""
        return Reading(amounts, balances, None, None, warning)
    fitting: list[Reading] = []
    for candidate, warning in _readings(amounts, fees):
        steps = [value if counts else Decimal(0) for value, counts in zip(candidate, counted, strict=True)]
        orientation = _orientation(steps, balances)
        if orientation is not None:
            fitting.append(Reading(candidate, balances, True, orientation, warning))
    if not fitting:
        return Reading(amounts, balances, False, None, BALANCE_MISFIT)
    return replace(fitting[0], warning=FEE_UNKNOWN) if len(fitting) > 1 and any(fees) else fitting[0]


def _readings(amounts: Sequence[Decimal], fees: Sequence[Decimal]) -> Iterator[tuple[list[Decimal], str]]:
    turned = [-amount for amount in amounts]
    for values, warning in ((amounts, ""), (turned, SIGNS_TURNED)):
        yield list(values), warning
        if any(fees):
            yield [value - fee for value, fee in zip(values, fees, strict=True)], warning


def _orientation(amounts: Sequence[Decimal], balances: Sequence[Decimal | None]) -> Orientation | None:
    """Whether each balance follows from its neighbour's, downwards or upwards."""
    if _follows(amounts, balances):
        return "oldest_first"
    if _follows(list(reversed(amounts)), list(reversed(balances))):
        return "newest_first"
    return None


def _follows(amounts: Sequence[Decimal], balances: Sequence[Decimal | None]) -> bool:
    """A row without a balance is carried over to the next that has one."""
    held: Decimal | None = None
    for amount, balance in zip(amounts, balances, strict=True):
        expected = None if held is None else held + amount
        if balance is not None and expected is not None and balance != expected:
            return False
        held = balance if balance is not None else expected
    return True
