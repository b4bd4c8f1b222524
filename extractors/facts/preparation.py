"""Preparation: what somebody is asked to read, bring, send or prepare before a meeting."""

from __future__ import annotations

from collections.abc import Iterator

from extractors.facts.clause import Clause
from extractors.facts.passage import Passage
from extractors.facts.phrases import Phrases, phrases
from schemas.fact import PreparationFact

_ASKED = phrases(
    r"please|kindly|you (?:should|need to|are asked to|must)|everybody (?:should|is asked to)|make sure|remember to",
    r"bitte|sie sollten|wir bitten|denken sie (?:bitte )?daran|denk(?:t)? (?:bitte )?an",
    r"merci de|veuillez|pensez à|prière de|n['’]oubliez pas|por favor|le rogamos|recuerde|no olvide|les pedimos",
)
_WHAT: dict[str, Phrases] = {
    "read": phrases(
        r"read|review|study|look (?:through|at|over)|go through|familiari[sz]e",
        r"lesen|durchlesen|lest|durchsehen|ansehen|anschauen|durchgehen|durcharbeiten",
        r"lire|relire|parcourir|consulter|prendre connaissance|lisez|consultez|leer|lea|lean|revisar?|revise|"
        r"consultar?|consulte",
    ),
    "bring": phrases(
        r"bring|take along|have ready|mitbringen|bringen|bringt|dabei ?haben|bereithalten",
        r"apporter|apportez|munir|munissez|traer|traiga|traigan|llevar|lleve|lleven",
    ),
    "send": phrases(
        r"send (?:me|us)|submit|hand in|(?:schicken|senden) sie|einreichen|zusenden|zuschicken",
        r"envoyer|envoyez|transmettre|faire parvenir|enviar|envíe|envíen|mandar|mande",
    ),
    "prepare": phrases(
        r"prepare|fill (?:in|out)|complete|think about|draft|vorbereiten|bereiten sie|ausfüllen|füllen sie|"
        r"überlegen|erstellen",
        r"préparer|préparez|remplir|remplissez|réfléchir|preparar|prepare|preparen|rellenar|rellene|piense",
    ),
}
_BEFORE = phrases(
    r"before(?:hand)?|in advance|ahead of|prior to|by then|to the (?:meeting|appointment)|with you|for the "
    r"(?:meeting|talk)",
    r"vorher|vorab|im voraus|bis dahin|vor (?:dem|der|unserem) (?:termin|treffen|gespräch|besprechung|sitzung)|"
    r"mit|zum (?:termin|gespräch)",
    r"avant|au préalable|à l['’]avance|d['’]ici là|au rendez-vous|à la réunion|pour la réunion",
    r"antes|con antelación|previamente|a la (?:reunión|cita)|para la (?:reunión|cita)|consigo",
)
"""It is wanted by the time of the meeting."""


def find(passage: Passage) -> Iterator[PreparationFact]:
    """At most one, the first. Mail to many asks nobody."""
    if passage.context.bulk:
        return
    for clause in passage.clauses:
        what = _what(clause)
        if what is not None:
            span = passage.span(clause.start, clause.end, clause)
            yield PreparationFact.model_validate({"origin": "text", "certainty": 0.85, "span": span, "what": what})
            return


def _what(clause: Clause) -> str | None:
    """Bringing is for the meeting by itself; the rest must be wanted beforehand."""
    if clause.text.endswith("?") or not _ASKED.search(clause.text):
        return None
    found = next((what for what, pattern in _WHAT.items() if pattern.search(clause.text)), None)
    return found if found == "bring" or (found and _BEFORE.search(clause.text)) else None
