"""Conditions: ``match:`` and ``where:`` of a rule become one list of checked conjuncts for each kind of event."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from zoneinfo import ZoneInfo

from rules.cel.checker import Expr, check, conjuncts
from rules.cel.errors import CelError
from rules.cel.types import Field
from rules.fields import TRIGGER, EventFields, StepFields, family, is_kind
from rules.words import WordSet
from schemas import clock
from schemas.event import KINDS
from schemas.rule import Bounds, Condition, Match, Scalar, Words
from schemas.suggest import did_you_mean


class ConditionError(Exception):
    """What is wrong with a part of a rule: ``path`` leads to it, ``offset`` into its text."""

    def __init__(
        self, message: str, path: tuple[str | int, ...], *, offset: int | None = None, remedy: str = ""
    ) -> None:
        super().__init__(message)
        self.message = message
        self.path = path
        self.offset = offset
        self.remedy = remedy

    def __str__(self) -> str:
        """For rules that are made in code; files have places, see rules/loader.py."""
        where = ".".join(str(part) for part in self.path if part != "?")
        return f"{where}: {self.message}" + (f"; {self.remedy}" if self.remedy else "")

    def under(self, *path: str | int) -> ConditionError:
        """The same mistake, seen from further up."""
        return ConditionError(self.message, (*path, *self.path), offset=self.offset, remedy=self.remedy)


class ConditionErrors(Exception):
    """All the mistakes of one rule."""

    def __init__(self, errors: Iterable[ConditionError]) -> None:
        self.errors = tuple(errors)
        super().__init__("\n".join(map(str, self.errors)))


@dataclass(frozen=True, slots=True)
class Conjunct:
    """One thing that must hold. ``text`` as the rule says it. ``on_case``: it reads ``trigger.*``."""

    expr: Expr
    text: str
    on_case: bool = False

    def fields(self) -> Iterator[Field]:
        for part in self.expr.walk():
            if part.op == "field":
                yield part.value


@dataclass(frozen=True, slots=True)
class CheckedCondition:
    """The conjuncts of a condition by family of kinds (a field is read differently in each). ``kinds``: each once."""

    kinds: tuple[str, ...]
    by_family: Mapping[str, tuple[Conjunct, ...]]

    def of(self, kind: str) -> tuple[Conjunct, ...]:
        return self.by_family[family(kind)]


def check_condition(
    condition: Condition,
    zone: ZoneInfo,
    case_kinds: Iterable[str] = (),
    *,
    earlier: Sequence[Iterable[str]] = (),
    later: Sequence[Iterable[str]] = (),
) -> CheckedCondition:
    """All of a condition, checked against the fields of its kinds; ConditionError for the first mistake.

    ``earlier``: for a step of a sequence, the kinds of each step before it. ``later``: for what settles a sequence, the
    kinds of each step after the first.
    """
    for number, kind in enumerate(condition.kind):
        if not is_kind(kind):
            message = f"unknown kind {kind!r}"
            remedy = did_you_mean(kind, KINDS) or "such as mail.received, bank.posted or calendar.scheduled"
            raise ConditionError(message, ("kind", number), remedy=remedy)
    case_kinds = tuple(case_kinds)
    by_family = {}
    for here in dict.fromkeys(map(family, condition.kind)):
        environment = (
            StepFields(condition.kind, earlier, here=here)
            if earlier
            else EventFields(condition.kind, case_kinds, here=here, later=later)
        )
        by_family[here] = tuple(_conjuncts(condition, environment, zone))
    return CheckedCondition(tuple(dict.fromkeys(condition.kind)), by_family)


def _conjuncts(condition: Condition, environment: EventFields, zone: ZoneInfo) -> Iterator[Conjunct]:
    for name, wanted in condition.match.items():
        field = environment.field(name)
        if field is None:
            remedy = did_you_mean(name, environment.names())
            raise ConditionError(f"unknown field {name!r}", ("match", name, "?"), remedy=remedy)
        try:
            found = list(_matching(field, wanted, zone))
        except ConditionError as error:
            raise error.under("match", name) from error
        for expr, text in found:
            yield Conjunct(expr, f"{name} {text}", field.name.startswith(TRIGGER))
    if condition.where:
        yield from _where(condition.where, environment)


def _where(source: str, environment: EventFields) -> Iterator[Conjunct]:
    try:
        whole = check(source, environment, wanted="bool")
    except CelError as error:
        raise ConditionError(error.message, ("where",), offset=error.offset, remedy=error.remedy) from error
    for expr in conjuncts(whole):
        on_case = any(part.op == "field" and part.value.name.startswith(TRIGGER) for part in expr.walk())
        yield Conjunct(expr, source[expr.start : expr.end], on_case)


# --- match ---------------------------------------------------------------------------------------------------------

_BOUNDS = {"below": "<", "at_most": "<=", "above": ">", "at_least": ">="}


def _matching(field: Field, wanted: Match, zone: ZoneInfo) -> Iterator[tuple[Expr, str]]:
    here = Expr("field", field.type, 0, 0, value=field)
    if isinstance(wanted, Words):
        if field.type != "string":
            raise ConditionError(f"{field.name} is no text", (), remedy="words need a text")
        yield Expr("words", "bool", 0, 0, (here,), WordSet(wanted.words)), f"has one of {', '.join(wanted.words)}"
    elif isinstance(wanted, Bounds):
        for name, op in _BOUNDS.items():
            bound = getattr(wanted, name)
            if bound is not None:
                yield Expr(op, "bool", 0, 0, (here, _literal(field, bound, zone))), f"{op} {bound}"
    else:
        values = wanted if isinstance(wanted, tuple) else (wanted,)
        yield _one_of(here, field, values, zone), f"is {' or '.join(map(str, values))}"


def _one_of(here: Expr, field: Field, values: tuple[Scalar, ...], zone: ZoneInfo) -> Expr:
    literals = tuple(_literal(field, value, zone) for value in values)
    if not literals:
        raise ConditionError("an empty list never matches", (), remedy="name at least one value")
    if field.type == "list":
        tests = [Expr("in", "bool", 0, 0, (literal, here)) for literal in literals]
    elif field.type in ("string", "int") and len(literals) > 1:
        return Expr("in", "bool", 0, 0, (here, Expr("list", "list", 0, 0, literals)))
    else:
        tests = [Expr("==", "bool", 0, 0, (here, literal)) for literal in literals]
    return tests[0] if len(tests) == 1 else Expr("||", "bool", 0, 0, tuple(tests))


def _literal(field: Field, value: Scalar, zone: ZoneInfo) -> Expr:
    match field.type, value:
        case "bool", bool():
            return Expr("lit", "bool", 0, 0, value=value)
        case (("string" | "list" | "dyn"), str()):
            if field.choices and value not in field.choices:
                remedy = did_you_mean(value, field.choices)
                raise ConditionError(f"{field.name} is never {value!r}", (), remedy=remedy)
            return Expr("lit", "string", 0, 0, value=value)
        case (("int" | "double" | "money" | "dyn"), (int() | float())) if not isinstance(value, bool):
            return Expr("lit", "int" if isinstance(value, int) else "double", 0, 0, value=value)
        case "timestamp", str():
            return Expr("lit", "timestamp", 0, 0, value=_instant(field, value, zone))
    remedy = "write a number, or bounds such as {below: -40}" if field.type == "money" else ""
    raise ConditionError(f"{field.name} is a {field.type}, {value!r} is not", (), remedy=remedy)


def _instant(field: Field, text: str, zone: ZoneInfo) -> datetime:
    try:
        if len(text) == len("2026-01-31"):
            return clock.start_of_day(date.fromisoformat(text), zone)
        instant = datetime.fromisoformat(text)
    except ValueError as error:
        remedy = "write such as 2026-01-31"
        raise ConditionError(f"not a date: {text!r}", (), remedy=remedy) from error
    return instant.astimezone(zone) if instant.tzinfo else instant.replace(tzinfo=zone)
