"""Quantity: a number or an amount that an expression of a rule reads from an event, exact, with its unit."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from rules.expression import Expression

if TYPE_CHECKING:
    from rules.prepared import PreparedRule


_LARGEST = 10**18
_PLACES = 9
"""What is larger, or finer, is no quantity of a household, and would fill the state."""
_NUMBERS = frozenset(("int", "double", "money", "dyn"))


def bounded(number: Decimal) -> Decimal | None:
    """The number to so many places; None for one that is none, or too large to be kept and shown."""
    if not number.is_finite() or abs(number) >= _LARGEST:
        return None
    short = round(number, _PLACES)
    return number if short == number else short


class Quantity:
    """``part`` names the detector whose ``value`` the expression is, for errors."""

    def __init__(self, source: str, rule: PreparedRule, part: str) -> None:
        self._expression = Expression(source, rule, part)
        article = "an" if part[0] in "aeiou" else "a"
        self._expression.must_be(_NUMBERS, f"{article} {part} needs a number or an amount")

    def of(self, event: Any) -> tuple[Decimal, str] | None:
        """The number and its currency (empty for plain numbers); None where there is none."""
        found = self._expression.of(event)
        if found is None or isinstance(found, (str, bool)):
            return None
        unit = str(getattr(found, "currency", ""))
        short = bounded(Decimal(str(found.amount if unit else found)))
        return None if short is None else (short, unit)
