"""Where an act goes and how much it moves, in one spelling each: what payees, permissions and rates are counted by."""

from __future__ import annotations

from collections.abc import Mapping

from schemas.money import Money
from schemas.value import Value

TYPES = frozenset({"Email", "Iban", "Url"})


def is_destination(value: Value) -> bool:
    return value.type in TYPES and isinstance(value.v, str)


def canonical(value: Value) -> str:
    """One spelling of a destination: an account number without spaces, an address in lower case."""
    text = str(value.v)
    return text.replace(" ", "").upper() if value.type == "Iban" else text.strip().casefold()


def amount_of(args: Mapping[str, Value]) -> Money | None:
    """The sum of money among the arguments, without its sign."""
    found = [value.v for value in args.values() if value.type == "Money" and value.v is not None]
    if not found:
        return None
    money = Money.model_validate(found[0])
    return money.model_copy(update={"amount": abs(money.amount)})
