"""Income that falls, for good or once, and income that only looks so: small differences, hours, expenses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal

from forewatch.sample.cast import Company
from forewatch.sample.dice import Dice
from forewatch.sample.marking import notice, silence
from forewatch.sample.payments import monthly, paid, window
from forewatch.sample.scene import Row, Scene
from forewatch.sample.speech import Language
from forewatch.sample.stage import Stage, days
from forewatch.sample.telling import Story

_LOWER = ("income-lower",)
_PAYOUTS = ("payouts-lower",)
_WORDS: dict[Language, str] = {"en": "Pension", "de": "Rente", "fr": "Pension", "es": "Pensión"}
_SALES: dict[Language, str] = {
    "en": "Payout sales",
    "de": "Auszahlung Verkäufe",
    "fr": "Versement ventes",
    "es": "Pago ventas",
}
_FIRST_LOWER, _LAST_LOWER = 4, 10
"""Between which payments of the year one may be lower."""


def stories(stage: Stage) -> Iterator[Scene]:
    dice = stage.dice["incomes"]
    tales: Sequence[Story] = (_lower, _lower, _lower_once, _a_little_lower, _by_the_hour, _expenses)
    for index, tale in enumerate(tales):
        yield tale(stage, dice["lower", index], f"{index:02d}", (0, 0))
    sellers = (_few_sales, _few_sales, _few_sales, _mixed_sales, _mixed_sales, _small_sales)
    for index, tale in enumerate(sellers):
        yield tale(stage, dice["payouts", index], f"{index:02d}", (0, 0))


# --- one payment a month -------------------------------------------------------------------------------------------


def _payments(stage: Stage, dice: Dice, company: Company) -> list[Row]:
    """The same amount every month of the year, from the 24th to the 27th: bank A is never out then. December's too: a
    pension that stops without a reason is missing, and would be reported rightly."""
    amount = Decimal(dice["amount"].between(320, 980)) + Decimal(dice["cents"].between(0, 99)).scaleb(-2)
    first = date(stage.start.year, stage.start.month, dice["day"].between(24, 27))
    words = _WORDS[company.lang]
    return [
        paid(dice["row", index], "bank-a", day, amount, company.name, f"{words} {day:%m/%Y}", kind="income",
             iban=company.iban)
        for index, day in enumerate(monthly(first, stage.end))
    ]  # fmt: skip


def _scaled(row: Row, percent: int) -> Row:
    return replace(row, amount=(row.amount * percent / 100).quantize(Decimal("0.01")))


def _lower(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    company = stage.company("pensions", "office")
    rows = _payments(stage, dice, company)
    at, percent = dice["at"].between(_FIRST_LOWER, _LAST_LOWER), dice["percent"].between(72, 94)
    rows = [_scaled(row, percent) if index >= at else row for index, row in enumerate(rows)]
    label = notice(
        name, _LOWER, (rows[at].reference,), window(stage, rows[at]), company.lang, "an income is lower from now on"
    )
    return Scene(rows=tuple(rows), labels=(label,))


def _lower_once(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    company = stage.company("pensions", "office")
    rows = _payments(stage, dice, company)
    at = dice["at"].between(_FIRST_LOWER, _LAST_LOWER - 1)
    rows[at] = _scaled(rows[at], dice["percent"].between(70, 90))
    over = stage.seen_on("bank-a", rows[at + 1].booked)
    why = "an income is lower once"
    label = notice(name, _LOWER, (rows[at].reference,), window(stage, rows[at]), company.lang, why, over)
    return Scene(rows=tuple(rows), labels=(label,))


def _a_little_lower(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    company = stage.company("pensions", "office")
    rows = _payments(stage, dice, company)
    at = dice["at"].between(_FIRST_LOWER, _LAST_LOWER)
    rows = [_scaled(row, 98) if index >= at else row for index, row in enumerate(rows)]
    label = silence(
        name, _LOWER, (rows[at].reference,), window(stage, rows[at], 20), company.lang, "an income is 2 percent lower"
    )
    return Scene(rows=tuple(rows), labels=(label,))


def _by_the_hour(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    company = stage.company("hours", "club")
    rows = [
        _scaled(row, dice["hours", index].between(*((70, 88), (102, 125))[index % 2]))
        for index, row in enumerate(_payments(stage, dice, company))
    ]
    items = tuple(row.reference for row in rows[4:])
    why = "hours are paid as they come, in busy and in slack months"
    return Scene(rows=tuple(rows), labels=(silence(name, _LOWER, items, (stage.start, stage.last), company.lang, why),))


def _expenses(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    """The same payer also gives expenses back, between two payments."""
    company = stage.company("pensions", "office")
    rows = _payments(stage, dice, company)
    after = rows[dice["at"].between(_FIRST_LOWER, _LAST_LOWER)]
    amount = stage.unreserved(dice["expenses"].cents(101, 150))
    extra = paid(
        dice["extra"], "bank-a", after.booked + days(7), amount, company.name, "expenses", kind="income",
        iban=company.iban,
    )  # fmt: skip
    label = silence(name, _LOWER, (extra.reference,), window(stage, extra, 20), company.lang, "expenses paid back")
    return Scene(rows=(*rows, extra), labels=(label,))


# --- many payouts a month ------------------------------------------------------------------------------------------


def _payouts(stage: Stage, dice: Dice, company: Company, low: int, high: int) -> list[Row]:
    """Every week, in the amount of the week's sales."""
    first = stage.start + days(dice["weekday"].between(0, 6))
    dates = [first + days(7 * week) for week in range(52)]
    return [
        paid(dice["row", week], "bank-a", day, dice["sold", week].cents(low, high), company.name,
             f"{_SALES[company.lang]} {day:%V/%Y}", kind="income", iban=company.iban)
        for week, day in enumerate(dates)
        if day < stage.end - days(8)
    ]  # fmt: skip


def _month_of(stage: Stage, dice: Dice) -> tuple[int, int]:
    """A month with history, in which bank A speaks, and for three weeks more."""
    fits = [
        month
        for month in range(7, 12)
        if not any(
            stage.outages.covers("bank-a", date(stage.start.year, month, 1) + days(offset)) for offset in range(52)
        )
    ]
    return stage.start.year, dice["month"].pick(fits)


def _without_most(rows: list[Row], month: tuple[int, int], kept: int) -> tuple[list[Row], list[Row]]:
    """All rows but most of one month's, and what is left of those."""
    own = [row for row in rows if (row.booked.year, row.booked.month) == month]
    left = own[:kept]
    return [row for row in rows if row not in own or row in left], left


def _few_sales(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    company = stage.company("markets", "shop")
    year, month = _month_of(stage, dice)
    rows, left = _without_most(_payouts(stage, dice, company, 45, 75), (year, month), dice["kept"].between(1, 1))
    over = date(year + month // 12, month % 12 + 1, 1)
    items = tuple(row.reference for row in left)
    label = notice(
        name, _PAYOUTS, items, (over - days(1), over + days(14)), company.lang, "a month with hardly any payouts"
    )
    return Scene(rows=tuple(rows), labels=(label,))


def _quiet_sales(stage: Stage, dice: Dice, name: str, low: int, high: int, kept: int, why: str) -> Scene:
    company = stage.company("markets", "shop")
    year, month = _month_of(stage, dice)
    rows, left = _without_most(_payouts(stage, dice, company, low, high), (year, month), kept)
    over = date(year + month // 12, month % 12 + 1, 1)
    items = tuple(row.reference for row in left)
    return Scene(
        rows=tuple(rows),
        labels=(
            silence(name, _PAYOUTS, items, (over - days(20), min(over + days(30), stage.last)), company.lang, why),
        ),
    )


def _mixed_sales(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    return _quiet_sales(stage, dice, name, 45, 75, 3, "a payout less than usual")


def _small_sales(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    return _quiet_sales(stage, dice, name, 8, 19, 1, "hardly any payouts, and they are small")
