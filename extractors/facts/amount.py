"""Amounts with their role: the total of a bill, a fee, a refund, a price, or a mere mention."""

from __future__ import annotations

import re
from collections.abc import Iterator

from extractors.facts import guards
from extractors.facts.anchor import REACH, inside
from extractors.facts.clause import Clause
from extractors.facts.money import AmountMention
from extractors.facts.passage import Passage
from extractors.facts.phrases import phrases
from schemas.fact import AmountFact

_ROLES = {
    "previous": phrases(
        r"previous (?:balance|amount|total)|(?:last|old) (?:balance|bill|invoice)|last (?:month|year)",
        r"saldo ?vortrag|vorherig\w* \w+|alter (?:betrag|preis)|bisher\w*|vormonat",
        r"solde (?:précédent|antérieur)|ancien \w+|saldo anterior|anterior(?:es)?",
        # what is saved, a limit or a minimum is not to be paid either
        r"(?:you |we )?(?:save|saved)|savings?(?! account)|(?:credit |spending |daily |overdraft )?limit",
        r"minimum (?:order|spend|balance)(?: value)?|sie sparen|sparen sie|gespart|ersparnis|\w*limit",
        r"(?:verfügungs|kredit)rahmen|mindest(?:bestellwert|umsatz|einlage)|économi(?:e|es|sez|sé)|plafond",
        r"ahorr(?:a|o|as|ado)|límite|pedido mínimo|minimum de commande",
    ),
    "refund": phrases(
        r"refund(?:ed)?|credit(?:ed)?(?: note)?|cash ?back|reimburse\w*",
        r"erstatt\w*|rückerstattung|gutschrift|gutgeschrieben|rembours\w*|avoir|reembols\w*|devolución|abono",
    ),
    "fee": phrases(
        r"(?:late |reminder |overdue |dunning )?fees?|surcharge|penalty|interest",
        r"mahngebühr\w*|säumniszuschlag|gebühr\w*|verzugszinsen|frais|pénalités?|majoration|recargo|comisión|gastos",
    ),
    "part": phrases(
        r"net(?:to)?(?: amount)?|subtotal|sub-total|vat|tax|deposit|discount|shipping",
        r"mwst|ust|umsatzsteuer|mehrwertsteuer|zwischensumme|versand(?:kosten)?|kaution|anzahlung|rabatt",
        r"tva|ht|sous-total|acompte|caution|iva|base imponible|depósito",
    ),
    "total": phrases(
        r"(?:grand |invoice |order )?total(?: amount)?(?: due| payable| to pay)?",
        r"amount (?:due|payable|owed|outstanding)",
        r"balance due|(?:please )?pay|to pay|payment of|(?:an?|the) (?:amount|sum) of|invoice amount|outstanding",
        r"gesamt(?:betrag|summe|preis)?|rechnungs(?:betrag|summe)|end(?:betrag|summe)|zahlbetrag|forderung|summe",
        r"zu (?:zahlen(?:der betrag)?|überweisen)|offener? (?:betrag|posten)|betrag(?: von| in höhe von)?",
        r"überweisen sie",
        r"montant(?: total)?(?: (?:à payer|dû|ttc|de))?|total ttc|net à payer|à (?:payer|régler)|somme de|facture de",
        r"importe(?: total)?(?: de| a pagar)?|total a pagar|a pagar|cantidad de|suma de|factura de",
        r"amounts to|comes to|beträgt|beläuft sich auf|s['’]élève à|asciende a",
        r"(?:invoice|bill) (?:of|for|over)|we (?:charge|bill)|rechnung über|(?:berechnen|fakturieren) wir",
        r"facturons|facturamos",
    ),
    "due": phrases(r"due|owed?|fällig|schulden|exigible|dû|vence|debido"),
    "price": phrases(
        r"price|costs?|per (?:month|year|person|night)|monthly|annual(?:ly)?",
        r"preis|kostet|kosten|pro (?:monat|jahr|person|nacht)|monatlich\w*|jährlich\w*",
        r"prix|coûte|par (?:mois|an|personne|nuit)|mensuel\w*|precio|cuesta|al mes|al año|mensual",
    ),
}


_ASIDE = re.compile(
    r"(?<!\w)(?:from|starting (?:at|from)|up to|instead of|rrp|ab|bis zu|statt|anstatt|uvp|"
    r"à partir de|dès|jusqu['’]à|au lieu de|desde|hasta|en lugar de|en vez de)\s?:?\s?$",
    re.IGNORECASE,
)
"""Right before an amount: where it begins, how far it may go, or what it was before."""


def find(passage: Passage) -> Iterator[AmountFact]:
    """In the order of the text. Offers and earlier balances are left out: nobody has to pay them."""
    for clause in passage.clauses:
        amounts = inside(clause, passage.amounts)
        if amounts and guards.PROMOTION.search(clause.text) is None:
            owed = (each for each in amounts if each.money.amount > 0 and not _is_aside(clause, each))
            found = (_fact(passage, clause, amount) for amount in owed)
            yield from (fact for fact in found if fact.role != "previous")


def _is_aside(clause: Clause, amount: AmountMention) -> bool:
    at = amount.start - clause.start
    return _ASIDE.search(clause.text[max(0, at - 20) : at]) is not None


def _fact(passage: Passage, clause: Clause, amount: AmountMention) -> AmountFact:
    role = _role(clause, amount)
    return AmountFact(
        origin="text",
        certainty=0.7 if role == "mention" else 0.9,
        span=passage.span(amount.start, amount.end, clause),
        amount=amount.money,
        role=role,
    )


def _role(clause: Clause, amount: AmountMention) -> str:
    """The role word that ends nearest before the amount; without one, the first that begins behind it."""
    at, end = amount.start - clause.start, amount.end - clause.start
    words = clause.text[max(0, at - REACH) : at]
    before = [(m.end(), role) for role, pattern in _ROLES.items() for m in pattern.finditer(words)]
    if before:
        return max(before, key=lambda found: found[0])[1]
    behind = [
        (m.start(), role) for role, pattern in _ROLES.items() for m in pattern.finditer(clause.text[end : end + 60])
    ]
    return min(behind, key=lambda found: found[0])[1] if behind else "mention"
