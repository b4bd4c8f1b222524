"""The movements of a CSV table as statements: one for each account and currency."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal

from extractors.bank.amounts import SYMBOLS, scan
from extractors.bank.balances import checked
from extractors.bank.iban import iban
from extractors.bank.row import Row, Statement, name, purpose, reference
from extractors.bankfile.csvamounts import Numbers, Reading, amount_of, mark_of, read, side_of, style_of
from extractors.bankfile.csvdates import Order, cell, mentioned
from extractors.bankfile.csvlines import Line
from extractors.bankfile.header_words import Role
from extractors.bankfile.labels import Labels
from extractors.bankfile.parsed import Parsed, why
from extractors.bankfile.profile import Profile
from schemas.money import Money, exponent

UNKNOWN = "XXX"
"""What ISO 4217 has for no currency; it never leaves a draft."""


def statements(lines: Sequence[Line], known: Profile, told: Labels, parsed: Parsed, where: str) -> Iterator[Statement]:
    """One statement for each account and currency in the file."""
    groups: dict[tuple[str, str], list[Line]] = {}
    for line in lines:
        account = line.get("account") or known.account
        groups.setdefault((iban(account) or account[:64], _currency(line, known) or UNKNOWN), []).append(line)
    if lines and not any(line.get("side") for line in lines) and all(side_of(line.get("booking")) for line in lines):
        groups = {key: [line.with_side() for line in group] for key, group in groups.items()}
    digits = min((exponent(currency) for _, currency in groups), default=2)
    mark = mark_of((line.amounts for line in lines), digits)
    if mark is None:
        parsed.warn("amounts use both the point and the comma as decimal mark")
    for (account, currency), group in groups.items():
        reader = _Reader(account, currency, known.order, Numbers(mark, digits), parsed, where)
        statement = reader.statement(group)
        yield checked(_labelled(statement, told, reader) if len(groups) == 1 else statement)


def _currency(line: Line, known: Profile) -> str:
    """The row's own word, else a mark in its amount, else the file's; "" where nothing tells."""
    written = line.get("currency").upper()
    written = SYMBOLS.get(written, written)
    if re.fullmatch("[A-Z]{3}", written):
        return written
    found = scan(line.get("amount", "net", "debit", "credit"))
    return (found.currency if found else "") or known.currency


def _labelled(statement: Statement, told: Labels, reader: _Reader) -> Statement:
    """The statement with the balances that the lines around the table name, where the rows did not give them."""
    opening = statement.opening or reader.labelled(told.opening)
    closing = statement.closing or reader.labelled(told.closing)
    closing_on = statement.closing_on or reader.day_in(told.closing_on)
    closing_on = closing_on or max((row.booked_on for row in statement.booked), default=None)
    return replace(statement, opening=opening, closing=closing, closing_on=closing_on)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads the lines of one account in one currency."""

    account: str
    currency: str
    order: Order
    numbers: Numbers
    parsed: Parsed
    where: str

    def statement(self, lines: Sequence[Line]) -> Statement:
        style = style_of([line.amounts for line in lines], self.numbers)
        good: list[Line] = []
        amounts: list[Decimal] = []
        for line in lines:
            try:
                amounts.append(amount_of(line.amounts, self.numbers, style))
                good.append(line)
            except ValueError as error:
                self._reject(line, error)
        counted = [not line.is_pending for line in good]
        reading = read([line.amounts for line in good], amounts, counted, self.numbers)
        if reading.warning:
            self.parsed.warn(reading.warning)
        rows = [(line, self._row(line, amount)) for line, amount in zip(good, reading.amounts, strict=True)]
        statement = Statement(self.account, self.currency, rows=tuple(row for _, row in rows if row is not None))
        return self._balanced(statement, reading)

    def _row(self, line: Line, amount: Decimal) -> Row | None:
        try:
            booked_on = self._day(line, "booked", "date", "value")
            if booked_on is None:
                raise ValueError("the row has no day")
            return Row(
                account=self.account,
                booked_on=booked_on,
                value_on=self._day(line, "value"),
                amount=Money.of(amount, self.currency),
                original=self._original(line, amount),
                counterparty=name(_counterparty(line, amount)),
                counterparty_iban=iban(line.get("iban")),
                purpose=purpose(line.get("purpose", "text") or ("" if line.get("payee") else line.get("booking"))),
                booking_text=name(line.get("booking")),
                native_id=name(line.get("id")),
                end_to_end_id=reference(line.get("end_to_end")),
                mandate_id=reference(line.get("mandate")),
                creditor_id=reference(line.get("creditor")),
                pending=line.is_pending,
            )
        except ValueError as error:
            self._reject(line, error)
            return None

    def _reject(self, line: Line, error: ValueError) -> None:
        self.parsed.reject(f"{self.where}:{line.number}", why(error), str(list(line.cells.values())))

    def _day(self, line: Line, *roles: Role) -> date | None:
        for role in roles:
            found = cell(line.get(role))
            if found is not None and not found.fits(self.order):
                raise ValueError(f"not a date: {line.get(role)!r}")
            if found is not None:
                return found.read(self.order)
        return None

    def _original(self, line: Line, amount: Decimal) -> Money | None:
        found = scan(line.get("original"))
        currency = line.get("original_currency").upper() or (found.currency if found else "")
        if found is None or not re.fullmatch("[A-Z]{3}", currency) or currency == self.currency:
            return None
        value = abs(self.numbers.plain(line.get("original")) or Decimal(0))
        return Money.of(-value if amount < 0 else value, currency)

    def _balanced(self, statement: Statement, reading: Reading) -> Statement:
        """Opening and closing from a running balance that fits; its last word is the day of the newest row."""
        held = [(i, balance) for i, balance in enumerate(reading.balances) if balance is not None]
        if reading.consistent is False or not held or len(statement.rows) != len(reading.amounts):
            return statement
        newest_first = reading.orientation == "newest_first"
        (first, opened), (last, closed) = (held[-1], held[0]) if newest_first else (held[0], held[-1])
        passed = range(first, len(reading.amounts)) if newest_first else range(first + 1)
        before = sum((reading.amounts[i] for i in passed if not statement.rows[i].pending), Decimal(0))
        return replace(
            statement,
            opening=Money.of(opened - before, self.currency),
            closing=Money.of(closed, self.currency),
            closing_on=statement.rows[last].booked_on,
        )

    def labelled(self, text: str) -> Money | None:
        try:
            value = self.numbers.plain(text)
        except ValueError:
            return None
        return None if value is None else Money.of(value, self.currency)

    def day_in(self, text: str) -> date | None:
        found = [each for each in mentioned(text) if each.fits(self.order)]
        return found[-1].read(self.order) if found else None


def _counterparty(line: Line, amount: Decimal) -> str:
    """Who is on the other side: the payee of an outflow, the payer of an inflow; a file with one text column has the
    name in it."""
    if line.get("payer"):
        return line.get("payee", "payer") if amount < 0 else line.get("payer", "payee")
    return line.get("payee", "text", "purpose", "booking")
