"""Quantity: a number or an amount that an expression of a rule reads from an event, exact, with its unit."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from rules.cel.checker import check
from rules.cel.codegen import compile_value
from rules.cel.errors import CelError
from rules.fields import PARAMETERS, EventFields, family, first_facts, payload_of, scope
from rules.language import ConditionError

if TYPE_CHECKING:
    from rules.prepared import PreparedRule


_LARGEST = 10**18
_PLACES = 9
"""What is larger, or finer, is no quantity of a household, and would fill the state."""
_NUMBERS = ("int", "double", "money", "dyn")


def bounded(number: Decimal) -> Decimal | None:
    """The number to so many places; None for one that is none, or too large to be kept and shown."""
    if not number.is_finite() or abs(number) >= _LARGEST:
        return None
    short = round(number, _PLACES)
    return number if short == number else short


class Quantity:
    """``part`` names the detector whose ``value`` the expression is, for errors."""

    def __init__(self, source: str, rule: PreparedRule, part: str) -> None:
        tags = dict.fromkeys(map(family, rule.kinds))
        self._read = {tag: _compile(source, rule, tag, part) for tag in tags}

    def of(self, event: Any) -> tuple[Decimal, str] | None:
        """The number and its currency (empty for plain numbers); None where there is none."""
        found = self._read[family(event.kind)](event, payload_of(event), first_facts(event), {})
        if found is None or isinstance(found, (str, bool)):
            return None
        unit = str(getattr(found, "currency", ""))
        number = Decimal(str(found.amount if unit else found))
        short = bounded(number)
        return None if short is None else (short, unit)


def _compile(source: str, rule: PreparedRule, tag: str, part: str) -> Callable[..., Any]:
    environment = EventFields(rule.kinds, here=tag)
    try:
        found = check(source, environment).type
        if found not in _NUMBERS:
            raise ConditionError(f"a {part} needs a number or an amount, not a {found}", (part, "value"))
        return compile_value(source, environment, PARAMETERS, scope(rule.zone))
    except CelError as error:
        raise ConditionError(error.message, (part, "value"), offset=error.offset, remedy=error.remedy) from error
