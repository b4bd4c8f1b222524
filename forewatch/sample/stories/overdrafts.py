"""Two more accounts: too little for what is due, less than nothing, and weeks in which it only looks so.

Each month lets in what it lets out, so that only the bills that a story adds decide how much is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal

from forewatch.sample import bankdays
from forewatch.sample.cast import Company
from forewatch.sample.dice import Dice
from forewatch.sample.labels import Label
from forewatch.sample.marking import notice, silence
from forewatch.sample.payments import paid, window
from forewatch.sample.scene import Row, RowKind, Scene, Side
from forewatch.sample.speech import Language
from forewatch.sample.stage import Stage, days
from forewatch.sample.statements import SIDE_OPENING, iban_of

_LOW = ("low-balance", "account-overdrawn")
_OVERDRAWN = ("account-overdrawn", "low-balance")
_FIRST, _LAST = 4, 10
"""Between which months of the year something may happen: after three of history, and before the year is over."""
_PAY, _RATE, _GONE, _FEES, _PAPER = 1, 12, 16, 19, 24
"""Days of the month on which the account is paid, and on which it pays."""
_GONE_AFTER = 3
"""Months after which one of the contracts has ended."""
_SNACKS = (5, 11, 17, 22)
_FURNISHED: dict[Language, str] = {"en": "Repair", "de": "Reparatur", "fr": "Réparation", "es": "Reparación"}
_MOVED: dict[Language, str] = {"en": "Transfer", "de": "Übertrag", "fr": "Virement", "es": "Traspaso"}


@dataclass
class _Account:
    """The account as it is written. Amounts of the bills that come every month are positive here."""

    stage: Stage
    dice: Dice
    side: Side
    rate: Decimal
    gone: Decimal
    fees: Decimal
    paper: Decimal
    rows: list[Row] = field(default_factory=list)

    def on(self, month: int, day: int) -> date:
        first = self.stage.start.year * 12 + self.stage.start.month - 1 + month
        return bankdays.on_or_after(date(first // 12, first % 12 + 1, day))

    def left(self, day: date) -> Decimal:
        """After the bookings of that day."""
        return SIDE_OPENING + sum((row.amount for row in self.rows if row.booked <= day), Decimal(0))

    def add(
        self, name: object, day: date, amount: Decimal, company: Company, purpose: str, kind: RowKind = "transfer"
    ) -> Row:
        exact = self.stage.unreserved(abs(amount))
        row = paid(
            self.dice[name], self.side, day, exact if amount > 0 else -exact, company.name, purpose,
            kind=kind, iban=company.iban,
        )  # fmt: skip
        self.rows.append(row)
        return row

    def bill(self, month: int, day: int, left: Decimal) -> Row:
        """Somebody's, who is paid once, and so high that so much is left of what there is on that day."""
        booked = self.on(month, day)
        company = self.stage.company("repairs", "craft")
        purpose = f"{_FURNISHED[company.lang]} {self.dice['bill', month].digits(6)}"
        return self.add(("bill", month), booked, left - self.left(booked), company, purpose)

    def top_up(self, month: int, day: int, spent: Row) -> Row:
        """What was spent comes back from elsewhere, each time from somewhere else, and a little more."""
        company = self.stage.company("savings", "bank")
        more = Decimal(self.dice["more", month].between(3, 9))
        return self.add(("top-up", month), self.on(month, day), more - spent.amount, company, _MOVED[company.lang],
                        kind="income")  # fmt: skip

    @property
    def token(self) -> str:
        return f"balance:{iban_of(self.stage, self.side)}"


def stories(stage: Stage) -> Iterator[Scene]:
    dice = stage.dice["overdrafts"]
    due: Sequence[_Plan] = (_topped_up, _overdrawn, _just_enough, _contract_gone, _pay_first, _topped_up, _just_enough)
    less: Sequence[_Plan] = (*(_unforeseen, _hardly_anything) * 3, _unforeseen)
    yield _told(stage, dice["joint"], "joint", due)
    yield _told(stage, dice["house"], "house", less)


_Plan = Callable[["_Account", int], Label]


def _told(stage: Stage, dice: Dice, side: Side, plans: Sequence[_Plan]) -> Scene:
    """One plan in each month that fits; the seventh is told where the bank was silent in none of them."""
    bill = dice["bill"]
    bills = (bill.cents(280, 360), bill.cents(130, 180), bill.cents(430, 560), bill.cents(8, 15))
    account = _Account(stage, dice, side, *bills)
    _usual(account)
    months = _months(stage)
    chosen = dice["plans"].shuffled(plans[: len(months)])
    labels = tuple(plan(account, month) for month, plan in zip(months, chosen, strict=True))
    return Scene(rows=tuple(row for row in account.rows if row.booked < stage.end), labels=labels)


def _months(stage: Stage) -> list[int]:
    """Those in which the bank speaks; a story at the end of one may end at the beginning of the next."""
    first = stage.start.year * 12 + stage.start.month - 1
    begins = {month: date((first + month) // 12, (first + month) % 12 + 1, 1) for month in range(_FIRST, _LAST + 1)}
    return [
        month
        for month, begin in begins.items()
        if not any(stage.outages.covers("bank-a", begin + days(offset)) for offset in range(36))
    ]


def _usual(account: _Account) -> None:
    """What comes and goes every month."""
    stage, dice = account.stage, account.dice
    employer, lender, school = (stage.company("sides", trade) for trade in ("club", "bank", "school"))
    paper, bakery, gym = (stage.company("sides", trade) for trade in ("media", "table", "energy"))
    spent = sum((account.rate, account.fees, account.paper), Decimal(54))
    contract = dice["contract"].digits(8)
    bills: tuple[tuple[int, Decimal, Company, int, RowKind], ...] = (
        (_PAY, spent, employer, 13, "income"),
        (_RATE, -account.rate, lender, 13, "debit"),
        (_FEES, -account.fees, school, 13, "debit"),
        (_PAPER, -account.paper, paper, 13, "debit"),
        (_GONE, -account.gone, gym, _GONE_AFTER, "debit"),
    )
    for number, (day, amount, company, times, kind) in enumerate(bills):
        for month in range(times):
            account.add((number, month), account.on(month, day), amount, company, f"{contract}-{number}", kind)
    for month in range(12):
        for day in _SNACKS:
            account.add(
                ("snack", month, day), account.on(month, day), -dice["snack", month, day].cents(3, 24), bakery, ""
            )


# --- one month -----------------------------------------------------------------------------------------------------


def _due(account: _Account) -> Decimal:
    return account.rate + account.fees


def _topped_up(account: _Account, month: int) -> Label:
    bill = account.bill(month, 8, _due(account) - account.dice["short", month].cents(60, 300))
    over = account.top_up(month, 14, bill)
    return _situation(account, month, _LOW, bill, over, "too little is left for what is due, until a top-up")


def _overdrawn(account: _Account, month: int) -> Label:
    """Nobody does anything about it, until less than nothing is left: one matter from the first day to the last."""
    bill = account.bill(month, 8, _due(account) - account.dice["short", month].cents(60, 300))
    over = account.top_up(month, 26, bill)
    label = _situation(account, month, _LOW, bill, over, "too little is left for what is due, and then it is debited")
    return replace(label, notice_by=account.stage.seen_on(account.side, over.booked) - days(1))


def _unforeseen(account: _Account, month: int) -> Label:
    bill = account.bill(month, 25, -account.dice["short", month].cents(40, 200))
    over = account.on(month + 1, _PAY)
    account.top_up(month + 1, 3, bill)
    pay = next(row for row in account.rows if row.booked == over and row.amount > 0)
    return _situation(account, month, _OVERDRAWN, bill, pay, "a bill that nobody foresaw takes more than there is")


def _just_enough(account: _Account, month: int) -> Label:
    left = account.fees + account.paper + account.dice["left", month].cents(75, 110)
    bill = account.bill(month, 14, left)
    account.top_up(month, 26, bill)
    return _look_alike(account, month, _LOW, bill, "little is left, and just enough for what is due")


def _contract_gone(account: _Account, month: int) -> Label:
    left = _due(account) + account.paper + account.dice["left", month].cents(75, 110)
    bill = account.bill(month, 8, left)
    account.top_up(month, 26, bill)
    return _look_alike(account, month, _LOW, bill, "what is left was too little for a contract that has ended")


def _pay_first(account: _Account, month: int) -> Label:
    bill = account.bill(month, 28, account.dice["left", month].cents(75, 110))
    account.top_up(month + 1, 3, bill)
    return _look_alike(account, month, _LOW, bill, "little is left, and pay comes before the next bills")


def _hardly_anything(account: _Account, month: int) -> Label:
    bill = account.bill(month, 28, account.dice["left", month].cents(0, 2))
    account.top_up(month + 1, 3, bill)
    return _look_alike(account, month, _OVERDRAWN, bill, "hardly anything is left, and that is not less than nothing")


def _situation(account: _Account, month: int, rules: Sequence[str], bill: Row, over: Row, why: str) -> Label:
    items, until = (bill.reference, account.token), account.stage.seen_on(account.side, over.booked)
    return notice(f"{month:02d}", rules, items, window(account.stage, bill), "-", why, until)


def _look_alike(account: _Account, month: int, rules: Sequence[str], bill: Row, why: str) -> Label:
    return silence(f"{month:02d}", rules, (bill.reference, account.token), window(account.stage, bill, 14), "-", why)
