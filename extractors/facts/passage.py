"""Passage: one part of a text with everything that the grammars found in it, so that each is read once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from extractors.facts import clause as clauses
from extractors.facts import dates, iban, money
from extractors.facts.clause import Clause
from extractors.facts.context import TextContext
from extractors.facts.span import quoted
from schemas.fact import Span

TEXT_CAP = 20_000
"""Characters that are read for facts; what stands behind them is not."""
_MENTIONS = 200
"""Dates, and amounts, of one text that are looked at: a list that has more is no letter."""


@dataclass(frozen=True)
class Passage:
    """``part`` names the text in spans: text, subject, purpose, ..."""

    part: str
    text: str
    context: TextContext

    @cached_property
    def clauses(self) -> list[Clause]:
        return clauses.split(self.text, [*self.dates, *self.amounts])

    @cached_property
    def dates(self) -> list[dates.DateMention]:
        return dates.find(self.text, self.context)[:_MENTIONS]

    @cached_property
    def amounts(self) -> list[money.AmountMention]:
        return money.find(self.text)[:_MENTIONS]

    @cached_property
    def ibans(self) -> list[iban.IbanMention]:
        return iban.find(self.text)

    def clause_at(self, position: int) -> Clause:
        """The clause around a position; the empty one where it lies between clauses."""
        return next((c for c in self.clauses if c.start <= position < c.end), Clause(position, ""))

    def span(self, start: int, end: int, clause: Clause) -> Span:
        return quoted(self.part, self.text, start, end, clause.start, clause.end)
