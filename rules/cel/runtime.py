"""What generated code calls. None is CEL's error (and its missing value): it passes through every operation."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal, DecimalException
from math import isfinite
from operator import ge, gt, le, lt
from typing import Any, NamedTuple, Protocol


class MoneyLike(Protocol):
    """Money of any model: pydantic's, msgspec's or Cash."""

    @property
    def amount(self) -> Decimal: ...
    @property
    def currency(self) -> str: ...


class Cash(NamedTuple):
    """Money as expressions make it."""

    amount: Decimal
    currency: str


_INT_MIN, _INT_MAX = -(2**63), 2**63 - 1


def _fits(value: int) -> int | None:
    return value if _INT_MIN <= value <= _INT_MAX else None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_money(value: Any) -> bool:
    return hasattr(value, "currency")


def to_decimal(value: float | None) -> Decimal | None:
    """The decimal that prints like the number: 12.3 is exactly 12.3."""
    return Decimal(repr(value)) if value is not None and isfinite(value) else None


# --- arithmetic --------------------------------------------------------------------------------------------------


def add(left: Any, right: Any) -> Any:
    if left is None or right is None:
        return None
    if is_money(left) and is_money(right):
        return Cash(left.amount + right.amount, left.currency) if left.currency == right.currency else None
    if _same_number(left, right):
        return _fits(left + right) if isinstance(left, int) else left + right
    if isinstance(left, str) and isinstance(right, str):
        return left + right if len(left) + len(right) <= 100_000 else None
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return [*left, *right]
    return _shift(left, right)


def _shift(left: Any, right: Any) -> Any:
    kinds = (datetime, timedelta)
    if isinstance(left, kinds) and isinstance(right, kinds) and timedelta in (type(left), type(right)):
        try:
            return left + right  # type: ignore[operator]  # at least one is a timedelta
        except OverflowError:
            return None
    return None


def subtract(left: Any, right: Any) -> Any:
    if isinstance(left, datetime) and isinstance(right, datetime):
        return left - right
    if isinstance(right, (str, list, tuple)):
        return None
    if isinstance(right, int) and not isinstance(right, bool) and isinstance(left, int):
        return _fits(left - right)
    return add(left, negate(right))


def negate(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return None
    if is_money(value):
        return Cash(-value.amount, value.currency)
    if isinstance(value, int):
        return _fits(-value)
    return -value if isinstance(value, (float, timedelta)) else None


def multiply(left: Any, right: Any) -> Any:
    if left is None or right is None:
        return None
    if is_money(right) and _is_number(left):
        left, right = right, left
    if is_money(left) and _is_number(right):
        return _scaled(left, to_decimal(right), Decimal.__mul__)
    if _same_number(left, right):
        return _fits(left * right) if isinstance(left, int) else left * right
    return None


def divide(left: Any, right: Any) -> Any:
    if left is None or right is None:
        return None
    if is_money(left) and is_money(right):
        return _ratio(left, right)
    if is_money(left) and _is_number(right):
        return _scaled(left, to_decimal(right), Decimal.__truediv__)
    if not _same_number(left, right):
        return None
    return _quotient(left, right) if isinstance(left, int) else _float_quotient(left, right)


def remainder(left: Any, right: Any) -> Any:
    """With the sign of the dividend, as CEL has it."""
    if not (_same_number(left, right) and isinstance(left, int)) or right == 0:
        return None
    return abs(left) % abs(right) * (1 if left >= 0 else -1) if (left, right) != (_INT_MIN, -1) else None


def _same_number(left: Any, right: Any) -> bool:
    return type(left) is type(right) and type(left) in (int, float)


def _quotient(left: int, right: int) -> int | None:
    if right == 0:
        return None
    magnitude = abs(left) // abs(right)
    return _fits(magnitude if (left < 0) == (right < 0) else -magnitude)


def _float_quotient(left: float, right: float) -> float:
    if right:
        return left / right
    return float("nan") if left == 0 or left != left else float("inf") * left * (1 if str(right)[0] != "-" else -1)


def _scaled(money: MoneyLike, by: Decimal | None, how: Callable[[Decimal, Decimal], Decimal]) -> Cash | None:
    try:
        return None if by is None else Cash(how(money.amount, by), money.currency)
    except DecimalException:
        return None


def _ratio(left: MoneyLike, right: MoneyLike) -> float | None:
    if left.currency != right.currency or not right.amount:
        return None
    return float(left.amount / right.amount)


# --- comparison --------------------------------------------------------------------------------------------------

_ORDERS: dict[str, Callable[[Any, Any], bool]] = {"<": lt, "<=": le, ">": gt, ">=": ge}


def equal(left: Any, right: Any) -> bool | None:
    """CEL's heterogeneous equality: numbers by value, different types are different."""
    if left is None or right is None:
        return None
    if is_money(left) or is_money(right):
        return _equal_money(left, right)
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(equal(*pair) is True for pair in zip(left, right, strict=True))
    if _is_number(left) and _is_number(right):
        return bool(left == right)
    return type(left) is type(right) and bool(left == right)


def _equal_money(left: Any, right: Any) -> bool:
    if is_money(left) and is_money(right):
        return bool(left.amount == right.amount and left.currency == right.currency)
    money, other = (left, right) if is_money(left) else (right, left)
    return _is_number(other) and bool(money.amount == to_decimal(other))


def compare(op: str, left: Any, right: Any) -> bool | None:
    """An order, or None where the two have none."""
    if left is None or right is None:
        return None
    if is_money(left) and is_money(right):
        return _ORDERS[op](left.amount, right.amount) if left.currency == right.currency else None
    left, right = (_plain(value, other) for value, other in ((left, right), (right, left)))
    same = type(left) is type(right) or (_is_number(left) and _is_number(right))
    ordered = isinstance(left, (bool, int, float, Decimal, str, datetime, timedelta))
    return _ORDERS[op](left, right) if same and ordered else None


def _plain(value: Any, other: Any) -> Any:
    """Money beside a number counts by its amount."""
    if is_money(value):
        return value.amount
    return to_decimal(value) if is_money(other) and _is_number(value) else value


def member(item: Any, items: Any) -> bool | None:
    if item is None or not isinstance(items, (list, tuple, dict)):
        return None
    return any(equal(item, other) is True for other in items)


def item(items: Any, index: Any) -> Any:
    if isinstance(items, dict) and isinstance(index, str):
        return items.get(index)
    if isinstance(items, (list, tuple)) and isinstance(index, int) and not isinstance(index, bool):
        return items[index] if 0 <= index < len(items) else None
    return None


# --- functions ---------------------------------------------------------------------------------------------------


def text(value: Any) -> str | None:
    """A text, of a value whose type is known only now."""
    return value if isinstance(value, str) else None


def size(value: Any) -> int | None:
    return len(value) if isinstance(value, (str, list, tuple, dict)) else None


def lower(value: Any) -> str | None:
    return value.lower() if isinstance(value, str) else None


def absolute(value: Any) -> Any:
    if is_money(value):
        return Cash(abs(value.amount), value.currency)
    if not _is_number(value):
        return None
    return _fits(abs(value)) if isinstance(value, int) else abs(value)
