"""Bookings in words: what is reserved, its code, when it begins, and whether it still stands."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from extractors.facts import clock_time, numbers
from extractors.facts.anchor import inside
from extractors.facts.passage import Passage
from extractors.facts.phrases import phrases
from schemas.clock import at_local, start_of_day
from schemas.fact import ReservationFact, ResolutionFact

_KINDS = {
    "flight": phrases(r"flights?|flying|boarding pass|\w*flug|flüge|fliegen|vols?|vuelos?|volar"),
    "train": phrases(r"trains?|rail|zug(?:fahrt|verbindung)?|ice|bahn(?:fahrt|ticket)?|tgv|trenes|tren"),
    "bus": phrases(r"bus|coach|fernbus|autocar|autobús"),
    "hotel": phrases(
        r"hotel|room|check-in|stay|nights?|apartment|zimmer|unterkunft|übernachtung(?:en)?|ferienwohnung|anreise",
        r"chambre|séjour|nuits?|hébergement|habitación|estancia|noches?|alojamiento",
    ),
    "restaurant": phrases(r"restaurant|(?:your )?table(?: for)?|tisch(?:reservierung)?|votre table|mesa"),
    "car": phrases(
        r"rental car|car (?:rental|hire)|pick-?up location|mietwagen|location de voiture|"
        "coche de alquiler"
    ),
    "event": phrases(
        r"tickets?|concert|show|theatre|theater|event|appointment|eintrittskarten?|konzert|veranstaltung|termin|kurs",
        r"billets?|spectacle|rendez-vous|entradas?|concierto|espectáculo|cita",
    ),
}
_BOOKED = phrases(
    r"booking|reservation|reserved|booked|itinerary|e-?ticket|appointment|order",
    r"\w*buchung\w*|gebucht|reservierung\w*|reserviert|termin\w*|auftrag\w*|bestell\w*",
    r"réservation|réservée?|commande|rendez-vous|reserva|reservad[oa]|pedido|cita",
)
_STANDS = phrases(
    r"confirm\w*|reserved|booked|scheduled|bestätig\w*|reserviert|gebucht|vereinbart|confirmée?|réservée?",
    r"confirmad[oa]",
    r"reservad[oa]|looking forward to seeing you|freuen uns auf|accueillir|le esperamos",
)
_CHANGED = phrases(
    r"(?:has|have) been (?:changed|modified|rescheduled|moved)|schedule change|new (?:departure|time|date)",
    r"updated itinerary",
    r"change (?:to|of|in) your|(?:wurde|wurden)(?: [\w.:-]+){0,10} (?:geändert|verschoben|verlegt)|umbuchung\w*",
    r"\w+planänderung",
    r"änderung (?:ihrer|der|zu|an)|neue (?:abflug|uhr|anfangs|abfahrts)?zeit|neuer termin",
    r"(?:beginnt|startet) (?:jetzt|nun)",
    r"(?:a|ont) été (?:modifiée?|déplacée?|reportée?|décalée?)s?|modification de votre|nouvel horaire",
    r"changement d['’]horaire",
    r"(?:ha|han|se ha|se han) (?:sido )?(?:modificad|cambiad|aplazad|trasladad)[oa]s?|cambio (?:en|de)|nuevo horario",
)
_UNCHANGED = phrases(
    r"nothing has changed|no changes|sent in error|disregard our|as (?:first )?planned|after all|confirmed again",
    r"nichts geändert|keine änderung\w*|irrtümlich|gegenstandslos|wie geplant|doch statt|rien n['’]a changé",
    r"aucun changement",
    r"par erreur|ne tenez pas compte|comme prévu|no ha cambiado nada|sin cambios|por error|no tenga en cuenta",
    r"como estaba previsto",
)
"""An earlier message is taken back, or nothing was changed at all."""


def find(passages: Sequence[Passage], resolutions: Sequence[ResolutionFact]) -> list[ReservationFact]:
    """At most one. It needs the word for a booking, and its code, or that it stands and at what time it begins."""
    if not any(_BOOKED.search(passage.text) for passage in passages):
        return []
    context = passages[0].context
    code = next((found for passage in passages for found in numbers.bookings(passage)), None)
    starts_at, has_time = _start(passages)
    is_plain = has_time and not context.bulk and any(_STANDS.search(passage.text) for passage in passages)
    if code is None and not is_plain:
        return []
    return [
        ReservationFact.model_validate(
            {
                "origin": "text",
                "certainty": 0.8 if code and starts_at else 0.65,
                "span": code.span if code else None,
                "category": _category(passages),
                "code": code.number if code else None,
                "status": _status(passages, resolutions),
                "provider": context.sender[:200] or None,
                "starts_at": starts_at,
            }
        )
    ]


def _category(passages: Sequence[Passage]) -> str:
    return next((kind for kind, noun in _KINDS.items() if any(noun.search(p.text) for p in passages)), "other")


def _status(passages: Sequence[Passage], resolutions: Sequence[ResolutionFact]) -> str:
    if any(fact.outcome == "cancelled" for fact in resolutions):
        return "cancelled"
    if any(_UNCHANGED.search(passage.text) for passage in passages):
        return "confirmed"
    return "changed" if any(_CHANGED.search(passage.text) for passage in passages) else "confirmed"


def _start(passages: Sequence[Passage]) -> tuple[datetime | None, bool]:
    """The first coming day with a time of day in its clause, in the owner's zone; else that day's beginning. And
    whether there was a time."""
    first_day: datetime | None = None
    for passage in reversed(passages):  # the body says it more exactly than the subject
        context = passage.context
        for clause in passage.clauses:
            for date in inside(clause, passage.dates):
                if date.weak or date.month or date.day < context.written_on:
                    continue
                before, behind = clause.text[: date.start - clause.start], clause.text[date.end - clause.start :]
                if wall := clock_time.first(behind) or clock_time.first(before):
                    return at_local(date.day, wall, context.zone), True
                first_day = first_day or start_of_day(date.day, context.zone)
    return first_day, False
