"""Refunds: money that the sender says will come back, or is on its way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from extractors.facts import guards, numbers
from extractors.facts.anchor import inside, nearest
from extractors.facts.passage import Passage
from extractors.facts.phrases import phrases
from schemas.fact import RefundFact

_PROMISE = phrases(
    r"(?:will|shall|we['’]ll|going to)(?: [\w’'-]+){0,4} (?:refund(?:ed)?|reimburse[d]?|pa(?:y|id) back|repa(?:y|id))",
    r"(?:have|has|was|were|been|are|is being)(?: [\w’'-]+){0,4} (?:refunded|reimbursed|refunding|reimbursing)",
    r"(?:your |a |the |this )?(?:refund|reimbursement)\b(?=.{0,90}\b(?:issued|initiated|processed|approved|on its way|"
    r"sent|transferred|appear|arrive|reach|credited|paid|within))",
    r"(?:issued|initiated|processed|approved|arranged|are sending|send)(?: [\w’'-]+){0,3} (?:refund|reimbursement)",
    r"refund (?:total|amount)|amount (?:refunded|to be refunded)",
    r"(?:wir|wird|werden|haben|hat|wurden?)(?: [\w.,€-]+){0,12}? (?:zurück)?erstatte[nt]",
    r"erstatten wir|zurück(?:zahlen|überweisen|gezahlt|überwiesen)|(?:zahlen|überweisen)(?: [\w.,€-]+){1,8} zurück",
    r"(?:ihre |die |eine |der )?(?:rück)?erstattung\b(?=.{0,90}\b(?:veranlasst|angewiesen|überw\w+|freigegeben|"
    r"unterwegs|erhalten|erfolgt|geht|gutgeschrieben))",
    r"erstattungsbetrag|erstattet wird",
    r"(?:vous )?(?:rembourserons|remboursons)|(?:sera|seront|a été|avons|allons|est)(?: \w+){0,3} rembours(?:er|ée?s?)",
    r"remboursement\b(?=.{0,90}\b(?:effectué|validé|en cours|versé|parviendra|crédité|émis|lancé|sous))",
    r"(?:effectué|validé|lancé|émis|ordonné)(?: \w+){0,2} remboursement|montant (?:du remboursement|remboursé)",
    r"(?:le |les |te )?(?:reembolsaremos|devolveremos|reembolsamos|devolvemos)",
    r"(?:será|serán|ha sido|hemos|vamos a)(?: \w+){0,3} (?:reembols(?:ad[oa]s?|ar)|devolver|devuelt[oa]s?)",
    r"(?:reembolso|devolución)\b(?=.{0,90}\b(?:emitid\w|tramitad\w|aprobad\w|en camino|abonad\w|llegará|"
    r"recibirá|enviad\w))",
    r"(?:emitido|tramitado|aprobado|enviado|ordenado)(?: \w+){0,2} (?:reembolso|devolución)",
    r"importe (?:del reembolso|a devolver|reembolsado)",
)
_OTHERWISE = phrases(
    r"not|cannot|can['’]t|unable|no refund|voucher|store credit|gift card|(?:re)?view\w* your",
    r"request(?:ed)? (?:is|was)|may|might|up to|policy|as credit|offset",
    r"future (?:bills?|orders?|purchases?)|next (?:bill|invoice)",
    r"nicht|kein\w*|gutschein\w*|guthaben|prüfen|geprüft|bis zu|verrechne\w*|nächsten rechnung|kann|können",
    r"pas|aucun|bon d['’]achat|avoir valable|examin\w+|jusqu['’]à|prochaine facture|peut|pouvez|déduit",
    r"no (?:podemos|es posible|procede)|vale|cheque regalo|revis\w+|hasta|próxima factura|puede|descontar\w*",
)
"""It is refused, only thought about, or comes back as something else than money on an account."""


def find(passages: Sequence[Passage]) -> Iterator[RefundFact]:
    """The first amount that is promised, in a clause that promises without an if."""
    for passage in passages:
        for clause in passage.clauses:
            match = _PROMISE.search(clause.text)
            if match is None or _OTHERWISE.search(clause.text) or guards.PROMOTION.search(clause.text):
                continue
            if clause.text.endswith("?") or guards.CONDITION.search(clause.text[: match.start()]):
                continue
            amounts = inside(clause, passage.amounts)
            amount = nearest(clause, match, amounts) or next(iter(amounts), None)  # the promise may be around it
            if amount is not None and amount.money.amount > 0:
                span = passage.span(amount.start, amount.end, clause)
                yield RefundFact(
                    origin="text", certainty=0.85, span=span, amount=amount.money, number=_number(passages)
                )
                return


def _number(passages: Sequence[Passage]) -> str | None:
    return next((found.number[:80] for passage in passages for found in numbers.bookings(passage)), None)
