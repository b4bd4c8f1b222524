"""Mapping: a row and the ``map`` of its stream to what an event needs. Pure; a value of the wrong kind is Drift."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

from pydantic import ValidationError

from extractors.rest.definition import Definition, Stream
from extractors.rest.expression import Unfit, holds, search
from extractors.rest.mapped import AmountMap, EventMap, MatterMap, PartyMap, TimeMap
from extractors.rest.row import Moment, Row, RowMatter, RowParty
from extractors.rest.stamp import Stamps
from extractors.text import one_line
from schemas.clock import zone as zone_of
from schemas.event import TEXT_CAP
from schemas.model import Json
from schemas.money import Money, decimal

TITLE_CAP, NAME_CAP, URL_CAP = 500, 300, 2_000
_UTC = zone_of("UTC")


class Drift(ValueError):
    """The row has not the shape that the definition expects."""


def mapped(definition: Definition, stream: Stream, key: str, row: dict[str, Json]) -> Row:
    """``key`` is the row's id. Everything that the map leaves out, and what is null in the row, stays empty."""
    rules = stream.map
    try:
        return Row(
            system=definition.name,
            stream=stream.name,
            kind=stream.kind,
            id=key,
            title=_text(rules.title, row, "title", TITLE_CAP),
            text=_body(rules, row),
            amount=_amount(rules.amount, row),
            due=_moment(rules.due, definition, row, "due"),
            due_what=rules.due.what if rules.due else "do",
            starts=_moment(rules.starts, definition, row, "starts"),
            ends=_moment(rules.ends, definition, row, "ends"),
            occurred=_moment(rules.occurred, definition, row, "occurred"),
            party=_party(rules.party, row),
            url=_url(rules, row),
            status=_text(rules.status, row, "status", 100),
            matter=_matter(rules.matter, row),
            outcome=rules.resolved.outcome if rules.resolved and holds(rules.resolved.when, row) else "",
            trust=rules.trust,
            fields=row,
        )
    except (Unfit, ValidationError) as error:
        raise Drift(f"the map does not fit: {str(error).partition(chr(10))[0][:200]}") from error


def _found(expression: str | None, row: Json) -> Json:
    return None if expression is None else search(expression, row)


def _text(expression: str | None, row: Json, what: str, cap: int) -> str:
    found = _found(expression, row)
    if found is None:
        return ""
    if isinstance(found, bool) or not isinstance(found, str | int | float):
        raise Drift(f"{what} is a {_kind(found)}, not a text")
    return one_line(str(found), cap)


def _body(rules: EventMap, row: Json) -> str:
    """Lines stay; ``normalise`` cleans them."""
    found = _found(rules.text, row)
    if isinstance(found, list) and all(isinstance(line, str) for line in found):
        found = "\n".join(map(str, found))
    if found is not None and not isinstance(found, str):
        raise Drift(f"text is a {_kind(found)}, not a text")
    return (found or "")[: 4 * TEXT_CAP]


def _amount(rules: AmountMap | None, row: Json) -> Money | None:
    if rules is None or (value := search(rules.value, row)) is None:
        return None
    currency = rules.currency_code or _found(rules.currency, row)
    if not isinstance(currency, str):
        raise Drift(f"currency is a {_kind(currency)}, not a code")
    try:
        number = _number(value)
        if rules.minor_units:
            if number != number.to_integral_value():
                raise Drift(f"amount {number} has a fraction, and minor units have none")
            money = Money.from_minor(int(number), currency.strip().upper())
        else:
            money = Money.of(number, currency.strip().upper())
    except (ValidationError, InvalidOperation, ValueError) as error:
        raise Drift(f"amount {str(value)[:40]!r} {currency[:10]!r} is no money") from error
    return -money if rules.negate else money


def _number(value: Json) -> Decimal:
    """A JSON number or a plain decimal in text. The shortest decimal of a float is what the source wrote, but for the
    noise that its own arithmetic left behind the sixth digit."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError("no number")
    if isinstance(value, float):
        return round(Decimal(repr(value)), 6)
    return decimal(value) if isinstance(value, str) else Decimal(value)


def _moment(rules: TimeMap | None, definition: Definition, row: Json, what: str) -> Moment | None:
    if rules is None or (value := search(rules.value, row)) in (None, ""):
        return None
    try:
        return Moment(text=_time(value, rules.format), zone=definition.zone)
    except (ValueError, OverflowError, TypeError) as error:
        raise Drift(f"{what} {str(value)[:40]!r} is no time ({rules.format})") from error


def _time(value: Json, format: str) -> str:
    """A bare date stays one, and a wall time stays without an offset."""
    if format.startswith("epoch"):
        return _instant(Stamps(format, _UTC).read(value))
    if not isinstance(value, str):
        raise ValueError("no text")
    if "%" in format:
        moment = datetime.strptime(value.strip(), format)  # noqa: DTZ007 - wall times stay wall times
        return moment.isoformat() if any(f"%{letter}" in format for letter in "HMSf") else moment.date().isoformat()
    text = value.strip()[:40]
    if len(text) == 10:
        return date.fromisoformat(text).isoformat()
    moment = datetime.fromisoformat(text)
    if not 1 < moment.year < 9_999:
        raise ValueError("no year")
    return moment.isoformat()


def _instant(stamp: int) -> str:
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=stamp)).isoformat()


def _party(rules: PartyMap | None, row: Json) -> RowParty | None:
    if rules is None:
        return None
    name = _text(rules.name, row, "party", NAME_CAP)
    address = _text(rules.address, row, "address", 320)
    return RowParty(name=name, address=address, role=rules.role) if name or address else None


def _url(rules: EventMap, row: Json) -> str:
    """Only web addresses: nobody shall click on anything else."""
    url = _text(rules.url, row, "url", URL_CAP)
    return url if url.lower().startswith(("https://", "http://")) else ""


def _matter(rules: MatterMap | None, row: Json) -> RowMatter | None:
    if rules is None:
        return None
    if rules.key is not None:
        key = _text(rules.key, row, "matter", 200)
        return RowMatter(key=key) if key else None
    number = _text(rules.invoice, row, "invoice", 80)
    issuer = _text(rules.issuer, row, "issuer", 200)
    domain = _text(rules.domain, row, "domain", 255)
    return RowMatter(invoice=number, issuer=issuer, domain=domain) if number else None


def _kind(value: Any) -> str:
    return {dict: "mapping", list: "list", bool: "truth value", type(None): "null"}.get(type(value), "number")
