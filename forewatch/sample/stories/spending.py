"""Everyday purchases at the shops of the household, five of them far beyond what is usual there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal

from forewatch.sample import bankdays
from forewatch.sample.dice import Dice, lognormal, spread
from forewatch.sample.labels import Label
from forewatch.sample.marking import notice, silence
from forewatch.sample.scene import Bank, Row, Scene
from forewatch.sample.stage import Stage, days

RULES = ("spend-anomaly",)
_HISTORY = 18
"""Purchases at a shop before one may stand out."""


@dataclass(frozen=True, slots=True)
class Shop:
    """``every``: days between purchases, on average. ``drift``: growth over the year, in percent."""

    bank: Bank
    sort: str
    median: Decimal
    sigma: Decimal
    every: int
    drift: int = 0


_SHOPS = (
    Shop("bank-b", "Markt", Decimal("46"), Decimal("0.32"), 3, drift=14),
    Shop("bank-b", "Frischehalle", Decimal("31"), Decimal("0.34"), 4),
    Shop("bank-b", "Bakery", Decimal("7.40"), Decimal("0.28"), 2),
    Shop("bank-b", "Drogerie", Decimal("19"), Decimal("0.36"), 7),
    Shop("bank-b", "Tankstelle", Decimal("62"), Decimal("0.17"), 9),
    Shop("bank-b", "Transit", Decimal("5.60"), Decimal("0.24"), 3),
    Shop("bank-b", "Cantine", Decimal("11.20"), Decimal("0.22"), 2),
    Shop("bank-b", "Farmacia", Decimal("16"), Decimal("0.38"), 12),
    Shop("bank-b", "Parking", Decimal("4.20"), Decimal("0.30"), 6),
    Shop("bank-b", "Bistro", Decimal("18.50"), Decimal("0.31"), 4),
    Shop("bank-b", "Toys", Decimal("24"), Decimal("0.35"), 14),
    Shop("bank-a", "Bodega", Decimal("27"), Decimal("0.33"), 4),
    Shop("bank-a", "Café", Decimal("9.80"), Decimal("0.27"), 3),
    Shop("bank-a", "Kiosk", Decimal("6.10"), Decimal("0.26"), 3),
    Shop("bank-a", "Florist", Decimal("22"), Decimal("0.30"), 12),
    Shop("bank-a", "Baumarkt", Decimal("38"), Decimal("0.38"), 11),
)  # fmt: skip


def stories(stage: Stage) -> Iterator[Scene]:
    dice = stage.dice["spending"]
    outliers = set(
        dice["outliers"].shuffled([i for i, shop in enumerate(_SHOPS) if shop.every <= 9 and shop.median >= 9])[
            : 4 + dice.below(2)
        ]
    )
    for index, shop in enumerate(_SHOPS):
        yield _habit(stage, dice[index], shop, str(index), index in outliers)
    yield from (_first_charge(stage, dice["first", index], str(index)) for index in range(3))
    yield from (_refund(stage, dice["refund", index], str(index)) for index in range(2))


def _habit(stage: Stage, dice: Dice, shop: Shop, name: str, is_outlier: bool) -> Scene:
    where = f"{stage.registry.stem(stage.language('shops'))} {shop.sort}"
    rows = _purchases(stage, dice, shop, where)
    labels = []
    if is_outlier:
        index = _outlier(stage, dice["outlier"], shop, rows)
        rows[index] = replace(rows[index], amount=rows[index].amount * dice["times"].between(9, 14))
        labels.append(_unusual(stage, name, rows[index]))
    if shop.drift:
        usual = [row for row in rows[-30:] if row.amount > -shop.median * 5]
        labels.append(_drifting(stage, name, [row for row in usual if stage.is_seen(row.bank, row.booked)]))
    return Scene(rows=tuple(rows), labels=tuple(labels))


def _purchases(stage: Stage, dice: Dice, shop: Shop, where: str) -> list[Row]:
    dates = list(_dates(stage, dice["days"], shop.every))
    rows: list[Row] = []
    for index, (day, z) in enumerate(zip(dates, spread(dice["z"], len(dates)), strict=True)):
        growth = 1 + Decimal(shop.drift * (day - stage.start).days) / (365 * 100)
        amount = stage.unreserved(lognormal(shop.median * growth, shop.sigma, z))
        while any(-row.amount == amount for row in rows[-4:]):  # what comes twice is another story
            amount += Decimal("0.01")
        reference = f"6{dice['e2e', index].digits(15)}"
        purpose = f"Kartenzahlung {day:%d.%m.} {where} Karte 4417"
        pending = day if dice["pending", index].chance(12) else None
        booked = bankdays.on_or_after(day + days(1)) if pending else bankdays.on_or_after(day)
        rows.append(Row(shop.bank, booked, -amount, where, purpose, reference, pending_on=pending))
    return rows


def _dates(stage: Stage, dice: Dice, every: int) -> Iterator[date]:
    day = stage.start + timedelta(days=dice.below(every))
    while day < stage.end - days(3):
        yield day
        day += timedelta(days=max(1, dice.between(every - every // 2, every + every // 2)))


def _outlier(stage: Stage, dice: Dice, shop: Shop, rows: list[Row]) -> int:
    """A purchase with enough history, shown by the bank soon after it was made."""
    while True:
        index = dice.between(_HISTORY, len(rows) - 1)
        booked = rows[index].booked
        soon = all(not stage.outages.covers(shop.bank, booked + days(offset)) for offset in range(9))
        if soon and booked + days(10) < stage.end:
            return index


def _unusual(stage: Stage, name: str, row: Row) -> Label:
    window = (row.booked - days(1), stage.seen_on(row.bank, row.booked) + days(2))
    return notice(name, RULES, (row.reference,), window, "-", f"ten times the usual at {row.counterparty}")


def _drifting(stage: Stage, name: str, late: list[Row]) -> Label:
    items = tuple(row.reference for row in late)
    window = (late[0].booked, stage.last)
    return silence(f"drift{name}", (*RULES, "price-rise"), items, window, "-", "groceries slowly become dearer")


def _first_charge(stage: Stage, dice: Dice, name: str) -> Scene:
    """One large purchase at a shop where nothing was ever bought."""
    shop = stage.company("first charges", "shop")
    day = stage.place(dice["day"], (60, 340), {"bank-a": (0, 1, 2, 3, 4)}, ("bank-a", 0, 2))
    booked = bankdays.on_or_after(day)
    reference = f"6{dice['e2e'].digits(15)}"
    amount = stage.amount(dice["amount"], 180, 900)
    row = Row("bank-a", booked, -amount, shop.name, f"Kartenzahlung {shop.name}", reference)
    window = (booked, stage.seen_on("bank-a", booked) + days(30))
    label = silence(f"first{name}", RULES, (reference,), window, shop.lang, "the first charge of a new merchant")
    return Scene(rows=(row,), labels=(label,))


def _refund(stage: Stage, dice: Dice, name: str) -> Scene:
    """A large amount that comes back."""
    shop = stage.company("refunds", "shop")
    day = stage.place(dice["day"], (60, 330), {"bank-b": (0, 8, 14, 22)}, ("bank-b", 0, 2))
    bought, back = bankdays.on_or_after(day), bankdays.on_or_after(day + days(12))
    amount = stage.amount(dice["amount"], 120, 420)
    rows = (
        Row("bank-b", bought, -amount, shop.name, f"Kartenzahlung {shop.name}", f"6{dice['e2e'].digits(15)}"),
        Row("bank-b", back, amount, shop.name, f"Erstattung {shop.name}", f"6{dice['back'].digits(15)}", "refund"),
    )
    window = (back, stage.seen_on("bank-b", back) + days(10))
    label = silence(f"refund{name}", RULES, (rows[1].reference,), window, shop.lang, "a refund is no spending")
    return Scene(rows=rows, labels=(label,))
