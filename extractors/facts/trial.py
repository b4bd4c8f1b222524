"""Trials: what is free for a while and then costs, by the words for its end, for its price, or for how long it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date

from extractors.facts import calendar_words, guards, perishables
from extractors.facts.anchor import inside, nearest
from extractors.facts.arithmetic import later
from extractors.facts.clause import Clause
from extractors.facts.passage import Passage
from extractors.facts.phrases import phrases
from schemas.fact import ExpiryFact

_NAMED = phrases(
    *perishables.TRIAL,
    r"(?:free|complimentary|introductory|no-cost) (?:\d+[- ]day )?(?:month|week|year|access|period|phase|plan)",
    r"test(?:abo(?:nnement)?|version|zugang|monat|woche|mitgliedschaft)|schnupper(?:abo|monat|phase|mitgliedschaft)",
    r"gratis(?:monat|woche|phase|zeitraum|zeit|zugang|abo)|test(?= kostenpflichtig)|testest(?=(?: \w+)? kostenlos)",
    r"kostenlose[rns]? (?:monat|woche|phase|zeitraum|zugang|mitgliedschaft|(?:test|probe)(?:phase|zeit\w*|monat))",
    r"(?:mois|semaine|période|offre|accès) (?:offerte?|gratuite?)|offre (?:d['’]essai|découverte)|accès d['’]essai",
    r"(?:mes|semana|periodo|acceso) (?:gratis|gratuit[oa]|de regalo)|suscripción de prueba",
)
"""What runs out. Not where any contract or voucher is read: "a free month" is in many of those."""
_PLAINLY_NAMED = phrases(*perishables.TRIAL)
"""In a letter to many, where everything is free."""

_ENDS = phrases(
    r"(?:will )?(?:ends?|expires?|finish(?:es)?|runs? (?:out|until|till)|lapses?)|(?:is|are|will be) over",
    r"comes? to an end",
    r"endet|läuft|vorbei|zu ende|abläuft|ausläuft",
    r"(?:prend|prendra) fin|se termine(?:ra)?|s['’]achève(?:ra)?|expire(?:ra)?|court jusqu|touche à sa fin",
    r"termina(?:rá)?|finaliza(?:rá)?|(?:se )?acaba(?:rá)?|vence(?:rá)?|concluye|dura hasta",
)
_COSTS = phrases(
    r"(?:converts?|turns?|changes?|switch(?:es)?|rolls over|moves?|upgrades?)(?: automatically)? (?:in)?to "
    r"(?:an? |our |your )?(?:paid|paying|full|premium|regular|monthly|annual|standard)",
    r"becomes? (?:an? )?(?:paid|paying|full|regular|chargeable)",
    r"(?:billing|charges|payments?) (?:will )?(?:begins?|starts?)",
    r"(?:first|initial) (?:payment|charge|bill|billing|debit)",
    r"(?:will|['’]ll)(?: then| automatically)* (?:be (?:charged|billed|debited)|(?:charge|bill|debit))",
    r"(?:not|\w+n['’]t) (?:be (?:charged|billed|debited)|pay|charge you)(?: anything| a cent)? (?:until|before|till)",
    r"kostenpflichtig|in (?:ein|einen|eine|das|den|die) (?:kostenpflichtig|bezahl|regulär|voll|normal)\w*",
    r"(?:buchen|ziehen|berechnen|belasten) wir|wir (?:\S+ )?(?:ab|buchen)|erste (?:zahlung|abbuchung|rechnung|rate)",
    r"werden (?:\S+ ){1,4}(?:fällig|abgebucht|berechnet|eingezogen)",
    r"devien(?:t|dra) payante?|(?:sera|serez|seront) (?:facturée?s?|débitée?s?|prélevée?s?)|vous facturerons",
    r"premi(?:er|ère) (?:paiement|prélèvement|facture|échéance)",
    r"se (?:te |le )?(?:cobrará|facturará|cargará)n?|(?:te|le) (?:cobraremos|facturaremos)|pasa(?:rá)? a ser de pago",
    r"se conver(?:tirá|tirán)|se convierte|primer (?:pago|cobro|cargo)",
)
"""Words for a price that begins. They also stand in letters about what has cost for years: see ``_before``."""
_FREE_UNTIL = phrases(
    r"(?:free(?: of charge)?|for nothing)(?: access)? (?:until|till|through|to)",
    r"(?:kostenlos|gratis|kostenfrei|umsonst)(?: \w+)? bis",
    r"(?:gratuit(?:e|ement)?|offerte?) jusqu|gratis hasta|gratuit[oa](?:mente)? hasta",
)
_MONTHLY = phrases(
    r"(?:an?|per|each|every) (?:month|year|week)|monthly|yearly|(?:im|pro|jeden) (?:monat|jahr)|monatlich|jährlich",
    r"par (?:mois|an)|chaque mois|al (?:mes|año)|cada mes|mensual(?:es)?|mensuels?",
)
_LENGTH = re.compile(
    rf"(?<!\w)(?P<count>{calendar_words.NUMBER})[- ](?P<unit>days?|weeks?|months?|tage?n?|tägig\w*|wochen?|wöchig\w*|"
    r"monate?n?|monatig\w*|jours?|semaines?|mois|días?|semanas?|mes(?:es)?)(?!\w)",
    re.IGNORECASE,
)
_BEGUN = phrases(
    r"(?:has|have) (?:now |just )?(?:begun|started)|(?:starts|begins) (?:today|now)|started today|is (?:now )?active",
    r"hat (?:\w+ )?(?:begonnen|angefangen)|beginnt (?:heute|jetzt)|ist (?:jetzt |nun )?aktiv",
    r"a (?:bien )?(?:commencé|débuté)|commence (?:aujourd['’]hui|maintenant)|est (?:maintenant )?activée?",
    r"ha (?:comenzado|empezado)|(?:empieza|comienza) (?:hoy|ahora)|está (?:ya )?activ[oa]",
)
_NEAR = 2
"""Clauses before one that may name what it speaks of."""


def told(passages: Sequence[Passage]) -> list[ExpiryFact]:
    """The ends that the texts tell, in order."""
    return [fact for passage in passages for fact in _told(passages, passage)]


def counted(passages: Sequence[Passage]) -> list[ExpiryFact]:
    """The end of the first trial of a named length that has begun with this letter: "your 14-day trial has started"."""
    return [fact for passage in passages for fact in _counted(passage)][:1]


def _told(passages: Sequence[Passage], passage: Passage) -> Iterator[ExpiryFact]:
    for number, clause in enumerate(passage.clauses):
        dates = inside(clause, passage.dates)
        if not dates or guards.PROMOTION.search(clause.text):
            continue
        here = _named(passage, clause.text)
        name = here or _before(passages, passage, number)
        ways = ((_ENDS, here), (_COSTS, name), (_FREE_UNTIL, name or _priced(passage, number)))
        for words, what in ways:
            trigger = words.search(clause.text) if what else None
            end = nearest(clause, trigger, dates) if trigger else None
            if end is not None and not end.weak:
                certainty = round(end.certainty * (0.9 if here else 0.75), 3)
                yield _fact(passage, clause, end.start, end.end, end.day, what, certainty)
                break


def _counted(passage: Passage) -> Iterator[ExpiryFact]:
    for clause in passage.clauses:
        name, length = _named(passage, clause.text), _LENGTH.search(clause.text)
        if name and length and _BEGUN.search(clause.text):
            day = later(passage.context.written_on, calendar_words.number(length["count"]), length["unit"])
            start = clause.start + length.start()
            yield _fact(passage, clause, start, start + len(length[0]), day, name, 0.7)


def _fact(passage: Passage, clause: Clause, start: int, end: int, day: date, what: str, certainty: float) -> ExpiryFact:
    span = passage.span(start, end, clause)
    return ExpiryFact(origin="text", certainty=certainty, span=span, on=day, what=what, category="trial")


def _named(passage: Passage, text: str) -> str:
    """As it is written."""
    found = (_PLAINLY_NAMED if passage.context.bulk else _NAMED).search(text)
    return text[found.start() : found.end()][:120] if found else ""


def _before(passages: Sequence[Passage], passage: Passage, number: int) -> str:
    """What the clauses just before, or the subject, name. Not those behind: "invite a friend to a free month"."""
    near = [clause.text for clause in passage.clauses[max(0, number - _NEAR) : number]][::-1]
    subjects = [other.text for other in passages if other.part == "subject" and other is not passage]
    return next((name for text in (*near, *subjects) if (name := _named(passage, text))), "")


def _priced(passage: Passage, number: int) -> str:
    """Free until a day and then at a monthly price: a trial under no name of its own."""
    near = passage.clauses[number : number + 2]
    is_priced = any(_MONTHLY.search(clause.text) and inside(clause, passage.amounts) for clause in near)
    return "free access" if is_priced and not passage.context.bulk else ""
