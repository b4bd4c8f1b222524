"""Merging: markup beats words, and the same thing said twice is one fact."""

from __future__ import annotations

from collections.abc import Sequence

from schemas.fact import (
    AlertFact,
    AmountFact,
    ChangeFact,
    ClaimFact,
    DueFact,
    ExpiryFact,
    Fact,
    InvitationFact,
    InvoiceFact,
    PreparationFact,
    PromiseFact,
    QuestionFact,
    RefundFact,
    ReservationFact,
    ResolutionFact,
)

_CAP = 60
"""Facts of one event. A mail with more dates and amounts is a statement or a list, not a letter."""
_LATER_DUES = ("act", "debit")


def merge(structured: Sequence[Fact], words: Sequence[Fact]) -> list[Fact]:
    """``structured`` first; then, of each kind, what was found in words, the best first."""
    kinds: set[str] = {fact.kind for fact in structured}
    kept: list[Fact] = [_completed(fact, words) for fact in structured]
    for fact in sorted(words, key=_rank):
        if not _is_said_by_markup(fact, kinds, structured) and not any(_is_same(fact, other) for other in kept):
            kept.append(fact)
    return kept[:_CAP]


def _rank(fact: Fact) -> tuple[int, float]:
    """A deadline to act on stands before one that comes by itself, a total before a mention, an end before a
    receipt; else text order (sorting is stable)."""
    match fact:
        case DueFact():
            return (_LATER_DUES.index(fact.what) + 1 if fact.what in _LATER_DUES else 0, 0)
        case AmountFact():
            return ({"total": 0, "due": 1, "mention": 3}.get(fact.role, 2), 0)
        case ResolutionFact():
            return (int(fact.outcome == "received"), 0)
        case _:
            return (0, 0)


def _is_said_by_markup(fact: Fact, kinds: set[str], structured: Sequence[Fact]) -> bool:
    """A mail with a marked-up invoice has one invoice and one due day; the same for its booking."""
    if fact.kind in ("invoice", "reservation"):
        return fact.kind in kinds
    if isinstance(fact, DueFact):
        invoices = [each for each in structured if isinstance(each, InvoiceFact)]
        return fact.what in ("pay", "debit") and any(invoice.due or invoice.paid for invoice in invoices)
    return False


def _completed(fact: Fact, words: Sequence[Fact]) -> Fact:
    """A marked-up invoice rarely has the account to pay to: what it lacks is taken from the words about it."""
    if not isinstance(fact, InvoiceFact):
        return fact
    for other in words:
        if isinstance(other, InvoiceFact) and (other.number is None or other.number == fact.number):
            lacking = {
                name: getattr(other, name) for name in ("due", "iban", "reference") if getattr(fact, name) is None
            }
            return fact.model_copy(update=lacking)
    return fact


def _is_same(fact: Fact, other: Fact) -> bool:
    return fact.kind == other.kind and _identity(fact) == _identity(other)


def _identity(fact: Fact) -> object:
    """What makes two facts of a kind one."""
    match fact:
        case DueFact():
            return fact.on
        case AmountFact() | RefundFact():
            return fact.amount
        case InvoiceFact():
            return fact.number
        case ExpiryFact():
            return fact.on
        case ReservationFact():
            return (fact.code, fact.number, fact.starts_at)
        case InvitationFact():
            return fact.uid
        case QuestionFact():
            return fact.by
        case ChangeFact():
            return (fact.what, fact.new, fact.on)
        case ResolutionFact():
            return fact.outcome
        case PromiseFact():
            return (fact.what, fact.by)
        case ClaimFact():
            return fact.number
        case PreparationFact() | AlertFact():
            return fact.what
