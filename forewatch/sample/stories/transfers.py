"""Money, and bills, that go to another account than before; and changes of account that are none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date

from forewatch.sample.cast import Company
from forewatch.sample.dice import Dice
from forewatch.sample.iban import iban
from forewatch.sample.letter import Letter
from forewatch.sample.marking import notice, silence
from forewatch.sample.payments import PROMPT, paid, window
from forewatch.sample.phrasing import items_of
from forewatch.sample.post import from_company
from forewatch.sample.scene import Row, Scene
from forewatch.sample.speech import Value
from forewatch.sample.stage import Stage, days
from forewatch.sample.telling import Story, told

_PAID = ("iban-changed",)
_BILLED = ("invoice-iban-changed",)


def stories(stage: Stage) -> Iterator[Scene]:
    dice = stage.dice["transfers"]
    yield from told(stage, dice["paid"], [_elsewhere] * 3, [_two_known, _paid_once, _small], 75, 345)
    billed: Sequence[Story] = [_forged] * 3
    honest: Sequence[Story] = [_same_account, _both_accounts, _first_bill]
    yield from told(stage, dice["billed"], billed, honest, 100, 335)


def _transfer(
    stage: Stage, dice: Dice, company: Company, day: date, account: str, low: int = 45, high: int = 240
) -> Row:
    amount = -stage.amount(dice["amount"], low, high)
    number = stage.number(dice["number"], "##-####")
    return paid(dice, "bank-a", day, amount, company.name, number, kind="transfer", iban=account)


def _other(dice: Dice, company: Company) -> str:
    """Another account than the company's own, in some country."""
    return iban(dice["other"], dice["country"].pick(("NL", "DE", "FR", "ES")))


def _payee(stage: Stage, dice: Dice, stretch: tuple[int, int]) -> tuple[Company, date]:
    day = stage.place(dice["day"], stretch, {"bank-a": PROMPT["bank-a"]})
    return stage.company("payees", dice["trade"].pick(("craft", "school", "club", "doctor"))), day


def _elsewhere(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    company, day = _payee(stage, dice, stretch)
    rows = [
        _transfer(stage, dice["before", back], company, day - days(back), company.iban)
        for back in (68, 47, dice["gap"].between(22, 30))
    ]
    rows.append(_transfer(stage, dice["now"], company, day, _other(dice, company)))
    why = "money goes to another account of a known payee"
    label = notice(name, _PAID, (rows[-1].reference,), window(stage, rows[-1]), company.lang, why)
    return Scene(rows=tuple(rows), labels=(label,))


def _known(stage: Stage, name: str, company: Company, rows: Sequence[Row], why: str) -> Scene:
    label = silence(name, _PAID, (rows[-1].reference,), window(stage, rows[-1], 20), company.lang, why)
    return Scene(rows=tuple(rows), labels=(label,))


def _two_known(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    company, day = _payee(stage, dice, stretch)
    other = _other(dice, company)
    rows = [
        _transfer(stage, dice[back], company, day - days(back), company.iban if index % 2 else other)
        for index, back in enumerate((70, 62, 31, 0))
    ]
    return _known(stage, name, company, rows, "both accounts are known")


def _paid_once(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    company, day = _payee(stage, dice, stretch)
    rows = [
        _transfer(stage, dice["before"], company, day - days(40), company.iban),
        _transfer(stage, dice["now"], company, day, _other(dice, company)),
    ]
    return _known(stage, name, company, rows, "the payee was paid only once before")


def _small(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    company, day = _payee(stage, dice, stretch)
    rows = [_transfer(stage, dice[back], company, day - days(back), company.iban) for back in (68, 45, 25)]
    rows.append(_transfer(stage, dice["now"], company, day, _other(dice, company), 8, 18))
    return _known(stage, name, company, rows, "a small amount to another account")


# --- bills ---------------------------------------------------------------------------------------------------------


def _bill(stage: Stage, dice: Dice, company: Company, day: date, account: str) -> tuple[Letter, Row]:
    """It is paid within days, to the account that the payer has always used."""
    number, amount = stage.number(dice["number"], "##-####"), stage.amount(dice["amount"], 30, 260)
    slots: dict[str, Value] = {
        "number": number,
        "amount": amount,
        "due": day + days(24),
        "days": 24,
        "past": day - days(4),
        "item": items_of(company, dice["item"], stage.child(dice["kid"])),
        "iban": account,
    }
    letter = from_company(stage, dice, company, "invoice", stage.moment(day, dice["time"]), slots)
    row = paid(dice["row"], "bank-a", day + days(2), -amount, company.name, number, kind="transfer", iban=company.iban)
    return letter, row


def _bills(
    stage: Stage, dice: Dice, stretch: tuple[int, int], back: Sequence[int], accounts: Sequence[str], company: Company
) -> tuple[date, list[Letter], list[Row]]:
    """Bills so many days before the last, each with one of the accounts ("" is the company's own)."""
    mails = tuple(-days_back for days_back in back)
    banks = tuple(offset + 2 - days_back for days_back in back for offset in PROMPT["bank-a"])
    day = stage.place(dice["day"], stretch, {"mail": mails, "bank-a": banks})
    made = [
        _bill(stage, dice["bill", index], company, day - days(days_back), account or company.iban)
        for index, (days_back, account) in enumerate(zip(back, accounts, strict=True))
    ]
    return day, [letter for letter, _ in made], [row for _, row in made]


def _biller(stage: Stage, dice: Dice) -> Company:
    return stage.company("changing billers", dice["trade"].pick(("dentist", "garage", "craft", "school", "club")))


def _forged(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    company = _biller(stage, dice)
    back = (dice["first"].between(60, 75), dice["second"].between(25, 35), 0)
    day, letters, rows = _bills(stage, dice, stretch, back, ("", "", _other(dice, company)), company)
    why = "a bill names another account than the bills before"
    label = notice(name, _BILLED, (letters[-1].message_id,), (day, day + days(2)), company.lang, why)
    return Scene(tuple(letters), tuple(rows), labels=(label,))


def _honest(
    stage: Stage,
    dice: Dice,
    name: str,
    stretch: tuple[int, int],
    back: Sequence[int],
    accounts: Sequence[str],
    why: str,
) -> Scene:
    company = _biller(stage, dice)
    day, letters, rows = _bills(stage, dice, stretch, back, accounts, company)
    label = silence(name, _BILLED, (letters[-1].message_id,), (day, day + days(30)), company.lang, why)
    return Scene(tuple(letters), tuple(rows), labels=(label,))


def _same_account(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    return _honest(stage, dice, name, stretch, (70, 30, 0), ("", "", ""), "the same account as ever")


def _both_accounts(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    other = iban(dice["both"], "DE")
    return _honest(stage, dice, name, stretch, (75, 50, 25, 0), ("", other, "", other), "both accounts are known")


def _first_bill(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    return _honest(stage, dice, name, stretch, (0,), ("",), "the first bill of a biller")
