"""Subscriptions whose price goes up, by letter or in silence; and prices that stay or fall."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal

from forewatch.sample import bankdays
from forewatch.sample.cast import Company
from forewatch.sample.dice import Dice
from forewatch.sample.letter import Letter
from forewatch.sample.marking import notice, silence
from forewatch.sample.post import from_company
from forewatch.sample.scene import Row, Scene
from forewatch.sample.speech import Value
from forewatch.sample.stage import Stage, days
from forewatch.sample.stories.subscriptions import signs_of_use
from forewatch.sample.telling import Story, told

RULES = ("price-rise", "price-raised", "spend-anomaly")
_PLANS = ("5.99", "7.99", "9.99", "11.99", "12.99", "14.90", "17.99", "19.90")


@dataclass(frozen=True, slots=True)
class Subscription:
    """``charges``: one row a month, the whole year."""

    company: Company
    old: Decimal
    new: Decimal
    charges: tuple[Row, ...]
    signs: tuple[Letter, ...]
    """Letters that come of its use."""

    def since(self, day: date) -> tuple[str, ...]:
        """The references of the first two charges at the new price."""
        return tuple(row.reference for row in self.charges if row.booked >= day)[:2]


def stories(stage: Stage) -> Iterator[Scene]:
    dice = stage.dice["prices"]
    true: Sequence[Story] = [_announced] * 4 + [_unannounced]
    quiet: Sequence[Story] = [_same] * 2 + [_lower, _foreign]
    yield from told(stage, dice, true, quiet, 130, 318)


def _subscription(stage: Stage, dice: Dice, change_on: date, factor: tuple[int, int]) -> Subscription:
    """Charged by card at bank B; from ``change_on`` at the new price (percent of the old, between two bounds)."""
    company = stage.company("subscriptions", "service")
    old = stage.unreserved(Decimal(dice["plan"].pick(_PLANS)))
    percent = dice["percent"].between(*factor)
    new = stage.unreserved((old * percent / 100).quantize(Decimal("1")) + Decimal(old % 1))
    if percent == 100:
        new = old
    elif new == old and percent > 100:
        new += Decimal("2")
    first = stage.start + days(dice["first"].between(1, 27))
    charges = tuple(
        _charge(dice, company, day, -new if day >= change_on else -old, index)
        for index, day in enumerate(_monthly(first, stage.end))
    )
    return Subscription(company, old, new, charges, signs_of_use(stage, dice["signs"], company, first))


def _monthly(first: date, end: date) -> Iterator[date]:
    day, count = first, 0
    while day < end:
        yield bankdays.on_or_after(day)
        count += 1
        month = first.month - 1 + count
        day = date(first.year + month // 12, month % 12 + 1, min(first.day, 28))


def _charge(dice: Dice, company: Company, day: date, amount: Decimal, index: int) -> Row:
    reference = f"7{dice['e2e', index].digits(14)}"
    return Row("bank-b", day, amount, company.name, f"{company.name} Abo {day:%m/%Y}", reference, iban=company.iban)


def _announced(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    ahead = dice.between(14, 40)
    day = stage.place(dice["day"], stretch, {"mail": (0,), "bank-b": tuple(range(ahead, ahead + 42, 6))})
    start = day + days(ahead)
    plan = _subscription(stage, dice, start, (115, 145))
    slots: dict[str, Value] = {
        "from": start, "old": plan.old, "new": plan.new, "number": stage.number(dice["number"], "@@######"),
    }  # fmt: skip
    letter = from_company(stage, dice, plan.company, "price_rise", stage.moment(day, dice["time"]), slots)
    window = (day, min(start + days(75), stage.last))
    items = (letter.message_id, *plan.since(start))
    label = notice(name, RULES, items, window, plan.company.lang, "a subscription becomes dearer")
    return Scene((letter, *plan.signs), plan.charges, labels=(label,))


def _unannounced(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    """No letter: only the card statement shows it."""
    day = stage.place(dice["day"], (200, 290), {"bank-b": tuple(range(0, 42, 6))})
    plan = _subscription(stage, dice, day, (130, 160))
    items = plan.since(day)
    first = next(row.booked for row in plan.charges if row.booked >= day)
    window = (first, min(first + days(45), stage.last))
    label = notice(name, RULES, items, window, plan.company.lang, "a subscription becomes dearer without a word")
    return Scene(plan.signs, plan.charges, labels=(label,))


def _letter_only(
    stage: Stage, dice: Dice, name: str, stretch: tuple[int, int], wording: int, factor: tuple[int, int], why: str
) -> Scene:
    day = stage.place(dice["day"], stretch, {"mail": (0,)})
    start = day + days(dice.between(14, 30))
    plan = _subscription(stage, dice, start, factor)
    slots: dict[str, Value] = {"from": start, "old": plan.old, "new": plan.new}
    at = stage.moment(day, dice["time"])
    letter = from_company(stage, dice, plan.company, f"price_quiet.{wording}", at, slots)
    items = (letter.message_id, *plan.since(start))
    label = silence(name, RULES, items, (day, day + days(90)), plan.company.lang, why)
    return Scene((letter, *plan.signs), plan.charges, labels=(label,))


def _same(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    return _letter_only(stage, dice, name, stretch, 0, (100, 100), "the price stays")


def _lower(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    return _letter_only(stage, dice, name, stretch, 1, (70, 85), "the price falls")


def _foreign(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    """Billed in dollars: the euros differ a little every month."""
    plan = _subscription(stage, dice, stage.end, (100, 100))
    rows = tuple(
        replace(row, amount=row.amount + Decimal(dice["rate", index].between(-12, 12)).scaleb(-2))
        for index, row in enumerate(plan.charges)
    )
    items = tuple(row.reference for row in rows[6:] if stage.is_seen(row.bank, row.booked))
    label = silence(
        name, RULES, items, (stage.start, stage.last), plan.company.lang, "the exchange rate moves, not the price"
    )
    return Scene(plan.signs, rows, labels=(label,))
