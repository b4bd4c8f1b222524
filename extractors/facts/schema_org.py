"""Reading schema.org objects, which every sender shapes a little differently: each value may be plain, an object or a
list, and any of them may be nonsense."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, time
from typing import Any, NamedTuple

from extractors.facts import money as grammar
from extractors.facts.context import TextContext
from extractors.text import one_line
from schemas.clock import at_local, local_day
from schemas.money import Money

Object = Mapping[str, Any]


class Time(NamedTuple):
    """``is_certain``: the source gave an offset; else the owner's zone was taken."""

    instant: datetime
    is_certain: bool


def type_of(item: Object) -> str:
    """The last word of its (first) type, without the address of the vocabulary."""
    return _last_word(_first(item.get("@type")))


def word(item: Object, key: str) -> str:
    """An enumeration value (http://schema.org/PaymentDue) as its word; "" where there is none."""
    value = _first(item.get(key))
    return _last_word(value.get("@id", value.get("name", "")) if isinstance(value, Mapping) else value)


def text(item: Object, *keys: str, cap: int = 200) -> str | None:
    """The first of these that is a word or number (or an object with a value or name)."""
    for key in keys:
        value = _first(item.get(key))
        if isinstance(value, Mapping):
            value = _first(value.get("value", value.get("name", value.get("@id"))))
        if isinstance(value, str | int | float) and not isinstance(value, bool) and one_line(str(value), cap):
            return one_line(str(value), cap)
    return None


def name(item: Object, *keys: str) -> str | None:
    """The name of the first of these things or people."""
    for key in keys:
        value = _first(item.get(key))
        found = text(value, "name", "legalName") if isinstance(value, Mapping) else text({"v": value}, "v")
        if isinstance(value, Mapping) and not found:
            found = " ".join(filter(None, (text(value, "givenName"), text(value, "familyName")))) or None
        if found:
            return found
    return None


def objects(item: Object, key: str) -> list[Object]:
    value = item.get(key)
    return [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, Mapping)]


def money(item: Object, *keys: str) -> Money | None:
    """A PriceSpecification, MonetaryAmount, Offer, or "1.234,56 EUR" in words."""
    for key in keys:
        value = _first(item.get(key))
        if isinstance(value, Mapping):
            value = {**_nested_price(value), **value}
            written = text(value, "price", "value", "totalPrice")
            currency = text(value, "priceCurrency", "currency")
            found = _money(written, currency)
        else:
            found = _money(text(item, key), text(item, "priceCurrency", "currency"))
        if found is not None:
            return found
    return None


def _nested_price(value: Object) -> Object:
    for key in ("acceptedOffer", "priceSpecification", "offers"):
        for inner in objects(value, key):
            if "price" in inner:
                return {k: inner[k] for k in ("price", "priceCurrency") if k in inner}
    return {}


def _money(written: str | None, currency: str | None) -> Money | None:
    if written is None:
        return None
    code = (currency or "").upper()
    if not re.fullmatch(r"[A-Z]{3}", code):
        found = grammar.find(f"{written} {currency or ''}".strip())
        return found[0].money if found else None
    number = re.fullmatch(r"\D{0,8}?(\d[\d.,'’ ]*)\D{0,8}", written)
    try:
        if re.fullmatch(r"\s*\d+(?:\.\d+)?\s*", written):  # the form that schema.org asks for
            return Money.of(written.strip(), code)
        return Money.of(grammar.number(number[1].rstrip(".,'’ "), code), code) if number else None
    except (ValueError, ArithmeticError):
        return None


def day(item: Object, context: TextContext, *keys: str) -> date | None:
    """A date; an instant is the owner's local day of it."""
    for key in keys:
        written = _written_time(item.get(key))
        if re.fullmatch(r"\d{4}-\d\d-\d\d", written):
            return _date(written)
        if at := _instant(written, context):
            return local_day(at.instant, context.zone)
    return None


def time_of(item: Object, context: TextContext, *keys: str) -> Time | None:
    """An instant; a bare date is the start of that day where the owner is."""
    for key in keys:
        if at := _instant(_written_time(item.get(key)), context):
            return at
    return None


def _instant(written: str, context: TextContext) -> Time | None:
    if re.fullmatch(r"\d{4}-\d\d-\d\d", written):
        found = _date(written)
        return Time(at_local(found, time(0), context.zone), False) if found else None
    try:
        at = datetime.fromisoformat(written)
        if at.tzinfo is None:
            return Time(at_local(at.date(), at.time(), context.zone), False)
        return Time(at.astimezone(UTC), True)
    except (ValueError, OverflowError):
        return None


def _date(written: str) -> date | None:
    try:
        return date.fromisoformat(written)
    except ValueError:
        return None


def _written_time(value: Any) -> str:
    value = _first(value)
    if isinstance(value, Mapping):
        value = value.get("@value", "")
    return value.strip() if isinstance(value, str) else ""


def _first(value: Any) -> Any:
    return (value[0] if value else None) if isinstance(value, list) else value


def _last_word(value: Any) -> str:
    return re.split(r"[/#:]", value.rstrip("/"))[-1] if isinstance(value, str) else ""
