"""Changes that are announced: a price that rises, a date that is moved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date

from extractors.facts import guards
from extractors.facts.anchor import inside
from extractors.facts.clause import Clause
from extractors.facts.money import AmountMention
from extractors.facts.passage import Passage
from extractors.facts.phrases import phrases
from schemas.fact import ChangeFact
from schemas.money import Money

_NOUN_EN = r"(?:price|rate|fee|premium|rent|cost|charge|subscription|tariff|contribution|payment|plan)s?"
_NOUN_DE = r"\w*(?:preis|beitrag|miete|tarif|gebühr|prämie|abschlag|abo|kosten)\w*"
_NOUN_FR = r"(?:prix|tarif|loyer|cotisation|abonnement|mensualité|formule|forfait)s?"
_NOUN_ES = r"(?:precio|tarifa|cuota|alquiler|prima|suscripción|plan)(?:e?s)?"
_PRICE = phrases(
    rf"{_NOUN_EN}\b.{{0,80}}\b(?:increas\w+|chang\w+|ris\w+|go(?:es|ing)? up|adjust\w+|become dearer)",
    rf"(?:increas\w+|rais\w+|chang\w+|adjust\w+)\b.{{0,60}}\b{_NOUN_EN}|new (?:price|rent|rate)",
    rf"{_NOUN_EN}\b.{{0,60}}\binstead of",
    rf"{_NOUN_DE}\b.{{0,80}}\b(?:erhöh\w+|steig\w+|anpass\w+|angepasst|anheb\w+|änder\w+|statt)",
    r"\w*(?:erhöhung|anpassung)",
    rf"(?:erhöh\w+|steig\w+|anpass\w+|anheb\w+|passen|änder\w+)\b.{{0,60}}\b{_NOUN_DE}",
    r"neue[rs]? (?:monats)?(?:preis|beitrag|abschlag)",
    rf"{_NOUN_FR}\b.{{0,80}}\b(?:augment\w+|pass\w+ (?:de|à)|évolu\w+|au lieu de)|hausse|augmentation",
    r"nouveau (?:tarif|prix)",
    rf"(?:ajust\w+|évolution|modification)\b.{{0,60}}\b{_NOUN_FR}",
    rf"{_NOUN_ES}\b.{{0,80}}\b(?:aument\w+|sub\w+|pas\w+ (?:de|a)|cambi\w+|en lugar de|en vez de)|subida",
    rf"(?:ajust\w+|cambio)\b.{{0,60}}\b{_NOUN_ES}|(?:nuevo precio|precio nuevo)",
)
_INSTEAD = phrases(r"instead of|rather than|(?:an)?statt|au lieu de|en lugar de|en vez de")
_OLD = phrases(
    r"(?:current|old|previous|present) (?:monthly )?(?:price|rate|rent|fee|premium)|so far|until now",
    r"bisher\w*(?: \w*(?:preis|beitrag|miete|tarif))?",
    r"(?:aktuell|alt|derzeitig|jetzig)\w* \w*(?:preis|beitrag|miete|tarif)",
    r"(?:tarif|prix|loyer) actuel|ancien (?:tarif|prix|loyer)|jusqu['’]ici|precio actual|precio anterior|hasta ahora",
)
_NEW = phrases(
    r"new (?:monthly )?(?:price|rate|rent|fee|premium)|neue[rs]? \w*(?:preis|beitrag|miete|tarif)|künftig\w*",
    r"nouve(?:au|l) (?:tarif|prix|loyer)|désormais|nuevo precio|precio nuevo|a partir de ahora",
)
_MOVED = phrases(
    r"(?:has been|have been|was|were|is|been) (?:moved|rescheduled|postponed|brought forward)",
    r"(?:moved|postponed|rescheduled) (?:to|from)",
    r"new (?:date|time|departure)|schedule change|now (?:starts|begins|takes place)",
    r"(?:wurde|wird|werden|ist)(?: [\w.:-]+){0,10} (?:verschoben|verlegt|vorverlegt)|verschoben|neuer termin",
    r"terminänderung",
    r"neue (?:\w*zeit)|(?:beginnt|startet) (?:jetzt|nun|neu)",
    r"(?:est|a été|ont été)(?: \w+){0,3} (?:reporté|déplacé|décalé|avancé)e?s?|nouvelle date|nouvel horaire",
    r"commence désormais",
    r"(?:ha sido|se ha|fue|han sido)(?: \w+){0,3} (?:aplazad|pospuest|movid|adelantad|trasladad)[oa]s?",
    r"nueva fecha|reprogramad[oa]",
    r"nuevo horario|ahora comienza",
)
_EXPIRY = phrases(
    r"expir\w+|valid\w*|renew\w*|ablauf\w*|gültig\w*|échéance|valable|caducidad|válid[oa]|vencimiento|due|fällig\w*"
)
"""A new date of these is no meeting that was moved."""


def find(passages: Sequence[Passage]) -> Iterator[ChangeFact]:
    """The first price that changes, and the first date that was moved."""
    price = _price(passages)
    moved = next((fact for p in passages for clause in p.clauses if (fact := _moved(p, clause))), None)
    yield from (fact for fact in (price, moved) if fact)


def _price(passages: Sequence[Passage]) -> ChangeFact | None:
    """In one clause ("from 12.99 to 14.99", "14.99 instead of 12.99"), or as labels below an announcement."""
    if not any(_PRICE.search(passage.text) for passage in passages):
        return None
    for passage in passages:
        for clause in passage.clauses:
            amounts = inside(clause, passage.amounts)
            if len(amounts) >= 2 and _PRICE.search(clause.text) and not guards.PROMOTION.search(clause.text):
                return _fact(passage, clause, *_in_clause(clause, amounts))
        if (labelled := _labelled(passage)) is not None:
            return labelled
    return next((fact for p in passages for clause in p.clauses if (fact := _new_alone(p, clause))), None)


def _in_clause(clause: Clause, amounts: list[AmountMention]) -> tuple[Money, Money]:
    first, second = amounts[0], amounts[1]
    between = clause.text[first.end - clause.start : second.start - clause.start]
    is_turned = _INSTEAD.search(between) is not None
    return (second.money, first.money) if is_turned else (first.money, second.money)


def _labelled(passage: Passage) -> ChangeFact | None:
    old = next((m.money for c in passage.clauses if _OLD.search(c.text) for m in inside(c, passage.amounts)), None)
    for clause in passage.clauses:
        amounts = inside(clause, passage.amounts)
        if amounts and old is not None and _NEW.search(clause.text):
            return _fact(passage, clause, old, amounts[0].money)
    return None


def _new_alone(passage: Passage, clause: Clause) -> ChangeFact | None:
    amounts = inside(clause, passage.amounts)
    is_price = _PRICE.search(clause.text) is not None and not guards.PROMOTION.search(clause.text)
    return _fact(passage, clause, None, amounts[0].money) if amounts and is_price else None


def _fact(passage: Passage, clause: Clause, old: Money | None, new: Money) -> ChangeFact | None:
    if old is not None and (old.currency != new.currency or old == new):
        return None
    return ChangeFact(
        origin="text",
        certainty=0.9 if old else 0.75,
        span=passage.span(clause.start, clause.end, clause),
        old=old,
        new=new,
        on=_effective_on(passage, clause),
    )


def _effective_on(passage: Passage, clause: Clause) -> date | None:
    """A day of the clause, else the first coming day that the text names."""
    dates = inside(clause, passage.dates)
    coming = [found for found in passage.dates if found.day > passage.context.written_on and not found.weak]
    return dates[0].day if dates else coming[0].day if coming else None


def _moved(passage: Passage, clause: Clause) -> ChangeFact | None:
    match = _MOVED.search(clause.text)
    dates = inside(clause, passage.dates)
    if match is None or not dates or guards.CONDITION.match(clause.text) or _EXPIRY.search(clause.text):
        return None
    return ChangeFact(
        origin="text",
        certainty=0.85,
        span=passage.span(clause.start + match.start(), clause.start + match.end(), clause),
        what="date",
        on=dates[-1].day,
    )
