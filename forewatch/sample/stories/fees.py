"""What banks take for themselves, direct debits that bounce, and payments whose words only sound like it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from decimal import Decimal

from forewatch.sample import bankdays
from forewatch.sample.cast import Company
from forewatch.sample.dice import Dice
from forewatch.sample.labels import Label
from forewatch.sample.marking import notice, silence
from forewatch.sample.outages import Source
from forewatch.sample.payments import PROMPT, paid, window
from forewatch.sample.scene import Row, Scene
from forewatch.sample.speech import LANGUAGES, Language
from forewatch.sample.stage import Stage, days
from forewatch.sample.telling import Story, told

_ABROAD = ("foreign-fee",)
_FEES = ("bank-fees",)
_RETURNED = ("debit-returned",)
_ABROAD_WORDS: dict[Language, tuple[str, ...]] = {
    "en": ("Foreign transaction fee {place}", "Currency conversion fee 1.75% {place}"),
    "de": ("AUSLANDSEINSATZENTGELT {place}", "Währungsumrechnungsentgelt 1,75% {place}"),
    "fr": ("Commission de change {place}", "Frais hors zone euro {place}"),
    "es": ("Comisión por cambio de divisa {place}", "Comisión de cambio {place}"),
}
_BOUGHT: dict[Language, str] = {
    "en": "{place} USD 99.00 rate 1.0812",
    "de": "{place} Kurs 1,0812 USD 99,00",
    "fr": "{place} 99,00 USD cours 1,0812",
    "es": "{place} 99,00 USD cambio 1,0812",
}
_FEE_WORDS: dict[Language, tuple[str, ...]] = {
    "en": ("Account fee {month}", "Card fee {month}", "Overdraft interest {month}"),
    "de": ("Kontoführungsentgelt {month}", "Kartenentgelt {month}", "Sollzinsen {month}"),
    "fr": ("Frais de tenue de compte {month}", "Cotisation carte {month}", "Agios {month}"),
    "es": ("Comisión de mantenimiento {month}", "Cuota de tarjeta {month}", "Comisión de descubierto {month}"),
}
_BACK_WORDS: dict[Language, str] = {
    "en": "Credit note: card fee", "de": "Storno Kartenentgelt", "fr": "Annulation cotisation carte",
    "es": "Devolución cuota de tarjeta",
}  # fmt: skip
_LESSONS: dict[Language, str] = {
    "en": "Course fee {month}",
    "de": "Kursgebühr {month}",
    "fr": "Frais de cours {month}",
    "es": "Cuota del curso {month}",
}
_RETURN_WORDS: dict[Language, tuple[str, ...]] = {
    "en": ("RETURNED DIRECT DEBIT {number}", "Direct debit returned: insufficient funds {number}"),
    "de": ("RÜCKLASTSCHRIFT {number} MANGELS DECKUNG", "Lastschriftrückgabe {number}"),
    "fr": ("Rejet de prélèvement {number}", "PRÉLÈVEMENT REJETÉ {number} PROVISION INSUFFISANTE"),
    "es": ("RECIBO DEVUELTO {number}", "Devolución de recibo {number} por falta de fondos"),
}
_REFUND_WORDS: dict[Language, str] = {
    "en": "Refund {number}", "de": "Erstattung Lastschrift {number}", "fr": "Remboursement prélèvement {number}",
    "es": "Reembolso recibo {number}",
}  # fmt: skip


def stories(stage: Stage) -> Iterator[Scene]:
    dice = stage.dice["fees"]
    abroad: Sequence[Story] = [_abroad] * 2 + [_abroad_undone]
    at_home: Sequence[Story] = [_without_fee, _cents, _fee_back]
    yield from told(stage, dice["abroad"], abroad, at_home, 25, 335)
    yield from _months(stage, dice["months"])
    returned: Sequence[Story] = [_returned] * 2 + [_collected_again] * 2
    yield from told(stage, dice["returned"], returned, [_refunded] * 2 + [_return_fee], 25, 335)


# --- paying abroad -------------------------------------------------------------------------------------------------


def _abroad(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int], *, back_after: int | None = None) -> Scene:
    bank = stage.company("abroad", "bank")
    after = () if back_after is None else tuple(back_after + offset for offset in PROMPT["bank-b"])
    day = stage.place(dice["day"], stretch, {"bank-b": (*PROMPT["bank-b"], *after)})
    place = stage.registry.stem(bank.lang)
    bought = -stage.amount(dice["bought"], 24, 74)
    fee = stage.unreserved(max(Decimal("0.60"), (-bought * Decimal("0.0175")).quantize(Decimal("0.01"))))
    words = dice["words"].pick(_ABROAD_WORDS[bank.lang]).format(place=place)
    rows = [
        paid(dice["bought", "row"], "bank-b", day, bought, f"{place} Diner", _BOUGHT[bank.lang].format(place=place)),
        paid(dice["fee"], "bank-b", day, -fee, bank.name, words),
    ]
    cancelled_on = None
    if back_after is not None:
        back = paid(dice["back"], "bank-b", rows[1].booked + days(back_after), fee, bank.name, words, kind="refund")
        rows.append(back)
        cancelled_on = stage.seen_on("bank-b", back.booked)
    label = notice(
        name, _ABROAD, (rows[1].reference,), window(stage, rows[1]), bank.lang, "a fee for paying abroad", cancelled_on
    )
    return Scene(rows=tuple(rows), labels=(label,))


def _abroad_undone(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    return _abroad(stage, dice, name, stretch, back_after=dice["after"].between(9, 25))


def _at_home(
    stage: Stage, dice: Dice, name: str, stretch: tuple[int, int], amount: Decimal, words: dict[Language, str], why: str
) -> Scene:
    bank = stage.company("abroad", "bank")
    day = stage.place(dice["day"], stretch, {"bank-b": PROMPT["bank-b"]})
    purpose = words[bank.lang].format(place=stage.registry.stem(bank.lang))
    row = paid(dice["row"], "bank-b", day, amount, bank.name, purpose, kind="refund" if amount > 0 else "card")
    label = silence(name, _ABROAD, (row.reference,), window(stage, row, 20), bank.lang, why)
    return Scene(rows=(row,), labels=(label,))


def _without_fee(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    amount = -stage.amount(dice["amount"], 24, 74)
    return _at_home(stage, dice, name, stretch, amount, _BOUGHT, "paid in another currency without a fee")


def _cents(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    amount = -Decimal(dice["amount"].between(12, 44)).scaleb(-2)
    words = {lang: _ABROAD_WORDS[lang][0] for lang in LANGUAGES}
    return _at_home(stage, dice, name, stretch, amount, words, "a fee of some cents")


def _fee_back(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    words = {lang: _ABROAD_WORDS[lang][0] for lang in LANGUAGES}
    return _at_home(stage, dice, name, stretch, dice["amount"].cents(2, 6), words, "a fee that the bank gives back")


# --- fees of a month -----------------------------------------------------------------------------------------------


def _months(stage: Stage, dice: Dice) -> Iterator[Scene]:
    """Each plan has a month of its own: the fees of an account are added up by the month."""
    plans = ("much", "much", "undone", "little", "little", "lessons")
    for index, (month, plan) in enumerate(zip(_quiet_months(stage, dice), plans, strict=False)):
        yield _month(stage, dice[index], f"{index:02d}", month, plan)


def _quiet_months(stage: Stage, dice: Dice) -> list[date]:
    """First days of months in which bank A speaks all the time, and for two weeks more."""
    starts = [date(stage.start.year + number // 12, number % 12 + 1, 1) for number in range(1, 11)]
    fits = [
        day for day in starts if not any(stage.outages.covers("bank-a", day + days(offset)) for offset in range(46))
    ]
    return dice["months"].shuffled(fits)


def _month(stage: Stage, dice: Dice, name: str, month: date, plan: str) -> Scene:
    bank = stage.company("fees", "bank")
    text = f"{month:%m/%Y}"
    if plan == "lessons":
        return _lessons(stage, dice, name, month, stage.company("lessons", "school"), text)
    lows, highs = ((2, 3, 4), (4, 5, 5)) if plan == "little" else ((6, 6, 6), (9, 9, 9))
    rows = [
        _fee(stage, dice[index], month + days(2 + 8 * index + dice["gap", index].below(4)), bank, index, bounds)
        for index, bounds in enumerate(zip(lows, highs, strict=True))
    ]
    if plan == "little":
        rows = rows[: dice["count"].between(1, 2)] if sum(row.amount for row in rows) < -14 else rows
        last = window(stage, rows[-1], 20)[1]
        label = silence(
            name, _FEES, tuple(row.reference for row in rows), (rows[0].booked, last), bank.lang, "small bank fees"
        )
        return Scene(rows=tuple(rows), labels=(label,))
    if plan == "undone":
        return _undone(stage, dice, name, rows, bank)
    return Scene(rows=tuple(rows), labels=(_adding_up(stage, name, rows, bank),))


def _fee(stage: Stage, dice: Dice, day: date, bank: Company, index: int, bounds: tuple[int, int]) -> Row:
    amount = -stage.unreserved(dice["amount"].cents(*bounds))
    words = _FEE_WORDS[bank.lang][index].format(month=f"{day:%m/%Y}")
    return paid(dice, "bank-a", day, amount, bank.name, words, kind="debit")


def _adding_up(stage: Stage, name: str, rows: list[Row], bank: Company, cancelled_on: date | None = None) -> Label:
    items = tuple(row.reference for row in rows)
    until = cancelled_on or window(stage, rows[-1])[1]
    why = "the bank's fees of a month add up"
    return notice(name, _FEES, items, (rows[1].booked, until), bank.lang, why, cancelled_on)


def _undone(stage: Stage, dice: Dice, name: str, rows: list[Row], bank: Company) -> Scene:
    """The last fee comes early; then enough is given back within the same month."""
    when = bankdays.on_or_after(rows[1].booked + days(1))
    rows = [*rows[:2], _fee(stage, dice["third"], when, bank, 2, (6, 9))]
    given = -sum((row.amount for row in rows), Decimal(9))
    back = paid(dice["back"], "bank-a", when + days(5), given, bank.name, _BACK_WORDS[bank.lang], kind="refund")
    label = _adding_up(stage, name, rows, bank, stage.seen_on("bank-a", back.booked))
    return Scene(rows=(*rows, back), labels=(label,))


def _lessons(stage: Stage, dice: Dice, name: str, month: date, school: Company, text: str) -> Scene:
    row = paid(
        dice["row"], "bank-a", month + days(9), -stage.amount(dice["amount"], 35, 90), school.name,
        _LESSONS[school.lang].format(month=text), kind="transfer", iban=school.iban,
    )  # fmt: skip
    label = silence(name, _FEES, (row.reference,), window(stage, row, 20), school.lang, "the fee of a course")
    return Scene(rows=(row,), labels=(label,))


# --- direct debits -------------------------------------------------------------------------------------------------


def _debit(
    stage: Stage, dice: Dice, stretch: tuple[int, int], more: tuple[int, ...] = ()
) -> tuple[Company, Row, str, int]:
    """A biller's debit from bank A, its number, and how many days later something comes of it."""
    company = stage.company("debits", dice["trade"].pick(("telecom", "insurer", "energy", "gym")))
    after = dice["after"].between(2, 5)
    needs: dict[Source, tuple[int, ...]] = {"bank-a": (*PROMPT["bank-a"], *range(after, after + 6), *more)}
    day = stage.place(dice["day"], stretch, needs)
    number = stage.number(dice["number"], "@#######")
    amount = -stage.amount(dice["amount"], 24, 180)
    row = paid(dice["debit"], "bank-a", day, amount, company.name, number, kind="debit", iban=company.iban)
    return company, row, number, after


def _returned(
    stage: Stage, dice: Dice, name: str, stretch: tuple[int, int], *, again_after: int | None = None
) -> Scene:
    more = () if again_after is None else tuple(range(again_after + 4, again_after + 14))
    company, debit, number, after = _debit(stage, dice, stretch, more)
    words = dice["words"].pick(_RETURN_WORDS[company.lang]).format(number=number)
    back = paid(
        dice["back"], "bank-a", debit.booked + days(after), -debit.amount, company.name, words, kind="refund",
        iban=company.iban,
    )  # fmt: skip
    rows, cancelled_on = [debit, back], None
    if again_after is not None:
        again = paid(
            dice["again"], "bank-a", back.booked + days(again_after), debit.amount, company.name, number, kind="debit",
            iban=company.iban,
        )  # fmt: skip
        rows.append(again)
        cancelled_on = stage.seen_on("bank-a", again.booked)
    label = notice(
        name, _RETURNED, (back.reference,), window(stage, back), company.lang, "a direct debit comes back", cancelled_on
    )
    return Scene(rows=tuple(rows), labels=(label,))


def _collected_again(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    return _returned(stage, dice, name, stretch, again_after=dice["again_after"].between(6, 15))


def _refunded(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    company, debit, number, after = _debit(stage, dice, stretch)
    words = _REFUND_WORDS[company.lang].format(number=number)
    back = paid(dice["back"], "bank-a", debit.booked + days(after), -debit.amount, company.name, words, kind="refund")
    label = silence(
        name, _RETURNED, (back.reference,), window(stage, back, 20), company.lang, "the biller gives it back"
    )
    return Scene(rows=(debit, back), labels=(label,))


def _return_fee(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    """What a return costs is no return."""
    bank = stage.company("debits", "bank")
    day = stage.place(dice["day"], stretch, {"bank-a": PROMPT["bank-a"]})
    words = _RETURN_WORDS[bank.lang][0].format(number=stage.number(dice["number"], "@#######"))
    row = paid(dice["row"], "bank-a", day, -stage.unreserved(dice["amount"].cents(3, 8)), bank.name, words)
    label = silence(name, _RETURNED, (row.reference,), window(stage, row, 20), bank.lang, "the fee for a return")
    return Scene(rows=(row,), labels=(label,))
