"""Subscriptions of which nothing is heard any more, and such as are used, if rarely."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from decimal import Decimal

from forewatch.sample.cast import Company
from forewatch.sample.dice import Dice
from forewatch.sample.letter import Letter
from forewatch.sample.marking import notice, silence
from forewatch.sample.payments import monthly, paid
from forewatch.sample.post import from_company, newsletter
from forewatch.sample.scene import Row, Scene
from forewatch.sample.speech import Language
from forewatch.sample.stage import Stage, days
from forewatch.sample.telling import Story, told

RULES = ("subscription-dormant",)
PATIENCE = 150
"""Days without a word after which a subscription seems unused."""
_RARE = 110
_WORDS: dict[Language, str] = {"en": "Membership", "de": "Abo", "fr": "Abonnement", "es": "Suscripción"}


def stories(stage: Stage) -> Iterator[Scene]:
    dice = stage.dice["subscriptions"]
    true: Sequence[Story] = [_unused] * 2 + [_used_again]
    quiet: Sequence[Story] = [_used] * 2 + [_ended]
    yield from told(stage, dice, true, quiet, 12, 170)


def sign_of_use(stage: Stage, dice: Dice, company: Company, stretch: tuple[int, int]) -> Letter:
    """A letter of the service that comes of its use: a code to sign in."""
    day = stage.place(dice["day"], stretch, {"mail": (0,)})
    at = stage.moment(day, dice["time"])
    return from_company(stage, dice, company, "account_code", at, {"code": dice["code"].digits(6)})


def signs_of_use(stage: Stage, dice: Dice, company: Company, first: date) -> tuple[Letter, ...]:
    """About every two months, from ``first`` to the end of the year."""
    begin = (first - stage.start).days
    stretches = stage.stretches(max(1, (362 - begin) // 60), max(1, begin), 362)
    return tuple(sign_of_use(stage, dice["sign", index], company, stretch) for index, stretch in enumerate(stretches))


def _charges(dice: Dice, company: Company, first: date, until: date) -> list[Row]:
    price = Decimal(dice["price"].pick(("5.99", "7.99", "9.99", "12.90", "14.90")))
    words = _WORDS[company.lang]
    return [
        paid(dice["charge", index], "bank-b", day, -price, company.name,
             f"{words} {company.name} {day:%m/%Y}")
        for index, day in enumerate(monthly(first, until))
    ]  # fmt: skip


def _unused(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int], *, again_after: int | None = None) -> Scene:
    """A letter when it begins, a newsletter on the way, and no other word."""
    lately = tuple(range(PATIENCE - 45, PATIENCE + 2, 4))
    mails = (0,) if again_after is None else (0, PATIENCE + again_after + 2, PATIENCE + again_after + 4)
    day = stage.place(dice["day"], stretch, {"bank-b": lately, "mail": mails})
    company = stage.company("unused", "service")
    rows = _charges(dice, company, day + days(2), stage.end)
    first = rows[0].booked
    welcome = from_company(
        stage, dice["hello"], company, "account_code", stage.moment(day, dice["t"]), {"code": "482913"}
    )
    begin = (day - stage.start).days
    news_on = stage.place(dice["news on"], (begin + 40, begin + 120), {"mail": (0,)})
    news = from_company(stage, dice["news"], company, "newsletter", stage.moment(news_on, dice["t2"]), {})
    letters, cancelled_on = [welcome, newsletter(news)], None
    told_on = first + days(PATIENCE)
    if again_after is not None:
        letters.append(sign_of_use(stage, dice["again"], company, _one_day(stage, told_on, again_after)))
        cancelled_on = stage.day_of(letters[-1].at)
    window = (told_on - days(1), told_on + days(4))
    label = notice(
        name, RULES, (rows[0].reference,), window, company.lang, "a subscription that is not used", cancelled_on
    )
    return Scene(tuple(letters), tuple(rows), labels=(label,))


def _one_day(stage: Stage, day: date, after: int) -> tuple[int, int]:
    offset = (day - stage.start).days + after
    return offset, offset


def _used_again(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    return _unused(stage, dice, name, stretch, again_after=dice["after"].between(8, 20))


def _used(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    day = stage.place(dice["day"], stretch, {"mail": (0,)})
    company = stage.company("used", "service")
    rows = _charges(dice, company, day + days(2), stage.end)
    begin = (day - stage.start).days
    starts = range(begin + _RARE // 2, 355, _RARE)
    letters = [sign_of_use(stage, dice["sign", start], company, (start, min(start + 15, 360))) for start in starts]
    items = tuple(row.reference for row in rows if stage.is_seen(row.bank, row.booked))
    label = silence(name, RULES, items, (day, stage.last), company.lang, "a subscription that is used now and then")
    return Scene(tuple(letters), tuple(rows), labels=(label,))


def _ended(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    day = stage.place(dice["day"], stretch, {"mail": (0,)})
    company = stage.company("ended", "service")
    rows = _charges(dice, company, day + days(2), day + days(dice["months"].between(65, 95)))
    items = tuple(row.reference for row in rows)
    label = silence(name, RULES, items, (day, stage.last), company.lang, "a subscription that was ended")
    return Scene(rows=tuple(rows), labels=(label,))
