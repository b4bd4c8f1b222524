"""Invoices: paid in time by most, too late by some, never by a few; and papers that only look like a debt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal

from forewatch.sample import bankdays, schema_org
from forewatch.sample.cast import Company
from forewatch.sample.dice import Dice
from forewatch.sample.labels import Label
from forewatch.sample.letter import Letter
from forewatch.sample.marking import notice, silence
from forewatch.sample.phrasing import items_of
from forewatch.sample.post import by_owner, from_company, from_person, with_pdf
from forewatch.sample.scene import Row, Scene
from forewatch.sample.schema_org import PaymentStatus
from forewatch.sample.speech import Value
from forewatch.sample.stage import Stage, days
from forewatch.sample.telling import Story, told

RULES = ("invoice-unpaid", "due-soon")
_TRADES = ("dentist", "garage", "craft", "insurer", "school", "club", "doctor", "shop")
_FORMS = ("##-####", "@@##/####", "20##-#####", "########", "@-######")


@dataclass(frozen=True, slots=True)
class Bill:
    company: Company
    number: str
    amount: Decimal
    slots: dict[str, Value]
    letter: Letter
    arrived: date
    due: date


def stories(stage: Stage) -> Iterator[Scene]:
    dice = stage.dice["invoices"]
    true: Sequence[Story] = (
        [_never] * 3 + [_reminded] * 2 + [_paid_late] * (3 + dice.below(2)) + [_thanked] * 2 + [_voided]
    )
    quiet: Sequence[Story] = (
        [_paid_early] * 3 + [_debited] * 2 + [_settled] * 2 + [_settled_jsonld, _quoted_old, _voided_at_once]
    )
    yield from told(stage, dice, true, quiet, 8, 322)
    yield from _ordinary(stage, dice["ordinary"])


def _bill(
    stage: Stage,
    dice: Dice,
    day: date,
    term: int,
    kind: str = "invoice",
    company: Company | None = None,
    status: PaymentStatus | None = None,
) -> Bill:
    """``status``: that of the JSON-LD which the mail must have; None: some mails have it."""
    company = company or stage.company("invoices", dice["trade"].pick(_TRADES))
    number, amount = stage.number(dice["number"], dice["form"].pick(_FORMS)), stage.amount(dice["amount"], 24, 640)
    due = day + days(term)
    slots: dict[str, Value] = {
        "number": number,
        "amount": amount,
        "due": due,
        "days": term,
        "past": day - days(3),
        "item": items_of(company, dice["item"], stage.child(dice["kid"])),
    }
    has_data = kind == "invoice" and dice["jsonld"].chance(35)
    jsonld = None
    if status or has_data:
        jsonld = schema_org.invoice(company.name, number, amount, due, status or "PaymentDue")
    letter = from_company(stage, dice, company, kind, stage.moment(day, dice["time"]), slots, jsonld=jsonld)
    if dice["pdf"].chance(40):
        letter = with_pdf(letter, number)
    return Bill(company, number, amount, slots, letter, day, due)


def _payment(bill: Bill, booked: date, dice: Dice, kind: str = "transfer") -> Row:
    """From bank A; the purpose names the invoice, or at times only what the payer thought of."""
    purpose = f"{bill.number} {bill.slots['item']}" if dice["purpose"].chance(75) else f"{bill.slots['item']}"
    return Row(
        bank="bank-a",
        booked=booked,
        amount=-bill.amount,
        counterparty=bill.company.name,
        purpose=purpose[:120],
        reference=f"E2E{dice['e2e'].hexes(10).upper()}",
        kind="debit" if kind == "debit" else "transfer",
        iban=bill.company.iban,
        creditor=bill.company.creditor if kind == "debit" else "",
        mandate=f"M{dice['mandate'].digits(8)}" if kind == "debit" else "",
    )


def _true(
    bill: Bill, name: str, why: str, by: date, cancelled_on: date | None = None, items: tuple[str, ...] = ()
) -> Label:
    tokens = (bill.letter.message_id, *items)
    return notice(name, RULES, tokens, (bill.arrived, by), bill.company.lang, why, cancelled_on)


def _quiet(bill: Bill, name: str, why: str, items: tuple[str, ...] = ()) -> Label:
    tokens = (bill.letter.message_id, *items)
    return silence(name, RULES, tokens, (bill.arrived, bill.due + days(10)), bill.company.lang, why)


def _never(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    term = dice.between(14, 30)
    bill = _bill(stage, dice, stage.place(dice["day"], stretch, {"mail": (0, term)}), term)
    return Scene((bill.letter,), labels=(_true(bill, name, "an invoice that nobody pays", bill.due),))


def _reminded(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    """Not paid, so a reminder comes with a new date; that is ignored, too."""
    term, late, more = dice.between(12, 18), dice.between(4, 7), dice.between(8, 12)
    day = stage.place(dice["day"], stretch, {"mail": (0, term + late, term + late + more)})
    bill = _bill(stage, dice, day, term)
    at = stage.moment(bill.due + days(late), dice["remind"])
    new_due = bill.due + days(late + more)
    slots = {**bill.slots, "due": new_due}
    reminder = from_company(stage, dice["reminder"], bill.company, "reminder", at, slots)
    label = _true(bill, name, "an invoice that stays unpaid after a reminder", new_due, items=(reminder.message_id,))
    return Scene((bill.letter, reminder), labels=(label,))


def _paid_late(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    """The transfer comes after the assistant has spoken: shortly before the due date or days after it."""
    term, lag = dice.between(14, 28), dice.between(-2, 6)
    seen = tuple(range(term - 6, term + lag + 5))
    day = stage.place(dice["day"], stretch, {"mail": (0,), "bank-a": seen})
    bill = _bill(stage, dice, day, term)
    row = _payment(bill, bankdays.on_or_after(bill.due + days(lag)), dice)
    paid = stage.seen_on("bank-a", row.booked)
    label = _true(bill, name, "an invoice that is paid at the last moment or late", min(bill.due, paid), paid)
    return Scene((bill.letter,), (row,), labels=(label,))


def _thanked(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    """Paid from an account that Forewatch does not see: only the biller's thanks tell."""
    term, lag = dice.between(14, 28), dice.between(-2, 5)
    bill = _bill(stage, dice, stage.place(dice["day"], stretch, {"mail": (0, term - 5, term + lag)}), term)
    at = stage.moment(bill.due + days(lag), dice["thanks"], (12, 19))
    thanks = from_company(stage, dice["thank"], bill.company, "payment_thanks", at, bill.slots)
    over = stage.day_of(thanks.at)
    label = _true(bill, name, "an invoice whose payment only the biller confirms", min(bill.due, over), over)
    return Scene((bill.letter, thanks), labels=(label,))


def _voided(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    term = dice.between(14, 28)
    bill = _bill(stage, dice, stage.place(dice["day"], stretch, {"mail": (0, term - 5, term - 2)}), term)
    at = stage.moment(bill.due - days(2), dice["void"], (12, 19))
    void = from_company(stage, dice["voided"], bill.company, "invoice_void", at, bill.slots)
    over = stage.day_of(void.at)
    label = _true(bill, name, "an invoice that the biller withdraws shortly before it is due", over, over)
    return Scene((bill.letter, void), labels=(label,))


def _paid_early(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    bill, row = _paid_in_time(stage, dice, stretch)
    return Scene((bill.letter,), (row,), labels=(_quiet(bill, name, "paid by transfer long before it is due"),))


def _paid_in_time(
    stage: Stage, dice: Dice, stretch: tuple[int, int], company: Company | None = None
) -> tuple[Bill, Row]:
    """A bill, and its payment on a statement a week or more before the due date."""
    term = dice.between(18, 30)
    wait = dice.between(1, term - 15)
    day = stage.place(dice["day"], stretch, {"mail": (0,), "bank-a": tuple(range(wait, wait + 7))})
    bill = _bill(stage, dice, day, term, company=company)
    return bill, _payment(bill, bankdays.on_or_after(day + days(wait)), dice)


def _debited(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    term = dice.between(10, 16)
    day = stage.place(dice["day"], stretch, {"mail": (0,), "bank-a": tuple(range(term, term + 6))})
    bill = _bill(stage, dice, day, term, "invoice_debit")
    row = _payment(bill, bankdays.on_or_after(bill.due), dice, "debit")
    return Scene((bill.letter,), (row,), labels=(_quiet(bill, name, "collected by direct debit: nothing to do"),))


def _settled(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    bill = _bill(stage, dice, stage.place(dice["day"], stretch, {"mail": (0,)}), 14, "invoice_paid")
    return Scene((bill.letter,), labels=(_quiet(bill, name, "the invoice says that it was already paid"),))


def _settled_jsonld(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    day = stage.place(dice["day"], stretch, {"mail": (0,)})
    bill = _bill(stage, dice, day, 14, "invoice_paid", status="PaymentComplete")
    return Scene((bill.letter,), labels=(_quiet(bill, name, "its data say PaymentComplete"),))


def _quoted_old(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    """A friend's chat whose quote holds an old demand for money."""
    day = stage.place(dice["day"], stretch, {"mail": (0,)})
    friend = dice.pick(stage.family.friends)
    company = stage.registry.company(friend.speaker.lang, "club")
    old = _bill(stage, dice["old"], day - days(6), 20, company=company)
    asked = from_person(stage, dice["asked"], friend, "chat", stage.moment(day - days(1), dice["t1"]), {"past": day})
    forwarded = by_owner(stage, dice["forward"], asked, "answer", stage.moment(day - days(1), dice["t2"], (20, 20)))
    quoting = _passed_on(forwarded, old.letter)
    reply = from_person(
        stage, dice["reply"], friend, "chat", stage.moment(day, dice["t3"]), {"past": day}, answers=quoting, quote=True
    )
    label = silence(
        name,
        RULES,
        (reply.message_id,),
        (day, old.due + days(5)),
        friend.speaker.lang,
        "the deadline stands in the quote",
    )
    return Scene((reply,), labels=(label,))


def _passed_on(wrapper: Letter, inner: Letter) -> Letter:
    """What the owner once passed on: the inner letter's text under the owner's name."""
    return replace(wrapper, blocks=inner.blocks, answers=None, quoting=None)


def _voided_at_once(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    term = dice.between(18, 28)
    bill = _bill(stage, dice, stage.place(dice["day"], stretch, {"mail": (0, 1)}), term)
    void = from_company(
        stage, dice["voided"], bill.company, "invoice_void", stage.moment(bill.arrived + days(1), dice["t"]), bill.slots
    )
    label = _quiet(bill, name, "withdrawn by the biller on the next day", (void.message_id,))
    return Scene((bill.letter, void), labels=(label,))


def _ordinary(stage: Stage, dice: Dice) -> Iterator[Scene]:
    """Bills of the same six companies, all paid in time, some of them with thanks."""
    billers = [
        stage.company("billers", trade) for trade in ("energy", "water", "telecom", "insurer", "school", "doctor")
    ]
    for index, stretch in enumerate(stage.stretches(48, 4, 330)):
        own = dice[index]
        bill, row = _paid_in_time(stage, own, stretch, billers[index % len(billers)])
        letters = [bill.letter]
        thanks_on = stage.seen_on("bank-a", row.booked)
        if own["thanked"].chance(30) and not stage.outages.covers("mail", thanks_on):
            at = stage.moment(thanks_on, own["thanks"], (9, 17))
            letters.append(from_company(stage, own["thank"], bill.company, "payment_thanks", at, bill.slots))
        yield Scene(tuple(letters), (row,))
