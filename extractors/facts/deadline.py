"""Deadlines: dates that a trigger word in the same clause makes binding. Every other date is a mention."""

from __future__ import annotations

import re
from collections.abc import Iterator

from extractors.facts import guards, perishables
from extractors.facts.anchor import inside, nearest
from extractors.facts.clause import Clause
from extractors.facts.dates import DateMention
from extractors.facts.duties import duty
from extractors.facts.passage import Passage
from extractors.facts.phrases import Phrases, phrases
from schemas.fact import DueFact

_ADJACENT = 16
"""Characters between a trigger and a weak date ("15/03") that it may still bind."""

_TRIGGER = phrases(
    r"due (?:date|by|on|in|before|back|for|until|within)|overdue|due|deadlines?|cut-?off(?: date)?|closing date|rsvp",
    r"last (?:day|date) (?:to|for)",
    r"(?:reply|respond|return(?: it| them)?) by|(?:it )?(?:has to|must) reach us",
    r"\w*frist(?:ende|ablauf)?|abgabetermin|stichtag|(?:anmelde|einsende|melde|bewerbungs|annahme)schluss",
    r"kündbar(?: bis)?",
    r"letzter tag|date (?:limite|butoir)|délai(?: de réponse)?|préavis|dernier (?:jour|délai)",
    r"à (?:retourner|renvoyer|rendre|nous faire parvenir) (?:avant|d['’]ici|au plus tard|pour|sous|jusqu)",
    r"fecha (?:límite|tope)|plazo(?: de (?:entrega|respuesta|preaviso))?|último día",
)
_LATEST = phrases(
    r"(?:no|not) later than|at the latest|latest by|on or before",
    r"(?:bis )?(?:allerspätestens|spätestens)(?: bis| am| zum)?|avant le|au plus tard|a más tardar|como máximo",
    r"antes del?",
)
"""A last day, if it is the reader's: "we will answer no later than Friday" is the sender's."""

_PAYABLE = phrases(
    r"(?:payment|amount|balance|total|rent|fee) (?:is |was |falls |now )?due|payment due",
    r"payable(?: by| until| on| within)?",
    r"pay(?:ment)? by|payment deadline|fällig(?:keit(?:sdatum|stag)?)?|zahlbar(?: bis| binnen| innerhalb)?",
    r"zahlungs(?:frist|ziel|termin)|échéance|date d['’]échéance|exigible|payable|délai de paiement",
    r"à (?:régler|payer) (?:avant|d['’]ici|au plus tard|pour|sous|jusqu)",
    r"vence(?:n|rá)?|vencimiento|fecha de (?:vencimiento|pago)|plazo de pago|pagader[oa]|deberá abonarse",
)
_COLLECTED = phrases(
    r"collected on|debited (?:on|from)|charged on|direct debit on|by direct debit|abbuchung am|abgebucht|eingezogen",
    r"prélevée?|date du prélèvement|débitée?|fecha (?:del|de) (?:cargo|cobro)|se (?:cargará|cobrará)|cargo",
)
"""Money that goes by itself on a day."""

_LIMIT = re.compile(
    r"(?<!\w)(?:by|before|until|till|up to|no later than|bis(?: spätestens)?(?: zum| am)?|vor(?: dem)?|"
    r"d['’]ici(?: au| le)?|avant(?: le)?|jusqu['’](?:au|à)|pour le|antes del?|hasta el?|para el) "
    r"(?:the |end of |den |einschließlich |close of business |COB |EOD |midnight |noon |Ende |"
    r"next |this |coming |nächsten |kommenden )?"
    r"(?:\d{1,2}(?:[:.]\d\d)? ?(?:[ap]\.?m\.?|o['’]clock|Uhr|h|heures|horas),? )?(?:on |am |le |el |den )?$",
    re.IGNORECASE,
)
"""Stands right before a date that is a last day."""

_ASKED = phrases(
    r"we ask|sie haben|du hast|wir bitten|um (?:begleichung|überweisung|rückgabe)|vous avez|vous prions",
    r"le rogamos|de plazo",
    r"please|pls|kindly|must|need(?:s|ed)? to|ha(?:ve|s) to|required?|requested|should|make sure|don['’]t forget",
    r"you have",
    r"remember to|remind(?:er|ing)?|(?:asked|expected) to|(?:could|can|would|will) you|let (?:me|us) know|hand in",
    r"pick up",
    r"pay|settle|transfer|submit|reply|respond|answer|confirm|return|send|sign|register|renew|book|rsvp|complete",
    r"collect",
    r"cancel|apply|file|upload",
    r"bitte|müssen|muss|musst|soll(?:ten?|test)?|(?:könn(?:t|t?en)|kannst|könntest|würden) (?:sie|du)|benötigen",
    r"brauchen",
    r"erforderlich|(?:zu |zurückzu|einzu|abzu|anzu)\w+en|überweisen?|zahlen?|begleichen|einreichen|antworten",
    r"bestätigen",
    r"(?:zurück|ein)(?:senden|zusenden|geben|schicken|zahlen)|unterschreiben|unterschrieben|anmelden|abholen",
    r"kündigen",
    r"verlängern|melden|gib bescheid|vorlegen",
    r"merci de|veuillez|prière de|devez|doit|dois|faut|régler|payer|retourner|renvoyer|répondre|confirmer|signer",
    r"inscrire",
    r"renouveler|pouvez-vous|pourriez-vous|peux-tu|pourrais-tu",
    r"por favor|debe|debes|tienen? que|tienes que|hay que|rogamos|pagar|abonar|devolver|responder|confirmar",
    r"firmar|enviar",
    r"renovar|recoger|puedes?|podrías?",
)
"""The clause asks for something."""


def find(passage: Passage) -> Iterator[DueFact]:
    """In the order of the text; at most one for each date. An offer binds nobody, nor does anything in its mail."""
    if passage.context.bulk and guards.PROMOTION.search(passage.text):
        return
    for clause in passage.clauses:
        dates = inside(clause, passage.dates)
        if not dates or guards.PROMOTION.search(clause.text) or guards.OVER.search(clause.text):
            continue
        for date in dates:
            if (what := _what(passage, clause, date, dates)) is not None:
                yield DueFact(
                    origin="text",
                    certainty=round(date.certainty * 0.95, 3),
                    span=passage.span(date.start, date.end, clause),
                    on=date.day,
                    what=what,
                )


def _what(passage: Passage, clause: Clause, date: DateMention, dates: list[DateMention]) -> str | None:
    """What must be done by this date; None where nothing binds."""
    found = duty(clause.text)
    if _triggers(_COLLECTED, clause, date, dates):
        return "debit"
    if _triggers(_PAYABLE, clause, date, dates) and not _runs_out(clause):
        return found if found in ("debit", "return") else "pay"
    if _triggers(_TRIGGER, clause, date, dates) or _is_last_day(passage, clause, date, dates):
        return found
    return None


def _is_last_day(passage: Passage, clause: Clause, date: DateMention, dates: list[DateMention]) -> bool:
    """ "Please reply by Friday", but not "we will deliver by Friday"; a bare "by" needs somebody who is asked."""
    is_asked = _ASKED.search(clause.text) is not None
    is_theirs = guards.NOT_OURS.search(clause.text) is not None
    if _triggers(_LATEST, clause, date, dates):
        return is_asked or not is_theirs
    before = clause.text[: date.start - clause.start]
    is_limit = date.limit or _LIMIT.search(before[-50:]) is not None
    return is_limit and is_asked and not is_theirs and not passage.context.bulk


def _runs_out(clause: Clause) -> bool:
    """ "Su prueba vence el ..." ends; "la factura vence el ..." is to be paid."""
    named = perishables.named(clause.text)
    return named is not None and duty(clause.text.replace("vence", "")) != "pay"


def _triggers(pattern: Phrases, clause: Clause, date: DateMention, dates: list[DateMention]) -> bool:
    for trigger in pattern.finditer(clause.text):
        if nearest(clause, trigger, dates) != date:
            continue
        gap = date.start - clause.start - trigger.end()
        if not date.weak or -_ADJACENT <= gap <= _ADJACENT:
            return True
    return False
