"""Profile: how to read one bank's CSV, as far as its data prove it; what they leave open is a question."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from extractors.bankfile import questions
from extractors.bankfile.csvdates import ORDERS, Cell, Order, cell, contradict, mentioned, proven
from extractors.bankfile.header import folded
from extractors.bankfile.header_words import Role
from extractors.bankfile.labels import Labels
from extractors.bankfile.parsed import Given, Parsed, Refuse
from extractors.bankfile.table import Record, Table
from schemas.ids import content_hash

_DATES: tuple[Role, ...] = ("booked", "date", "value")


@dataclass(frozen=True, slots=True)
class Profile:
    """``signature`` names the export: files of the same bank and kind have the same. ``currency`` is what rows are in
    that name none, "" where nothing tells."""

    signature: str
    order: Order
    currency: str
    account: str


def profile(table: Table, labels: Labels, parsed: Parsed, where: str, given: Given) -> Profile | None:
    """None when the person must answer first: the questions are in ``parsed``."""
    signature = content_hash(table.delimiter, *(folded(heading) for heading in table.header))[:16]
    order = _order(table, signature, parsed, where, given)
    currency = table.columns.currency or labels.currency or given.currency
    currency = currency or given.answers.get(questions.CURRENCY, "").upper()
    currency = currency if re.fullmatch("[A-Z]{3}", currency) else ""
    return None if order is None else Profile(signature, order, currency, labels.account)


def _order(table: Table, signature: str, parsed: Parsed, where: str, given: Given) -> Order | None:
    """Proof by the data stands above the person's answer; below it, what other files of this bank proved, then the
    language of the headings (German, French and Spanish write the day first), then the question."""
    found = (cell(text) for record in table.body for text in _texts(table, record))
    dates = [each for each in found if each and any(each.fits(order) for order in ORDERS)]
    if contradict(dates):
        raise Refuse("contradictory_dates", "no order of day and month makes all its dates possible")
    period = [each for record in table.preamble for text in record.cells for each in mentioned(text)]
    by_data = proven(dates) or proven([*dates, *(each for each in period if _like(each, dates))])
    if by_data is not None:
        parsed.orders[signature] = by_data
        return by_data
    for known in (given.answers.get(questions.DATE_ORDER, "").upper(), given.orders.get(signature)):
        for order in ORDERS:
            if known == order:
                return order
    if table.columns.language != "en":
        parsed.warn("dates are read day first, as the language of the headings has it; the data do not prove it")
        return "DMY"
    parsed.questions.append(questions.date_order(where, {order: _days(table, order) for order in ORDERS}))
    return None


def _like(period: Cell, dates: Sequence[Cell]) -> bool:
    """A heading's dates speak for the column only where they are written in the same way."""
    return any(period.mark == each.mark for each in dates if each.fixed is None)


def _texts(table: Table, record: Record) -> list[str]:
    """The date cells of a record."""
    places = [table.columns.places[role] for role in _DATES if role in table.columns.places]
    return [record.cells[place] for place in places if place < len(record.cells)]


def _days(table: Table, order: Order) -> list[str]:
    """The booked day of each row under this order."""
    found = (_day(table, record, order) for record in table.body)
    return [day for day in found if day]


def _day(table: Table, record: Record, order: Order) -> str:
    first = next((each for text in _texts(table, record) if (each := cell(text))), None)
    return first.read(order).isoformat() if first is not None and first.fits(order) else ""
