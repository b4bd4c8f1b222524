"""Expiries: documents, contracts, trials, vouchers and consents that end on a day."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date

from extractors.facts import calendar_words, guards, perishables, trial
from extractors.facts.anchor import inside, nearest
from extractors.facts.arithmetic import later
from extractors.facts.clause import Clause
from extractors.facts.dates import DateMention
from extractors.facts.passage import Passage
from extractors.facts.perishables import Perishable
from extractors.facts.phrases import phrases
from schemas.fact import DueFact, ExpiryFact

_TRIGGER = phrases(
    r"expir(?:es?|ed|ing|y|ation)(?: date| on)?|valid (?:until|till|through|thru|to)",
    r"(?:no longer|not) be valid after",
    r"good until|runs? (?:out|until|till)|lapses?|(?:will )?ends?(?: on)?|(?:automatically |auto-?)?renews?",
    r"renewal(?: date)?",
    r"läuft|abläuft|\w*ablauf(?:datum)?|abgelaufen|gültig(?:keit)?(?: bis)?|endet|\w*ende|befristet|ausläuft",
    r"laufzeit bis",
    r"verlängert sich|verlängerung",
    r"expire(?:ra|nt)?|expiration|valable|prend fin|se termine|arrive à (?:échéance|expiration)|court jusqu",
    r"fin (?:de|du)",
    r"se renouvelle|renouvelée?|reconduite?|s['’]arrête",
    r"caduca(?:rá)?|expira(?:rá)?|válid[oa]|finaliza|termina|se renueva|se renovará|vence|caducidad|dura hasta",
    r"fin (?:de|del)",
)
_FLEETING = phrases(
    r"link|(?:verification |security |one-time )?code|password|token|session|otp|quote|cart|basket|sitzung|passwort",
    r"warenkorb|lien|mot de passe|panier|enlace|contraseña|sesión|carrito",
)
"""Ends by itself and concerns nobody tomorrow."""

_UNIT = (
    r"(?:months?|weeks?|days?|monaten?|monate|wochen?|tagen?|tage|mois|semaines?|jours?|meses|mes|semanas?|días)"
    r"(?![^\W\d_])"
)
_NOTICE = re.compile(
    rf"(?<!\w)(?P<count1>{calendar_words.NUMBER})[ -](?P<unit1>{_UNIT})['’]? ?(?:notice|notice period|"
    rf"kündigungsfrist|"
    rf"vor (?:ablauf|vertragsende)|de préavis|de preaviso|de antelación)|"
    rf"(?:kündigungsfrist(?: von| beträgt)?|notice period (?:of|is)|préavis de|preaviso de) "
    rf"(?P<count2>{calendar_words.NUMBER}) (?P<unit2>{_UNIT})",
    re.IGNORECASE,
)
"""A period of notice: "3 months' notice", "Kündigungsfrist von 3 Monaten"."""


_LAST_DAYS = {"cancel": ("contract", "trial"), "return": ("return",)}
"""What ends with the last day on which this may be done."""


def find(passages: Sequence[Passage], dues: Sequence[DueFact]) -> list[ExpiryFact]:
    """In the order of the text. What ends must be named: in the clause, or near it, or in the subject.

    A contract of which only the last day of notice is known ends with that, and a right to return goods with the last
    day for it.
    """
    found = [fact for passage in passages for fact in _in_passage(passages, passage, dues)]
    found = _with_trials(found, trial.told(passages))
    if not any(fact.category == "trial" for fact in found):
        found = _with_trials(found, trial.counted(passages))
    if found or not (last_day := next((due for due in dues if due.what in _LAST_DAYS), None)):
        return found
    categories = _LAST_DAYS[last_day.what]
    named = next((n for p in passages if (n := perishables.named(p.text)) and n.category in categories), None)
    if named is None:
        return []
    return [
        ExpiryFact(
            origin="text",
            certainty=0.7,
            span=last_day.span,
            on=last_day.on,
            what=named.name,
            category=named.category,
            notice_by=last_day.on if last_day.what == "cancel" else None,
        )
    ]


def _with_trials(found: Sequence[ExpiryFact], trials: Sequence[ExpiryFact]) -> list[ExpiryFact]:
    """A contract that begins to cost on a day is the trial that ends on it."""
    known = {fact.on for fact in found if fact.category == "trial"}
    days = {fact.on for fact in trials}
    others = [fact for fact in found if fact.category != "contract" or fact.on not in days]
    return [*others, *(fact for fact in trials if fact.on not in known)]


def _in_passage(passages: Sequence[Passage], passage: Passage, dues: Sequence[DueFact]) -> Iterator[ExpiryFact]:
    for number, clause in enumerate(passage.clauses):
        dates = inside(clause, passage.dates)
        end = _end(clause, dates, dues) if dates else None
        if end is None or guards.PROMOTION.search(clause.text) or _FLEETING.search(clause.text):
            continue
        inner = perishables.named(clause.text, before=end.end - clause.start)
        named = inner or _around(passages, passage, number)
        if named is None or (passage.context.bulk and named.category == "voucher"):
            continue
        yield ExpiryFact(
            origin="text",
            certainty=round(end.certainty * (0.95 if inner else 0.8), 3),
            span=passage.span(end.start, end.end, clause),
            on=end.day,
            what=named.name,
            category=named.category,
            notice_by=_notice_by(passages, end.day, dues) if named.category in ("contract", "trial") else None,
        )


def _end(clause: Clause, dates: list[DateMention], dues: Sequence[DueFact]) -> DateMention | None:
    """The last day that a trigger of the clause speaks of: "valid from 1 May until 30 June".

    A day by which to act ("must give notice by") is a deadline, not an end.
    """
    acts = {due.on for due in dues if due.what != "act"}
    bound = [found for trigger in _TRIGGER.finditer(clause.text) if (found := nearest(clause, trigger, dates))]
    return max((end for end in bound if not end.weak and end.day not in acts), key=lambda end: end.day, default=None)


def _around(passages: Sequence[Passage], passage: Passage, number: int) -> Perishable | None:
    """What the clauses before this one name, the nearest first; then those behind it; then the other passages."""
    clauses = passage.clauses
    nearby = [*reversed(clauses[max(0, number - 6) : number]), *clauses[number + 1 : number + 3]]
    texts = [clause.text for clause in nearby] + [other.text for other in passages if other is not passage]
    return next((named for text in texts if (named := perishables.named(text))), None)


def _notice_by(passages: Sequence[Passage], end: date, dues: Sequence[DueFact]) -> date | None:
    """The last day to give notice: a date that says so, or the period before the end."""
    stated = next((due.on for due in dues if due.what == "cancel" and due.on <= end), None)
    if stated is not None:
        return stated
    match = next(filter(None, (_NOTICE.search(passage.text) for passage in passages)), None)
    if match is None:
        return None
    count, unit = match["count1"] or match["count2"], match["unit1"] or match["unit2"]
    return later(end, -calendar_words.number(count), unit)
