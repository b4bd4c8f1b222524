"""Resolutions: the sender says that something is over (paid, cancelled, delivered, extended, resolved)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from extractors.facts import guards, numbers
from extractors.facts.clause import Clause
from extractors.facts.passage import Passage
from extractors.facts.phrases import Phrases, phrases
from schemas.fact import ResolutionFact


def _done(english: str, german: str, french: str, spanish: str, *more: str) -> Phrases:
    """The perfect of these participles in four languages, and more phrases that say the same."""
    return phrases(
        rf"(?:has|have|was|were|is|are|been|we|i|now)(?: [\w’'-]+){{0,4}} (?:{english})",
        rf"(?:wurden?|ist|sind|haben?|hat|worden)(?: [\w./-]+){{0,9}} (?:{german})",
        rf"(?:été|est|sont|avons|avez|ai|désormais|bien)(?: [\w’'-]+){{0,4}} (?:{french})",
        rf"(?:sido|ha|han|está|están|queda|quedan|hemos|he|fue|fueron)(?: [\w’'-]+){{0,4}} (?:{spanish})",
        *more,
    )


_DONE = {
    "paid": _done(
        r"paid(?: in full)?|settled",
        r"bezahlt|beglichen|ausgeglichen|gezahlt",
        r"payée?s?|réglée?s?|acquittée?s?",
        r"pagad[oa]s?|abonad[oa]s?|liquidad[oa]s?",
        r"(?:we (?:have )?received|thank you for|thanks for|confirm(?:ing|s)?(?: the)? receipt of) (?:your|"
        r"the) payment",
        r"payment (?:was |has been )?(?:received|successful|confirmed)|status: paid|(?:invoice|bill) \S+ \(paid\)",
        r"(?:zahlung|betrag|überweisung) (?:\w+ ){0,3}(?:erhalten|eingegangen|verbucht)|zahlungseingang",
        r"zahlungsbestätigung",
        r"(?:danke|vielen dank) für ihre (?:zahlung|überweisung)",
        r"bestätigen (?:\w+ ){0,2}den eingang(?! ihre[sr] (?:\w*antrag|formular|unterlagen))",
        r"(?:reçu|merci (?:pour|de)|remercions (?:pour|de)) votre (?:paiement|règlement|virement)",
        r"paiement (?:reçu|accepté)",
        r"votre paiement nous est parvenu|confirmons la réception de",
        r"(?:hemos recibido|gracias por|agradecemos) (?:su|tu|el) pago|pago (?:recibido|confirmado|realizado)",
    ),
    "cancelled": _done(
        r"cancel+ed|called off|voided|withdrawn",
        r"storniert|abgesagt|gekündigt|annulliert|aufgehoben|beendet",
        r"annulée?s?|résiliée?s?",
        r"cancelad[oa]s?|anulad[oa]s?|dad[oa] de baja",
        r"(?:had|have|forced) to cancel|mussten(?: [\w./,-]+){0,12} (?:absagen|stornieren|annullieren)",
        r"dû(?: \w+){0,2} annuler|tenido que (?:anular|cancelar)|absage (?:der|des|ihrer)",
        r"cancel+ed:|(?:cancel+ation|your cancel+ation) (?:is )?confirm\w+",
        r"confirm\w*(?: \w+){0,2} (?:your |the )?cancel+ation",
        r"cancel+ation of (?:your |the )?(?:\w+ )?(?:booking|reservation|order|contract|appointment|invoice|"
        r"subscription|\w*\d)",
        r"received your cancel+ation|cancel+ation has been received|no longer takes? place",
        r"storno(?:rechnung|bestätigung)?|stornierung (?:ihrer|der|des)|abgesagt:|fällt (?:leider )?aus|entfällt",
        r"kündigungsbestätigung|kündigung (?:\w+ ){0,3}(?:bestätigt|eingegangen|erhalten)",
        r"(?:bestätigen|bestätigung)(?: \w+){0,2} (?:ihrer |ihre |die |der )?(?:kündigung|stornierung|absage)",
        r"annulation (?:de|du|confirmée)|confirm\w+(?: \w+){0,2} (?:résiliation|annulation)|résiliation est \w+",
        r"annulé :",
        r"cancelación (?:de la|de su|del|confirmada)|confirma\w+(?: \w+){0,2} (?:baja|cancelación|anulación)",
        r"recibido su (?:cancelación|baja)|cancelad[oa]:",
    ),
    "delivered": _done(
        r"delivered",
        r"zugestellt|geliefert|übergeben",
        r"livrée?s?",
        r"entregad[oa]s?",
        r"delivered:|delivery (?:complete|confirmation)|zugestellt:|zustellbestätigung|livré :|entregad[oa]:",
    ),
    "extended": phrases(
        r"(?:(?:has|have)(?: now| just)? been|was|were|we(?: have|"
        r"['’]ve)(?: now)?) (?:successfully )?(?:extended|renewed)",
        r"extended (?:until|to)|successfully renewed|renewal of .{2,60} (?:completed|confirmed)",
        r"(?:wurden?|haben|hat)(?: [\w./-]+){0,9} (?:verlängert|erneuert)|verlängert bis",
        r"verlängerung .{2,60} abgeschlossen",
        r"(?:a été|ont été|avons)(?: \w+){0,4} (?:prolongée?|renouvelée?)s?",
        r"renouvellement (?:\w+ )?(?:effectué|terminé)",
        r"l['’]objet d['’]un renouvellement|prolongé jusqu",
        r"(?:ha sido|se ha|hemos|han sido)(?: \w+){0,4} (?:prorrogad|renovad|ampliad)[oa]s?|hemos renovado",
        r"renovación .{2,60} (?:completada|terminada)",
    ),
    "received": phrases(
        r"(?:we(?:['’]ve| have)(?: now| just)? received|thank you for|thanks for|"
        r"confirm(?:ing|s)?(?: the)? receipt of) (?:everything|"
        r"your (?:\w+ )?(?:documents?|papers|application|form|reply|answer|signature|request))",
        r"your (?:\w+ )?(?:documents?|papers|application|form|request) (?:has |have |was |were )(?:been )?"
        r"(?:received|complete)|your (?:\w+ )?(?:documents|papers|application|form) (?:is|are)(?: now)? complete",
        r"alles (?:\w+ ){0,3}(?:erhalten|bekommen|da)",
        r"(?:unterlagen|\w*antrag|formular)(?: [\w./-]+){0,5} (?:erhalten|eingegangen|vollständig)",
        r"(?:eingang|erhalt) (?:ihres \w*(?:antrag|formular)\w*|ihrer unterlagen)",
        r"avons (?:bien )?reçu (?:tout|vos|votre (?:dossier|réponse|demande))",
        r"votre (?:dossier|demande)(?: \w+){0,3} (?:reçue?|complète?)",
        r"hemos recibido (?:todo|sus|su (?:solicitud|respuesta|documentación))",
        r"su (?:solicitud|documentación|expediente)(?: \w+){0,4} (?:recibid[oa]|complet[oa])",
    ),
    "resolved": _done(
        r"resolved|closed|completed|complete|fixed|returned",
        r"gelöst|erledigt|abgeschlossen|behoben|zurückgegeben|vollständig",
        r"résolue?s?|clos|close|clôturée?s?|complètes?|terminée?s?",
        r"resuelt[oa]s?|cerrad[oa]s?|solucionad[oa]s?|devuelt[oa]s?|complet[oa]s",
        r"(?:case|ticket) closed|problem solved|no (?:further )?action (?:is )?(?:required|needed)",
        r"(?:there is )?nothing left to do",
        r"nichts (?:weiter|mehr) zu tun",
        r"n['’](?:avez|y a) plus rien à faire",
        r"no tiene que hacer nada más|tenemos todo lo necesario",
    ),
}
"""In order: the first that a clause says is its outcome. ``received``: what the person handed in has arrived, which
ends what they had to do, and says nothing of what the other side will decide."""

_OPEN = phrases(
    r"not|unpaid|has(?:n['’]t)|haven['’]t|cannot|can['’]t|(?:can|may|might|will|would|to|must|should) be|without",
    r"no payment",
    r"free cancel+ation|until .{0,40}(?:has|have) been|by direct debit|unless|please",
    r"nicht|noch offen|kein\w*|(?:kann|können|könnten|werden|wird|muss|müssen|soll)(?: [\w.-]+){0,8} werden",
    r"unbezahlt|ohne",
    r"kostenlos|sofern|bitte|dem (?:paketdienst|versanddienst\w*|versender|zusteller|spediteur)",
    r"n['’](?:a|est|avons|ont)\b|pas|impayée?|sera|seront|(?:peut|doit|doivent|peuvent) être|sans|sauf|gratuite?",
    r"veuillez",
    r"no (?:ha|se ha|hemos|está|fue|se ha)|todavía|aún|será|serán|(?:puede|debe|deben) ser|impagad[oa]|sin|salvo",
    r"por favor",
)
"""Not done, not yet, or only asked for."""


def find(passages: Sequence[Passage]) -> Iterator[ResolutionFact]:
    """Each outcome at most once, in the order of the text, with the number that the text has."""
    number = _number(passages)
    seen: set[str] = set()
    for passage in passages:
        for clause in passage.clauses:
            outcome = _outcome(clause)
            if outcome is None or outcome in seen:
                continue
            seen.add(outcome)
            span = passage.span(clause.start, clause.end, clause)
            yield ResolutionFact.model_validate(
                {"origin": "text", "certainty": 0.85, "span": span, "outcome": outcome, "number": number}
            )


def _outcome(clause: Clause) -> str | None:
    for outcome, pattern in _DONE.items():
        match = pattern.search(clause.text)
        if match and not guards.CONDITION.search(clause.text[: match.start()]) and not _is_open(clause, match):
            return outcome
    return None


def _is_open(clause: Clause, match: re.Match[str]) -> bool:
    """A "not" before or inside the words takes them back; one that follows them speaks of something else."""
    return clause.text.endswith("?") or _OPEN.search(clause.text[: match.end()]) is not None


def _number(passages: Sequence[Passage]) -> str | None:
    finders = (numbers.invoices, numbers.bookings)
    return next((found.number[:80] for find in finders for passage in passages for found in find(passage)), None)
