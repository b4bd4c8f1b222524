"""Reading conjuncts one by one: what each read and whether it held, for explanations (never on the hot path)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from rules.cel.checker import Expr
from rules.cel.codegen import Writer, function
from rules.cel.types import Field
from rules.fields import PARAMETERS, family, fields_of, first_facts, payload_of, scope
from rules.language import Conjunct
from rules.values import encode
from schemas.model import Json
from schemas.trigger import ConditionValue


class Reader:
    """Compiles what explanations need when it is first asked for."""

    def __init__(self, zone: ZoneInfo) -> None:
        self.zone = zone
        self._scope = scope(zone)
        self._tests: dict[int, tuple[Conjunct, Callable[..., Any]]] = {}
        self._fields: dict[str, Callable[..., Any]] = {}

    def holds(self, conjunct: Conjunct, event: Any, case_values: Mapping[str, Any]) -> bool | None:
        """True, false, or None where the condition cannot be evaluated: a field is missing."""
        found = self._tests.get(id(conjunct))
        if found is None:
            constants = dict(self._scope)
            code = Writer(constants).value(conjunct.expr)
            found = self._tests[id(conjunct)] = (conjunct, function(PARAMETERS, f"return {code}", constants))
        answer: bool | None = found[1](event, payload_of(event), first_facts(event), case_values)
        return answer

    def value(self, field: Field, event: Any, case_values: Mapping[str, Any]) -> Any:
        """What an expression reads from this field."""
        if field.code not in self._fields:
            self._fields[field.code] = function(PARAMETERS, f"return {field.code}", self._scope)
        return self._fields[field.code](event, payload_of(event), first_facts(event), case_values)

    def values(self, event: Any) -> EventValues:
        return EventValues(self, event)

    def conditions(
        self, conjuncts: Iterable[Conjunct], event: Any, case_values: Mapping[str, Any]
    ) -> tuple[ConditionValue, ...]:
        return tuple(self._condition(conjunct, event, case_values) for conjunct in conjuncts)

    def _condition(self, conjunct: Conjunct, event: Any, case_values: Mapping[str, Any]) -> ConditionValue:
        read: dict[str, Json] = {}
        for field in conjunct.fields():
            found = self.value(field, event, case_values)
            read[field.name] = None if found is None else _shown(encode(found, field.nominal, self.zone))
        value = next(iter(read.values())) if len(read) == 1 else (read or None)
        return ConditionValue(
            condition=conjunct.text,
            value=value,
            wanted=wanted(conjunct.expr),
            holds=self.holds(conjunct, event, case_values) is True,
        )


class EventValues:
    """What expressions would read from an event, by the name of the field, each read when it is asked for."""

    def __init__(self, reader: Reader, event: Any) -> None:
        self._reader = reader
        self._event = event
        self._fields = fields_of(family(event.kind))

    def get(self, name: str) -> Any:
        """None where the event has no such field, or no value in it."""
        field = self._fields.get(name)
        return None if field is None else self._reader.value(field, self._event, {})

    def nominal(self, name: str) -> str:
        field = self._fields.get(name)
        return field.nominal if field is not None else ""


def _shown(value: Json) -> Json:
    """A long text is not needed to explain a decision."""
    return value[:200] if isinstance(value, str) else value


def wanted(expr: Expr) -> Json:
    """The constant that a simple comparison asks for, with its operator."""
    literals = [arg for arg in expr.args if arg.op == "lit"]
    if len(expr.args) == 2 and len(literals) == 1:
        value = literals[0].value
        return f"{expr.op} {value.isoformat() if isinstance(value, datetime) else value}"
    return None
