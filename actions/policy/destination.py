"""Where an act goes and how much it moves, in one spelling each: what payees, permissions and rates are counted by."""

from __future__ import annotations

from collections.abc import Mapping

from actions import nominal
from schemas.money import Money
from schemas.value import Value

TYPES = frozenset({"Email", "Iban", "Url"})


def is_destination(value: Value) -> bool:
    return value.type in TYPES and isinstance(value.v, str)


def canonical(value: Value) -> str:
    """One spelling of a destination: an account number without spaces, an address in lower case."""
    text = str(value.v)
    return text.replace(" ", "").upper() if value.type == "Iban" else text.strip().casefold()


def money_in(value: Value) -> Money | None:
    """The sum of a value without its sign; None for one of another type, which a foreign tool may have for a sum."""
    if value.type != "Money" or nominal.fault("Money", value.v):
        return None
    money = Money.model_validate(value.v)
    return money.model_copy(update={"amount": abs(money.amount)})


def amount_of(args: Mapping[str, Value]) -> Money | None:
    """The first sum of money among the arguments."""
    return next((money for value in args.values() if (money := money_in(value))), None)
