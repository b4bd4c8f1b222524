"""Measure: the value that a detector watches, an expression over the event that matched, in a comparable form."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

from rules.cel.runtime import is_money
from rules.expression import Expression
from rules.language import ConditionError
from rules.quantity import bounded
from rules.template import Key, parse_key
from rules.values import INTEGRITY, derived
from schemas.model import Json
from schemas.value import Value

if TYPE_CHECKING:
    from rules.occasion import Occasion
    from rules.prepared import PreparedRule

ORDERED = frozenset(("int", "double", "money", "timestamp", "duration", "dyn"))
"""Types of which one value can be above another."""
_LONGEST = 400


@dataclass(frozen=True, slots=True)
class Reading:
    """``text`` tells values apart, ``number`` (of an instant its seconds) orders them; ``unit`` is a currency."""

    text: str
    nominal: Literal["Text", "Bool", "Number", "Money", "DateTime"] = "Text"
    number: Decimal | None = None
    unit: str = ""

    def __str__(self) -> str:
        return f"{self.text} {self.unit}".rstrip()

    def labelled(self, event: Any) -> Value:
        """As a value of a trigger: no better than the event that it was read from."""
        v: Json = self.text
        if self.nominal == "Money":
            v = {"amount": self.text, "currency": self.unit}
        elif self.nominal == "Number" and self.number is not None:
            v = int(self.number) if self.number == int(self.number) else float(self.number)
        elif self.nominal == "Bool":
            v = self.text == "true"
        return derived(v, self.nominal, (event.id,), INTEGRITY[event.trust])


class Measure:
    """``value`` of a detector, compiled for each family of the rule's kinds, and the key ``by`` that it belongs to."""

    def __init__(
        self, value: str, by: tuple[str, ...], rule: PreparedRule, detector: str, *, field: str = "value"
    ) -> None:
        """``field``: the key of the detector that the expression stands in."""
        try:
            self._by: Key = parse_key(by, rule.canonical)
        except ConditionError as error:
            raise error.under(detector, "by") from error
        self._zone = rule.zone
        self._expression = Expression(value, rule, detector, field)

    @property
    def types(self) -> Set[str]:
        return self._expression.types.keys()

    def must_be_ordered(self, why: str) -> None:
        self._expression.must_be(ORDERED, f"{why} needs a number, an amount or a date")

    def of(self, occasion: Occasion) -> Reading | None:
        return reading(self._expression.of(occasion.event))

    def key(self, occasion: Occasion) -> str:
        """Without ``by``: the subject."""
        return self._by.of(occasion.read, occasion.event.subject, self._zone)


def reading(found: Any) -> Reading | None:
    """None for what is missing: nothing, an empty text or list, a number that is none or beyond all bounds."""
    if found is None or found == "" or found == ():
        return None
    if isinstance(found, bool):
        return Reading("true" if found else "false", "Bool")
    if is_money(found):
        amount = bounded(Decimal(found.amount))
        return None if amount is None else Reading(f"{amount:f}", "Money", amount, str(found.currency))
    if isinstance(found, datetime):
        return Reading(found.astimezone(UTC).isoformat(), "DateTime", Decimal(str(found.timestamp())))
    if isinstance(found, timedelta):
        return reading(found.total_seconds())
    if isinstance(found, (list, tuple)):
        return Reading(", ".join(sorted(map(str, found)))[:_LONGEST])
    if isinstance(found, (int, float, Decimal)):
        number = bounded(Decimal(str(found)))
        return None if number is None else Reading(f"{number:f}", "Number", number)
    return Reading(str(found)[:_LONGEST])
