"""Where an act goes and how much it moves, in one spelling each: what payees, permissions and rates are counted by."""

from __future__ import annotations

import re
from collections.abc import Mapping

from actions import nominal
from schemas.money import Money
from schemas.value import Value

TYPES = frozenset({"Email", "Iban", "Url"})
_HEAD = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*:/*)?([^/?#]*)")


def is_destination(value: Value) -> bool:
    return value.type in TYPES and isinstance(value.v, str)


def canonical(value: Value) -> str:
    """One spelling of a destination: an account number without spaces; a mail address in lower case, as events have
    them; a web address by ``one_spelling``."""
    text = str(value.v).strip()
    match value.type:
        case "Iban":
            return text.replace(" ", "").upper()
        case "Email":
            return text.lower()
        case "Url":
            return one_spelling(text)
    return text


def one_spelling(address: str) -> str:
    """Of a web address, with or without its scheme. Scheme and host know no case (they are put in lower case and not
    folded: ß is another host than ss); whoever signs in, path and query do."""
    head = _HEAD.match(address)
    assert head is not None  # it may be empty
    scheme, authority = head.groups(default="")
    user, at, host = authority.rpartition("@")
    return f"{scheme.lower()}{user}{at}{host.lower()}{address[head.end() :]}"


def money_in(value: Value) -> Money | None:
    """The sum of a value without its sign; None for one of another type, which a foreign tool may have for a sum."""
    if value.type != "Money" or nominal.fault("Money", value.v):
        return None
    money = Money.model_validate(value.v)
    return money.model_copy(update={"amount": abs(money.amount)})


def amount_of(args: Mapping[str, Value]) -> Money | None:
    """The first sum of money among the arguments."""
    return next((money for value in args.values() if (money := money_in(value))), None)
