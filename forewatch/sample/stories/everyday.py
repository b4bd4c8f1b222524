"""The mail and the standing orders of any week: nothing here needs attention."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, time
from decimal import Decimal

from forewatch.sample import bankdays
from forewatch.sample.cast import Company
from forewatch.sample.dice import Dice
from forewatch.sample.letter import Letter
from forewatch.sample.post import from_company, from_person, newsletter
from forewatch.sample.scene import Row, Scene
from forewatch.sample.speech import Value
from forewatch.sample.stage import Stage, days

_PLENTY = (
    ("newsletter", 112, ("shop", "media", "travel", "club")),
    ("newsletter_offer", 36, ("shop", "travel")),
    ("receipt", 88, ("shop", "table", "media")),
    ("account_code", 38, ("service", "telecom")),
    ("notice", 52, ("insurer", "school", "club", "energy")),
    ("appointment", 18, ("doctor", "dentist")),
)
"""Kinds of letters, how many a year, and who sends them."""
_CHATS = 46
_STANDING = (
    ("landlord", 900, 1500, 3, "transfer"),
    ("energy", 70, 140, 5, "debit"),
    ("telecom", 20, 45, 11, "debit"),
    ("telecom", 12, 30, 17, "debit"),
    ("insurer", 18, 60, 2, "debit"),
    ("insurer", 25, 80, 15, "debit"),
    ("school", 90, 240, 4, "debit"),
    ("club", 15, 35, 20, "debit"),
)
"""Trade, bounds of the monthly amount, day of the month, kind of the row."""


def stories(stage: Stage) -> Iterator[Scene]:
    dice = stage.dice["everyday"]
    for kind, count, trades in _PLENTY:
        senders = [stage.company("everyday", dice[kind, "trade", index].pick(trades)) for index in range(6)]
        for index, stretch in enumerate(stage.stretches(count, 1, 362)):
            yield Scene((_letter(stage, dice[kind, index], kind, senders, stretch),))
    for index, stretch in enumerate(stage.stretches(_CHATS, 1, 362)):
        yield Scene((_chat(stage, dice["chat", index], stretch),))
    for index, (trade, low, high, day, sort) in enumerate(_STANDING):
        company = stage.company("standing", trade)
        yield Scene(rows=tuple(_standing(stage, dice["standing", index], company, (low, high), day, sort)))


def _letter(stage: Stage, dice: Dice, kind: str, senders: Sequence[Company], stretch: tuple[int, int]) -> Letter:
    day = stage.place(dice["day"], stretch, {"mail": (0,)})
    slots: dict[str, Value] = {
        "number": stage.number(dice["number"], "########"),
        "amount": stage.unreserved(dice["amount"].cents(5, 190)),
        "code": dice["code"].digits(6),
        "soon": day + days(dice["soon"].between(2, 9)),
        "past": day - days(dice["past"].between(2, 20)),
        "time": time(dice["hour"].between(8, 17), dice["minute"].pick((0, 15, 30, 45))),
    }
    letter = from_company(stage, dice, dice["who"].pick(senders), kind, stage.moment(day, dice["time"]), slots)
    return newsletter(letter) if kind.startswith("newsletter") else letter


def _chat(stage: Stage, dice: Dice, stretch: tuple[int, int]) -> Letter:
    day = stage.place(dice["day"], stretch, {"mail": (0,)})
    at = stage.moment(day, dice["time"], (8, 20))
    letter = from_person(stage, dice, dice["who"].pick(stage.family.friends), "chat", at, {"past": day - days(9)})
    goodbye: str = letter.speaker.words("phone")
    return replace(letter, blocks=(*letter.blocks, goodbye)) if dice["phone"].chance(20) else letter


def _standing(
    stage: Stage, dice: Dice, company: Company, bounds: tuple[int, int], day_of_month: int, sort: str
) -> Iterator[Row]:
    """The same amount every month."""
    amount = stage.unreserved(
        Decimal(dice["amount"].between(*bounds)) + Decimal(dice["cents"].pick((0, 50, 90))).scaleb(-2)
    )
    contract = dice["contract"].digits(9)
    for index in range(13):
        month = stage.start.month - 1 + index
        day = bankdays.on_or_after(date(stage.start.year + month // 12, month % 12 + 1, day_of_month))
        if stage.start <= day < stage.end:
            yield Row(
                bank="bank-a",
                booked=day,
                amount=-amount,
                counterparty=company.name,
                purpose=f"{contract} {day:%m/%Y}",
                reference=f"SO{dice['e2e', index].digits(12)}",
                kind="debit" if sort == "debit" else "transfer",
                iban=company.iban,
                creditor=company.creditor if sort == "debit" else "",
                mandate=contract if sort == "debit" else "",
            )
