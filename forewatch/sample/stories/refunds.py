"""Money that shops promise back: it comes, it comes late, or it never comes; and letters that promise nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from decimal import Decimal

from forewatch.sample.cast import Company
from forewatch.sample.dice import Dice
from forewatch.sample.letter import Letter
from forewatch.sample.marking import notice, silence
from forewatch.sample.outages import Source
from forewatch.sample.payments import PROMPT, paid
from forewatch.sample.phrasing import items_of
from forewatch.sample.post import from_company
from forewatch.sample.scene import Row, Scene
from forewatch.sample.speech import Value
from forewatch.sample.stage import Stage, days
from forewatch.sample.telling import Story, told

RULES = ("refund-missing",)
_PATIENCE = 14
"""Days in which a refund should come."""


def stories(stage: Stage) -> Iterator[Scene]:
    dice = stage.dice["refunds"]
    true: Sequence[Story] = [_never] * 2 + [_late] * 2
    quiet: Sequence[Story] = [_in_time] * 3 + [_nothing_promised] * 2
    yield from told(stage, dice, true, quiet, 12, 318)


def _letter(stage: Stage, dice: Dice, day: date, kind: str) -> tuple[Company, Decimal, Letter]:
    shop = stage.company("refund letters", "shop")
    amount = stage.amount(dice["amount"], 19, 320)
    slots: dict[str, Value] = {
        "amount": amount,
        "number": stage.number(dice["number"], "########"),
        "soon": day + days(20),
        "item": items_of(shop, dice["item"], stage.child(dice["kid"])),
    }
    return shop, amount, from_company(stage, dice, shop, kind, stage.moment(day, dice["time"]), slots)


def _credit(dice: Dice, shop: Company, amount: Decimal, day: date) -> Row:
    return paid(dice["credit"], "bank-a", day, amount, shop.name, f"Refund {shop.name}", kind="refund")


def _credited(stage: Stage, dice: Dice, stretch: tuple[int, int], after: int) -> tuple[date, Company, Letter, Row]:
    """Promised in a letter of that day, and credited ``after`` so many days."""
    needs: dict[Source, tuple[int, ...]] = {
        "mail": (0,),
        "bank-a": tuple(after + offset for offset in PROMPT["bank-a"]),
    }
    day = stage.place(dice["day"], stretch, needs)
    shop, amount, letter = _letter(stage, dice, day, "refund")
    return day, shop, letter, _credit(dice, shop, amount, day + days(after))


def _never(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    day = stage.place(dice["day"], stretch, {"mail": (0,)})
    shop, _, letter = _letter(stage, dice, day, "refund")
    window = (day + days(_PATIENCE), day + days(_PATIENCE + 3))
    label = notice(name, RULES, (letter.message_id,), window, shop.lang, "a refund that never comes")
    return Scene((letter,), labels=(label,))


def _late(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    after = dice["after"].between(_PATIENCE + 5, _PATIENCE + 20)
    day, shop, letter, row = _credited(stage, dice, stretch, after)
    window = (day + days(_PATIENCE), day + days(_PATIENCE + 3))
    over = stage.seen_on("bank-a", row.booked)
    label = notice(name, RULES, (letter.message_id,), window, shop.lang, "a refund that comes late", over)
    return Scene((letter,), (row,), labels=(label,))


def _in_time(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    after = dice["after"].between(1, _PATIENCE - 5)
    day, shop, letter, row = _credited(stage, dice, stretch, after)
    label = silence(name, RULES, (letter.message_id,), (day, day + days(45)), shop.lang, "a refund that comes in time")
    return Scene((letter,), (row,), labels=(label,))


def _nothing_promised(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    day = stage.place(dice["day"], stretch, {"mail": (0,)})
    shop, _, letter = _letter(stage, dice, day, "refund_quiet")
    why = "a refund that nobody promised"
    label = silence(name, RULES, (letter.message_id,), (day, day + days(45)), shop.lang, why)
    return Scene((letter,), labels=(label,))
