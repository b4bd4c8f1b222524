"""Invoices in words: their number, what is to be paid, until when, to which account."""

from __future__ import annotations

import re
from collections.abc import Sequence

from extractors.facts import numbers
from extractors.facts.passage import Passage
from extractors.facts.phrases import phrases
from schemas.fact import AmountFact, DueFact, InvoiceFact, ResolutionFact
from schemas.money import Money

_BILL = phrases(
    r"invoices?|bills?|statement of account|payment reminder|overdue notice|premium notice|final notice",
    r"\w*rechnung(?:en)?|\w*mahnung|zahlungserinnerung|zahlungsaufforderung|beitragsbescheid|gebührenbescheid",
    r"bescheid",
    r"factures?|quittance|avis d['’]échéance|relance|appel de (?:fonds|cotisation)",
    r"facturas?|recibo|recordatorio de pago",
)
_REFERENCE = re.compile(
    r"(?<!\w)(?:payment reference|reference(?: number)?|verwendungszweck|zahlungsreferenz|référence|concepto|"
    r"referencia(?: de pago)?)\s?[:=]?\s{0,10}((?=\S{0,60}\d)\w[\w./+-]{2,60})",
    re.IGNORECASE,
)
_BY_ITSELF = phrases(
    r"direct debit|debited|automatically (?:charged|collected|paid)|(?:will|we) (?:be )?collect(?:ed)? the amount",
    r"autopay",
    r"lastschrift\w*|abgebucht|abbuchung\w*|ziehen(?: \w+){0,4} ein|eingezogen|einzugsermächtigung",
    r"prélèvement\w*|prélevée?s?|sera débitée?|domicilia\w*|se (?:cargará|cobrará|adeudará)|cargo en (?:su )?cuenta",
)
"""Words for money that goes by itself."""
_PREFERRED = ("total", "due", "mention", "price")


def find(
    passages: Sequence[Passage],
    dues: Sequence[DueFact],
    amounts: Sequence[AmountFact],
    resolutions: Sequence[ResolutionFact],
) -> list[InvoiceFact]:
    """At most one: a mail speaks of one invoice.

    It needs a number, or the word for a bill with an amount that has a due day or an account to pay to.
    """
    number = next((found for passage in passages for found in numbers.invoices(passage)), None)
    named = any(_BILL.search(passage.text) for passage in passages)
    if number is None and not named:
        return []
    amount = payable(amounts)
    due = next((fact for fact in dues if fact.what in ("pay", "debit", "act")), None)
    iban = next((found.iban for passage in passages for found in passage.ibans), None)
    if number is None and (amount is None or (due is None and iban is None)):
        return []
    context = passages[0].context
    return [
        InvoiceFact(
            origin="text",
            certainty=0.9 if number and amount else 0.75,
            span=number.span if number else due.span if due else None,
            number=number.number if number else None,
            amount=amount,
            due=due.on if due else None,
            issuer=context.sender[:200] or None,
            iban=iban,
            reference=_reference(passages),
            paid=any(fact.outcome == "paid" for fact in resolutions),
            autopay=(due is not None and due.what == "debit") or any(_BY_ITSELF.search(p.text) for p in passages),
        )
    ]


def payable(amounts: Sequence[AmountFact]) -> Money | None:
    """The total: the largest of the most telling role. Fees, refunds and parts are not it."""
    for role in _PREFERRED:
        found = [fact.amount for fact in amounts if fact.role == role]
        if role == "mention" and len({(money.amount, money.currency) for money in found}) > 1:
            return None  # several amounts, and no word says which is to be paid
        if found:
            return max((m for m in found if m.currency == found[0].currency), key=lambda money: money.amount)
    return None


def _reference(passages: Sequence[Passage]) -> str | None:
    match = next(filter(None, (_REFERENCE.search(passage.text) for passage in passages)), None)
    return match[1].rstrip("./-") if match else None
