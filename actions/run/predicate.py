"""Typed comparisons: what a guard, a repeated question and a wait for an event hold a value against. No code, no maths.

Money compares in one currency only, numbers as numbers, dates and instants as such, text without regard to case; what
cannot be compared does not hold.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal, InvalidOperation

from schemas.model import Json
from schemas.plan import Op

ORDERED: frozenset[Op] = frozenset({"below", "above", "at_least", "at_most"})


def holds(op: Op, value: Json, wanted: Json) -> bool:
    """``value`` None is a value that is not there."""
    match op:
        case "present":
            return value not in (None, "", [], {})
        case "is":
            return value is not None and _same(value, wanted)
        case "is_not":
            return value is None or not _same(value, wanted)
        case "contains":
            return isinstance(value, str) and isinstance(wanted, str) and wanted.casefold() in value.casefold()
    found = _ordered(value, wanted)
    if found is None:
        return False
    have, bound = found
    return {"below": have < bound, "above": have > bound, "at_least": have >= bound, "at_most": have <= bound}[op]


def plain(value: Json) -> Json:
    """The form in which equal values are equal: text without case and the brackets of message ids, money as its
    normalised amount."""
    if isinstance(value, str):
        return value.strip().strip("<>").casefold()
    if isinstance(value, dict) and set(value) == {"amount", "currency"}:
        number = _number(value["amount"])
        return f"{number.normalize():f} {value['currency']}" if number is not None else value
    return value


def _same(value: Json, wanted: Json) -> bool:
    if isinstance(value, bool) or isinstance(wanted, bool):
        return value is wanted
    return plain(value) == plain(wanted)


def _ordered(value: Json, wanted: Json) -> tuple[Decimal, Decimal] | None:
    if isinstance(value, dict) and isinstance(wanted, dict):
        if value.get("currency") != wanted.get("currency"):
            return None
        value, wanted = value.get("amount"), wanted.get("amount")
    have, bound = _number(value), _number(wanted)
    if have is None or bound is None:
        have, bound = _instant(value), _instant(wanted)
    return (have, bound) if have is not None and bound is not None else None


def _number(value: Json) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _instant(value: Json) -> Decimal | None:
    """Days count from their first instant in UTC: two days compare, a day and an instant nearly do."""
    if not isinstance(value, str):
        return None
    try:
        if len(value) == 10:
            return Decimal(datetime.combine(date.fromisoformat(value), time(0), UTC).timestamp())
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    return Decimal(repr(moment.timestamp())) if moment.tzinfo else None
