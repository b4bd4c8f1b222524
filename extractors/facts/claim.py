"""Claims and complaints: made by whoever writes, or confirmed as received."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from extractors.facts import guards
from extractors.facts.passage import Passage
from extractors.facts.phrases import phrases
from extractors.facts.promise import case_number
from schemas.fact import ClaimFact

_CLAIM = (
    r"(?:claims?|complaints?|damage reports?|objections?|warranty claims?|\w*reklamation\w*|beschwerde|widerspruch"
    r"|schaden(?:s?meldung|s?fall|s?anzeige)?|mängelrüge|réclamation|déclaration de sinistre|sinistre|contestation"
    r"|reclamación|queja|parte(?: de siniestro)?|siniestro)"
)
_RECEIVED = phrases(
    rf"(?:received|registered|recorded|opened|logged|thank you for|thanks for)(?: [\w.#-]+){{0,5}} {_CLAIM}",
    rf"{_CLAIM}(?: [\w.#-]+){{0,5}} (?:has|have|was|is)(?: \w+){{0,2}} (?:received|registered|recorded|opened|"
    rf"being (?:reviewed|checked|processed))",
    rf"{_CLAIM}(?: [\w.#-]+){{0,7}} (?:erhalten|eingegangen|aufgenommen|registriert|angelegt|in bearbeitung)",
    rf"(?:danke|dank) für ihre {_CLAIM}|(?:erhalten|eingang)(?: [\w.#-]+){{0,4}} {_CLAIM}",
    rf"(?:reçu|enregistré|ouvert|merci (?:pour|de))(?: [\w.#°-]+){{0,4}} {_CLAIM}",
    rf"{_CLAIM}(?: [\w.#°-]+){{0,5}} (?:a|est)(?: bien)?(?: été)? (?:reçue?|enregistrée?|ouverte?|en cours)",
    rf"(?:recibido|registrado|abierto|gracias por)(?: [\w.#º-]+){{0,4}} {_CLAIM}",
    rf"{_CLAIM}(?: [\w.#º-]+){{0,5}} (?:ha sido|está|se ha|queda)(?: \w+)? (?:recibid[oa]|registrad[oa]|"
    rf"abiert[oa]|tramitando|recibido|registrado)",
)
_MADE = phrases(
    rf"(?:i|we) (?:hereby |would like to |wish to |want to )?(?:(?:file|make|submit|lodge|raise) (?:a|an|this) "
    rf"{_CLAIM}|complain|object to|dispute)",
    r"hiermit (?:reklamier\w+|beschwer\w+|widersprech\w+|meld\w+ (?:ich|wir)(?: \w+){0,3} schaden)|ich "
    r"(?:reklamiere|widerspreche)",
    rf"(?:lege|legen)(?: ich| wir)?(?: hiermit)? (?:beschwerde|widerspruch)|(?:je|nous) (?:conteste|contestons|"
    rf"souhaite\w* (?:faire|déposer|déclarer) une? {_CLAIM})",
    rf"(?:presento|presentamos|quiero presentar|deseo presentar)(?: por la presente)? una {_CLAIM}|(?:impugno|"
    rf"reclamo)",
)


def find(passages: Sequence[Passage]) -> Iterator[ClaimFact]:
    """At most one. What is only possible ("if you have a complaint") is none."""
    if not passages or passages[0].context.bulk:
        return
    for passage in passages:
        for clause in passage.clauses:
            match = _RECEIVED.search(clause.text) or _MADE.search(clause.text)
            if match and not clause.text.endswith("?") and not guards.CONDITION.search(clause.text[: match.end()]):
                span = passage.span(clause.start, clause.end, clause)
                yield ClaimFact(origin="text", certainty=0.85, span=span, number=case_number(passages))
                return
