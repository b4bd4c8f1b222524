"""Values: what an event said, as labelled values for the plan, and back again for ``trigger.*`` and titles (law L4)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from rules.cel.codegen import function
from rules.cel.runtime import Cash
from rules.cel.types import Field
from rules.fields import family, first_facts, kept_fields, payload_of, scope
from schemas import clock
from schemas.event import Trust
from schemas.fact import Span
from schemas.model import Json
from schemas.value import Integrity, Value

INTEGRITY: dict[Trust, Integrity] = {
    "self": Integrity.USER,
    "service": Integrity.KNOWN,
    "outside": Integrity.UNTRUSTED,
}

_OURS = frozenset(("id", "account"))
"""What Forewatch itself says of an event, whoever wrote it."""
_LONGEST = 400
"""Characters of a text value; a plan never needs a page."""


class ValueReader:
    """Reads the labelled values of an event, by the canonical names of its fields."""

    def __init__(self, zone: ZoneInfo) -> None:
        self._zone = zone
        self._scope = scope(zone)
        self._readers: dict[str, tuple[tuple[Field, ...], Callable[..., tuple[Any, ...]]]] = {}

    def read(self, event: Any) -> dict[str, Value]:
        tag = family(event.kind)
        if tag not in self._readers:
            self._readers[tag] = _reader(tag, self._scope)
        fields, reader = self._readers[tag]
        facts = first_facts(event)
        values: dict[str, Value] = {}
        for field, found in zip(fields, reader(event, payload_of(event), facts, {}), strict=True):
            if found is not None and found != "" and found != ():
                values[field.name] = self._value(event, field, found, facts)
        return values

    def _value(self, event: Any, field: Field, found: Any, facts: Mapping[str, Any]) -> Value:
        return Value(
            v=encode(found, field.nominal, self._zone),
            type=field.nominal,
            sources=(event.id,),
            integrity=Integrity.SYSTEM if field.name in _OURS else INTEGRITY[event.trust],
            how="extracted",
            span=span_of(facts.get(field.fact)),
        )

    def decode(self, values: Mapping[str, Value]) -> dict[str, Any]:
        """The values as expressions read them: money as Cash, days and instants as aware datetimes."""
        return {name: decode(value.v, value.type, self._zone) for name, value in values.items()}

    def decode_json(self, values: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """The same from the JSON of values, as cases keep them."""
        return {name: decode(value.get("v"), value.get("type", "Text"), self._zone) for name, value in values.items()}


def decode(v: Json, nominal: str, zone: ZoneInfo) -> Any:
    match nominal, v:
        case "Money", {"amount": amount, "currency": currency}:
            return Cash(Decimal(str(amount)), str(currency))
        case "Date", str(text):
            return clock.start_of_day(date.fromisoformat(text), zone)
        case "DateTime", str(text):
            return datetime.fromisoformat(text)
        case _, plain:
            return plain


def _reader(tag: str, shared: Mapping[str, Any]) -> tuple[tuple[Field, ...], Callable[..., tuple[Any, ...]]]:
    fields = kept_fields(tag)
    return fields, function("e, p, F, t", f"return ({''.join(f'{field.code}, ' for field in fields)})", shared)


def span_of(fact: Any) -> Span | None:
    """The span of a fact of any model, as ours."""
    span = getattr(fact, "span", None)
    if span is None or isinstance(span, Span):
        return span
    return Span(part=span.part, start=span.start, end=span.end, quote=span.quote)


def encode(found: Any, nominal: str, zone: ZoneInfo) -> Json:
    """JSON of a value in the form of its nominal type."""
    if nominal == "Money":
        return {"amount": format(found.amount, "f"), "currency": found.currency}
    if nominal == "Date":
        return str(found.astimezone(zone).date())
    if isinstance(found, datetime):
        return found.astimezone(UTC).isoformat()
    if isinstance(found, (tuple, list)):
        return [str(item)[:_LONGEST] for item in list(found)[:50]]
    plain: Json = found[:_LONGEST] if isinstance(found, str) else found
    return plain


def literal(v: Json, nominal: str, rule: str) -> Value:
    """A value that the rule itself says."""
    return Value(v=v, type=nominal, sources=(rule,), integrity=Integrity.SYSTEM, how="rule")


def derived(v: Json, nominal: str, sources: Iterable[str], integrity: Integrity) -> Value:
    """A value that a detector computed from events."""
    return Value(v=v, type=nominal, sources=tuple(sources), integrity=integrity, how="rule")
