"""Charged twice, cards that are tried out, much cash in a day, large payments to strangers; and what only looks so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

from forewatch.sample.dice import Dice
from forewatch.sample.marking import notice, silence
from forewatch.sample.outages import Source
from forewatch.sample.payments import PROMPT, paid, window
from forewatch.sample.scene import Bank, Scene
from forewatch.sample.speech import Language
from forewatch.sample.stage import Stage, days
from forewatch.sample.telling import Story, told

_TWICE = ("double-charge",)
_TESTED = ("card-tested",)
_CASH = ("withdrawals-many",)
_UNKNOWN = ("payee-unknown",)
_CASH_WORDS: dict[Language, tuple[str, str]] = {
    "en": ("ATM {stem}", "Cash withdrawal {day:%d %b}"),
    "de": ("Geldautomat {stem}", "Bargeldauszahlung {day:%d.%m.} Geldautomat"),
    "fr": ("DAB {stem}", "Retrait DAB {day:%d/%m}"),
    "es": ("Cajero {stem}", "Reintegro cajero {day:%d/%m}"),
}
_TICKETS: dict[Language, str] = {
    "en": "{stem} Railways", "de": "{stem} Verkehrsbetriebe Parkhaus", "fr": "Cinema {stem}", "es": "Parking {stem}",
}  # fmt: skip


def stories(stage: Stage) -> Iterator[Scene]:
    dice = stage.dice["charges"]
    twice: Sequence[Story] = [_twice] * 2 + [_given_back] * 2
    once: Sequence[Story] = [_tickets, _coffee, _instalments, _next_week]
    yield from told(stage, dice["twice"], twice, once, 30, 335)
    tested: Sequence[Story] = [_tested] * 2 + [_tested_undone]
    known: Sequence[Story] = [_tiny_then_small, _tiny_then_later, _tiny_then_known]
    yield from told(stage, dice["tested"], tested, known, 75, 330)
    yield from told(stage, dice["cash"], [_cash] * 3, [_some_cash] * 2 + [_cash_in_a_week], 20, 345)
    yield from told(stage, dice["unknown"], [_stranger] * 3, [_not_so_large] * 2 + [_known_payee], 85, 345)


def _bank(dice: Dice) -> Bank:
    return dice["bank"].pick(("bank-a", "bank-b"))


# --- charged twice -------------------------------------------------------------------------------------------------


def _twice(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int], *, back_after: int | None = None) -> Scene:
    """One of the two charges may come back after so many days."""
    shop = stage.company("twice", "shop")
    bank = _bank(dice)
    needs = PROMPT[bank] if back_after is None else (*PROMPT[bank], *(back_after + offset for offset in PROMPT[bank]))
    day = stage.place(dice["day"], stretch, {bank: needs}, (bank, 0, 2))
    low, high = (152, 380) if bank == "bank-a" else (18, 75)
    amount = stage.amount(dice["amount"], low, high)
    first = paid(dice["one"], bank, day, -amount, shop.name)
    second = paid(dice["two"], bank, first.booked + days(dice["gap"].between(0, 1)), -amount, shop.name)
    rows, cancelled_on = [first, second], None
    if back_after is not None:
        back = paid(
            dice["back"],
            bank,
            second.booked + days(back_after),
            amount,
            shop.name,
            f"Refund {shop.name}",
            kind="refund",
        )
        rows.append(back)
        cancelled_on = stage.seen_on(bank, back.booked)
    label = notice(
        name,
        _TWICE,
        (first.reference, second.reference),
        window(stage, second),
        shop.lang,
        "charged twice",
        cancelled_on,
    )
    return Scene(rows=tuple(rows), labels=(label,))


def _given_back(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    return _twice(stage, dice, name, stretch, back_after=dice["after"].between(9, 20))


def _pair(
    stage: Stage, dice: Dice, name: str, stretch: tuple[int, int], shop: str, amount: Decimal, gap: int, why: str,
    purposes: tuple[str, str] = ("", ""),
) -> Scene:  # fmt: skip
    """Two charges of one amount that are no mistake."""
    bank = _bank(dice)
    day = stage.place(dice["day"], stretch, {bank: PROMPT[bank]}, (bank, 0, 2))
    first = paid(dice["one"], bank, day, -amount, shop, purposes[0])
    second = paid(dice["two"], bank, first.booked + days(gap), -amount, shop, purposes[1])
    label = silence(
        name, _TWICE, (first.reference, second.reference), (first.booked, window(stage, second, 20)[1]), "-", why
    )
    return Scene(rows=(first, second), labels=(label,))


def _tickets(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    lang = stage.language("tickets")
    seller = _TICKETS[lang].format(stem=stage.registry.stem(lang))
    return _pair(
        stage, dice, name, stretch, seller, stage.amount(dice["amount"], 11, 48), 0, "a ticket for each of two"
    )


def _coffee(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    stem = stage.registry.stem(stage.language("coffee"))
    amount = stage.unreserved(dice["amount"].cents(3, 8))
    return _pair(stage, dice, name, stretch, f"{stem} Espresso", amount, 1, "the same small thing on two days")


def _instalments(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    shop = stage.company("instalments", "shop").name
    number = stage.number(dice["number"], "########")
    purposes = (f"{shop} {number} 1/2", f"{shop} {number} 2/2")
    amount = stage.amount(dice["amount"], 40, 74)
    return _pair(stage, dice, name, stretch, shop, amount, 1, "one purchase in two instalments", purposes)


def _next_week(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    shop = stage.company("again", "shop").name
    amount = stage.amount(dice["amount"], 20, 70)
    return _pair(stage, dice, name, stretch, shop, amount, dice["gap"].between(6, 9), "the same again a week later")


# --- a card that is tried out --------------------------------------------------------------------------------------


def _tiny(dice: Dice) -> Decimal:
    return -dice["tiny"].cents(0, 1) - Decimal("0.50")


def _tested(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int], *, back_after: int | None = None) -> Scene:
    after = () if back_after is None else tuple(back_after + offset for offset in PROMPT["bank-a"])
    day = stage.place(dice["day"], stretch, {"bank-a": (*PROMPT["bank-a"], *after)}, ("bank-a", 0, 6))
    first = paid(dice["one"], "bank-a", day, _tiny(dice), stage.company("tested", "service").name)
    shop = stage.company("tested", "shop")
    amount = stage.amount(dice["amount"], 160, 890)
    second = paid(dice["two"], "bank-a", first.booked + days(dice["gap"].between(0, 2)), -amount, shop.name)
    rows, cancelled_on = [first, second], None
    if back_after is not None:
        rows.append(paid(dice["back"], "bank-a", second.booked + days(back_after), amount, shop.name, kind="refund"))
        cancelled_on = stage.seen_on("bank-a", rows[-1].booked)
    why = "a stolen card number is tried out, then used"
    label = notice(
        name, _TESTED, (first.reference, second.reference), window(stage, second), shop.lang, why, cancelled_on
    )
    return Scene(rows=tuple(rows), labels=(label,))


def _tested_undone(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    return _tested(stage, dice, name, stretch, back_after=dice["after"].between(8, 18))


def _untested(
    stage: Stage, dice: Dice, name: str, stretch: tuple[int, int], amount: Decimal, gap: int, why: str, before: int = 0
) -> Scene:
    """``before``: so many days earlier the second shop was paid already."""
    day = stage.place(dice["day"], stretch, {"bank-a": PROMPT["bank-a"]}, ("bank-a", 0, gap + 2))
    first = paid(dice["one"], "bank-a", day, _tiny(dice), stage.company("untested", "service").name)
    shop = stage.company("untested", "shop").name
    second = paid(dice["two"], "bank-a", first.booked + days(gap), -amount, shop)
    rows = [first, second]
    if before:
        rows.append(paid(dice["before"], "bank-a", day - days(before), -stage.amount(dice["b"], 20, 60), shop))
    label = silence(name, _TESTED, (first.reference, second.reference), window(stage, second, 20), "-", why)
    return Scene(rows=tuple(rows), labels=(label,))


def _tiny_then_small(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    amount = stage.amount(dice["amount"], 15, 60)
    return _untested(stage, dice, name, stretch, amount, dice["gap"].between(0, 2), "tiny, then nothing large")


def _tiny_then_later(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    amount = stage.amount(dice["amount"], 160, 600)
    return _untested(stage, dice, name, stretch, amount, dice["gap"].between(9, 12), "tiny, and later a large one")


def _tiny_then_known(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    amount = stage.amount(dice["amount"], 160, 600)
    why = "tiny, then large at a shop that is known"
    return _untested(stage, dice, name, stretch, amount, dice["gap"].between(0, 2), why, dice["b4"].between(12, 28))


# --- cash ----------------------------------------------------------------------------------------------------------


def _withdrawals(
    stage: Stage, dice: Dice, name: str, stretch: tuple[int, int], count: int, gap: int, *, many: bool
) -> Scene:
    bank = _bank(dice)
    lang = stage.language("cash")
    who, words = _CASH_WORDS[lang]
    needs: dict[Source, tuple[int, ...]] = {
        bank: tuple(sorted({offset + gap * index for index in range(count) for offset in PROMPT[bank]}))
    }
    day = stage.place(dice["day"], stretch, needs, (bank, 0, 1 + gap * count))
    stem = stage.registry.stem(lang)
    low, high = (3, 9) if many else (2, 4)
    rows = [
        paid(
            dice["row", index],
            bank,
            day + days(gap * index),
            -Decimal(dice["amount", index].between(low, high) * (50 if many else 20)),
            who.format(stem=stem),
            words.format(day=day + days(gap * index)),
        )
        for index in range(count)
    ]
    items = tuple(row.reference for row in rows)
    if many:
        label = notice(name, _CASH, items, window(stage, rows[-1]), lang, f"{count} withdrawals on one day")
    else:
        until = (rows[0].booked, window(stage, rows[-1], 10)[1])
        label = silence(name, _CASH, items, until, lang, f"{count} withdrawals, {gap} days apart")
    return Scene(rows=tuple(rows), labels=(label,))


def _cash(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    return _withdrawals(stage, dice, name, stretch, dice["count"].between(3, 5), 0, many=True)


def _some_cash(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    return _withdrawals(stage, dice, name, stretch, 2, 0, many=False)


def _cash_in_a_week(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    return _withdrawals(stage, dice, name, stretch, 3, 5, many=False)


# --- strangers -----------------------------------------------------------------------------------------------------


def _stranger(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    company = stage.company("strangers", dice["trade"].pick(("craft", "garage", "travel")))
    bank = _bank(dice)
    day = stage.place(dice["day"], stretch, {bank: PROMPT[bank]})
    amount = stage.amount(dice["amount"], 1000, 4200)
    row = paid(
        dice, bank, day, -amount, company.name, stage.number(dice["n"], "##-####"), kind="transfer", iban=company.iban
    )
    label = notice(name, _UNKNOWN, (row.reference,), window(stage, row), company.lang, "a large payment to a stranger")
    return Scene(rows=(row,), labels=(label,))


def _not_so_large(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    company = stage.company("strangers", "craft")
    day = stage.place(dice["day"], stretch, {"bank-a": PROMPT["bank-a"]})
    amount = stage.amount(dice["amount"], 640, 985)
    number = stage.number(dice["n"], "##-####")
    row = paid(dice, "bank-a", day, -amount, company.name, number, kind="transfer", iban=company.iban)
    label = silence(
        name, _UNKNOWN, (row.reference,), window(stage, row, 20), company.lang, "a stranger, less than 1,000"
    )
    return Scene(rows=(row,), labels=(label,))


def _known_payee(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    company = stage.company("strangers", "garage")
    day = stage.place(dice["day"], stretch, {"bank-a": PROMPT["bank-a"]})
    rows = tuple(
        paid(dice[back], "bank-a", day - days(back), -stage.amount(dice["amount", back], low, high), company.name,
             stage.number(dice["n", back], "##-####"), kind="transfer", iban=company.iban)
        for back, low, high in ((55, 90, 300), (0, 1050, 1900))
    )  # fmt: skip
    label = silence(name, _UNKNOWN, (rows[1].reference,), window(stage, rows[1], 20), company.lang, "paid before")
    return Scene(rows=rows, labels=(label,))
