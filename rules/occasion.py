"""Occasion: an event that satisfies the ``when`` of a rule, with everything a trigger will say about it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from rules.fields import family, first_facts, main_party
from rules.reading import EventValues
from rules.template import plain
from rules.values import span_of
from schemas.trigger import ConditionValue, Evidence
from schemas.value import Value

if TYPE_CHECKING:
    from rules.prepared import PreparedRule

_MOST_EVIDENCE = 4


@dataclass
class Occasion:
    rule: PreparedRule
    event: Any
    when: int
    """Which of the rule's conditions matched."""
    given_key: str = ""
    """A key that the detector makes itself."""
    about: str = ""
    """The matter, where it is not the event's: too little on an account is no matter of the row that shows it."""

    @cached_property
    def values(self) -> dict[str, Value]:
        return self.rule.values.read(self.event)

    @cached_property
    def read(self) -> EventValues:
        """Single values, without the labels: most events that match lead to nothing."""
        return self.rule.reader.values(self.event)

    @cached_property
    def key(self) -> str:
        return self.given_key or self.rule.key.of(self.read, self.event.subject, self.rule.zone)

    @cached_property
    def conditions(self) -> tuple[ConditionValue, ...]:
        conjuncts = self.rule.when[self.when].by_family[family(self.event.kind)]
        return self.rule.reader.conditions(conjuncts, self.event, {})

    @cached_property
    def facts(self) -> tuple[Any, ...]:
        """The facts that the rule reads, of those the event has."""
        found = first_facts(self.event)
        return tuple(found[kind] for kind in self.rule.reads_facts if kind in found)

    @property
    def certainty(self) -> float:
        return min((fact.certainty for fact in self.facts), default=1.0)

    @cached_property
    def evidence(self) -> tuple[Evidence, ...]:
        """One for each fact with a span, else one for the event."""
        spans = [span for span in map(span_of, self.facts) if span is not None]
        return tuple(evidence(self.event, span) for span in spans[:_MOST_EVIDENCE]) or (evidence(self.event),)


def evidence(event: Any, span: Any = None) -> Evidence:
    """What a person is shown of an event: the quote of a span, else its beginning."""
    quote = span.quote if span is not None else event.text or " ".join(_purpose(event))
    return Evidence(
        event=event.id,
        account=event.account,
        kind=event.kind,
        title=plain(event.title, 500),
        occurred_at=event.occurred_at,
        trust=event.trust,
        quote=plain(quote, 300),
        span=span,
    )


def _purpose(event: Any) -> Iterator[str]:
    if event.amount is not None:
        yield f"{event.amount.amount:f} {event.amount.currency}"
    yield main_party(event).name or ""
    yield getattr(event.payload, "purpose", "") or ""
