"""What a duty asks for: pay, answer, return, sign, ... by the verbs and nouns of its clause."""

from __future__ import annotations

from extractors.facts.phrases import stems

_DUTIES = (
    (
        "debit",
        stems(
            r"(?:will be|is|be) (?:automatically )?(?:debited|charged|collected|withdrawn)|direct debit|autopay",
            r"(?:ziehen|buchen) wir|abgebucht|eingezogen|lastschrift|sepa-mandat",
            r"sera (?:prélevée?|débitée?)|prélèvement|se (?:cargará|cobrará)|domicilia",
        ),
    ),
    (
        "cancel",
        stems(r"cancel|terminat|(?:give )?notice|künd(?:ig|bar)|résili|préavis|preaviso|darse de baja|dar de baja"),
    ),
    (
        "return",
        stems(
            r"return|give back|bring back|due back|back by|retourn|renvoy|rendre|devol",
            r"rückgabe|zurück(?:zu)?(?:geb|send|schick)|leihfrist",
        ),
    ),
    ("sign", stems(r"sign(?:ed|ature)?\b|unterschr|unterzeichn|signer|signez|firm(?:ar|e|a)\b")),
    ("renew", stems(r"renew|verlänger|erneuer|renouvel|renov")),
    (
        "answer",
        stems(
            r"repl(?:y|ies)|respond|response|rsvp|answer|let (?:me|us) know|confirm|feedback",
            r"antwort|rückmeld|bescheid|zusag|bestätig|répon|respuesta|avís",
        ),
    ),
    (
        "submit",
        stems(
            r"submit|submission|apply|application|enrol|register|registration|hand in|file|tax return|upload",
            r"einreich|einzureich|abgabe|abzugeben|anmeld|anzumeld|bewerb|einsend|vorleg|vorzuleg",
            r"inscri|dépos|candidature|present(?:ar|e)|solicit|entreg",
        ),
    ),
    ("collect", stems(r"collect|pick(?:ed)? up|pickup|abhol|abzuholen|retirer|récupérer|recog")),
    ("book", stems(r"book\b|reserve\b|buch(?:en|e)\b|reserv")),
    (
        "pay",
        stems(
            r"pay|paid|invoice|bill\b|balance|fee|rent\b|premium|instal|amount|total|settle|transfer|remit|owe|[€$£]",
            r"zahl|überweis|rechnung|betrag|begleich|gebühr|miete|beitrag|fällig|entricht|\beur\b|\bchf\b",
            r"regl|régl|factur|montant|loyer|échéance|cotis|virement",
            r"pag(?:o|ar|ue|adero)|abon|importe|cuota|recibo|alquiler|vence",
        ),
    ),
)
"""In order: a clause that speaks of cancelling and of money asks to cancel."""


def duty(text: str) -> str:
    """``act`` where the words name none."""
    return next((name for name, pattern in _DUTIES if pattern.search(text)), "act")
