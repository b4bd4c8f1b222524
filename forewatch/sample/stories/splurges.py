"""Weeks in which much more is spent than usual, and weeks that only look dear."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date

from forewatch.sample import bankdays
from forewatch.sample.dice import Dice
from forewatch.sample.marking import notice, silence
from forewatch.sample.payments import PROMPT, paid
from forewatch.sample.scene import Row, Scene
from forewatch.sample.stage import Stage, days
from forewatch.sample.telling import Story, told

RULES = ("spending-spike",)
_WEEK = (*PROMPT["bank-b"], 7, 9, 11, 13)


def stories(stage: Stage) -> Iterator[Scene]:
    true: Sequence[Story] = [_splurge] * 3
    quiet: Sequence[Story] = [_busy, _one_large, _debits]
    yield from told(stage, stage.dice["splurges"], true, quiet, 75, 335)


def _monday(stage: Stage, dice: Dice, stretch: tuple[int, int]) -> date:
    """Of a week of five bank days in which nothing else of note happens."""
    for attempt in range(100):
        day = stage.place(dice["day", attempt], stretch, {"bank-b": _WEEK})
        monday = day - days(day.weekday())
        if all(bankdays.is_bank_day(monday + days(offset)) for offset in range(5)):
            return monday
    raise AssertionError(f"no whole week in {stretch}")


def _purchases(stage: Stage, dice: Dice, monday: date, count: int, low: int, high: int) -> list[Row]:
    """At five new shops, each on other days and in other amounts."""
    shops = [stage.company("splurges", "shop").name for _ in range(5)]
    return [
        paid(dice["row", index], "bank-b", monday + days(index % 5), -stage.amount(dice["amount", index], low, high),
             shops[(index + index // 5) % 5])
        for index in range(count)
    ]  # fmt: skip


def _splurge(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    monday = _monday(stage, dice, stretch)
    rows = _purchases(stage, dice, monday, dice["count"].between(15, 19), 45, 75)
    items = tuple(row.reference for row in rows)
    seen = stage.seen_on("bank-b", monday)
    label = notice(name, RULES, items, (monday, seen + days(2)), "-", "a week of much spending")
    return Scene(rows=tuple(rows), labels=(label,))


def _quiet(stage: Stage, name: str, monday: date, rows: Sequence[Row], why: str) -> Scene:
    items = tuple(row.reference for row in rows)
    window = (monday, stage.seen_on("bank-b", monday) + days(9))
    return Scene(rows=tuple(rows), labels=(silence(name, RULES, items, window, "-", why),))


def _busy(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    monday = _monday(stage, dice, stretch)
    rows = _purchases(stage, dice, monday, dice["count"].between(4, 5), 18, 32)
    return _quiet(stage, name, monday, rows, "a week somewhat dearer than others")


def _one_large(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    monday = _monday(stage, dice, stretch)
    shop = stage.company("splurges", "shop").name
    amount = -stage.amount(dice["amount"], 420, 890)
    row = paid(dice["row"], "bank-b", monday + days(dice["weekday"].below(5)), amount, shop)
    return _quiet(stage, name, monday, [row], "one large purchase")


def _debits(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    monday = _monday(stage, dice, stretch)
    payees = [stage.company("splurges", trade) for trade in ("insurer", "club", "school", "energy")]
    rows = [
        paid(dice["row", index], "bank-b", monday + days(index), -stage.amount(dice["amount", index], 95, 145),
             payee.name, stage.number(dice["n", index], "@#######"), kind="debit", iban=payee.iban)
        for index, payee in enumerate(payees)
    ]  # fmt: skip
    return _quiet(stage, name, monday, rows, "yearly contributions, collected in one week")
