"""Bank rows as statement files, dropped on the days on which the banks write them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal

from forewatch.sample import camt, girocsv
from forewatch.sample.household import Drop
from forewatch.sample.iban import iban
from forewatch.sample.scene import Holding, Row, Side
from forewatch.sample.stage import Stage, days

SIDES: tuple[Side, ...] = ("joint", "house")
SIDE_OPENING = Decimal("790.00")
_OPENING = Decimal("6480.25")
_OVERLAP_DAYS = 14
"""Bank B's weekly export reaches this far back, so that each row comes twice."""


def drops(stage: Stage, rows: Sequence[Row]) -> Iterator[Drop]:
    ordered = sorted(rows, key=lambda row: (row.booked, row.reference))
    yield from _bank_a(stage, [row for row in ordered if row.bank == "bank-a"])
    for side in SIDES:
        yield from _beside(stage, side, [row for row in ordered if row.bank == side])
    yield from _bank_b(stage, [row for row in ordered if row.bank == "bank-b"])


def iban_of(stage: Stage, bank: Holding) -> str:
    """Of the household's own account."""
    name = {"bank-a": "a", "bank-b": "b"}.get(bank, bank)
    return iban(stage.dice["iban", name], "DE" if bank == "bank-b" else "NL")


def _bank_a(stage: Stage, rows: Sequence[Row]) -> Iterator[Drop]:
    """A statement for each day with bookings, written early the next morning; one for each month on its third."""
    account = iban_of(stage, "bank-a")
    balance, month_balance = _OPENING, _OPENING
    since = stage.start
    day = stage.start + days(1)
    while day < stage.end:
        if not stage.outages.covers("bank-a", day):
            booked = [row for row in rows if since <= row.booked < day]
            pending = [row for row in rows if row.pending_on and since <= row.pending_on < day <= row.booked]
            if booked or pending:
                made_at = stage.at(day, 5, 50)
                last = day - days(1)
                text = _statement(stage, account, made_at, since, last, balance, booked, pending)
                yield Drop(stage.at(day, 6, 15), f"bank-a/camt053-{last:%Y-%m-%d}.xml", "add", text)
                balance += _total(booked)
                since = day
        if day.day == 3 and day.replace(day=1) > stage.start and not stage.outages.covers("bank-a", day):
            first = max(_month_before(day), stage.start)
            month = [row for row in rows if first <= row.booked < day.replace(day=1)]
            text = _statement(
                stage, account, stage.at(day, 6, 0), first, day.replace(day=1) - days(1), month_balance, month, []
            )
            yield Drop(stage.at(day, 6, 30), f"bank-a/statement-{first:%Y-%m}.xml", "add", text)
            month_balance += _total(month)
        day += days(1)


def _beside(stage: Stage, side: Side, rows: Sequence[Row]) -> Iterator[Drop]:
    """Another account at bank A: a statement for each day with bookings, beside that of the first."""
    account, balance, since = iban_of(stage, side), SIDE_OPENING, stage.start
    day = stage.start + days(1)
    while day < stage.end:
        booked = [row for row in rows if since <= row.booked < day]
        if booked and not stage.outages.covers("bank-a", day):
            last = day - days(1)
            text = _statement(stage, account, stage.at(day, 5, 55), since, last, balance, booked, [])
            yield Drop(stage.at(day, 6, 20), f"bank-a/{side}-camt053-{last:%Y-%m-%d}.xml", "add", text)
            balance += _total(booked)
            since = day
        day += days(1)


def _statement(
    stage: Stage,
    account: str,
    made_at: datetime,
    first: date,
    last: date,
    opening: Decimal,
    booked: Sequence[Row],
    pending: Sequence[Row],
) -> bytes:
    owner = stage.family.owner
    holder = f"{owner.first} {owner.surname}"
    name = f"{first:%y%m%d}{last:%y%m%d}"
    return camt.document(camt.Statement(name, made_at, account, holder, first, last, opening, booked, pending))


def _total(rows: Sequence[Row]) -> Decimal:
    return sum((row.amount for row in rows), Decimal(0))


def _month_before(day: date) -> date:
    return (day.replace(day=1) - days(1)).replace(day=1)


def _bank_b(stage: Stage, rows: Sequence[Row]) -> Iterator[Drop]:
    """An export every Monday; after an outage one that covers all of it."""
    account = iban_of(stage, "bank-b")
    exported = stage.start
    day = stage.start + days(7 - stage.start.weekday())
    while day < stage.end:
        if not stage.outages.covers("bank-b", day):
            first = min(day - days(_OVERLAP_DAYS), exported)
            booked = [row for row in rows if first <= row.booked < day]
            pending = [row for row in rows if row.pending_on and row.pending_on < day <= row.booked]
            content = girocsv.export(account, booked, pending)
            yield Drop(stage.at(day, 6, 45), f"bank-b/umsaetze-{day:%Y%m%d}.csv", "add", content)
            exported = day
        day += days(7)
