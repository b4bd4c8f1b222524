"""Lint: rules that are well formed and yet cannot do what their author wants."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rules.cel.checker import Expr
from rules.cel.types import Field
from rules.fields import family, fields_of
from rules.guard import Guard
from rules.language import CheckedCondition, Conjunct
from rules.prepared import PreparedRule
from rules.ruleset import RuleSet
from rules.windowed import WindowDetector
from schemas.errors import Location

Code = Literal[
    "step_never_holds", "step_unlinked", "inhibit_circle", "inhibits_itself", "always_quiet",
    "no_rules", "cannot_fire", "unless_never_holds", "unless_unlinked", "field_of_other_kind", "duplicate", "shadowed",
    "lead_too_long", "lead_twice", "unused_key", "unused_cooldown", "no_examples",
    "series_without_key", "steady_without_by",
]  # fmt: skip
LONGEST_LEAD_DAYS = 400
"""Nobody is told of a date so long before; a longer lead always fires at once."""


@dataclass(frozen=True, slots=True)
class LintWarning:
    rule: str
    code: Code
    message: str
    place: Location | None = None

    def __str__(self) -> str:
        where = f"{self.place}: " if self.place is not None else ""
        return f"{where}{self.rule}: {self.message}" if self.rule else f"{where}{self.message}"


def lint(rules: RuleSet) -> list[LintWarning]:
    """All warnings, in the order of the rules."""
    if not len(rules):
        return [LintWarning("", "no_rules", "there are no rules; nothing will ever be noticed")]
    found = [warning for rule in rules for warning in _of_rule(rule)]
    return [*found, *_circles(rules), *_between(list(rules))]


def _of_rule(rule: PreparedRule) -> Iterator[LintWarning]:
    for code, message in (
        *_conditions(rule),
        *_unless(rule),
        *_sequence(rule),
        *_deadline(rule),
        *_windows(rule),
        *_unused(rule),
        *_modifiers(rule),
        *_series(rule),
        *_examples(rule),
    ):
        yield LintWarning(rule.id, code, message, rule.place)


Finding = tuple[Code, str]


# --- conditions ------------------------------------------------------------------------------------------------------


def _conditions(rule: PreparedRule) -> Iterator[Finding]:
    for condition in rule.when:
        reasons = {_contradiction(conjuncts) for conjuncts in condition.by_family.values()}
        if "" not in reasons:
            yield "cannot_fire", f"it can never fire: {sorted(reasons)[0]}"
        yield from _fields_of_other_kinds(condition)


def _fields_of_other_kinds(condition: CheckedCondition) -> Iterator[Finding]:
    for kind in condition.kinds if len(condition.by_family) > 1 else ():
        for name in _needed(condition.of(kind)):
            if name not in fields_of(family(kind)):
                yield "field_of_other_kind", f"{kind} has no {name}, so events of that kind never match"


def _needed(conjuncts: Iterable[Conjunct]) -> Iterator[str]:
    """Fields without which the condition cannot hold."""
    for conjunct in conjuncts:
        if conjunct.expr.op not in ("||", "!", "?"):
            yield from (field.name for field in conjunct.fields())


def _contradiction(conjuncts: Sequence[Conjunct]) -> str:
    """Why no event can satisfy all of them; empty if none is seen."""
    equal: dict[str, set[Any]] = {}
    least: dict[str, Any] = {}
    most: dict[str, Any] = {}
    for conjunct in conjuncts:
        expr = conjunct.expr
        if expr.op == "lit" and expr.value is False:
            return f"{conjunct.text!r} is false"
        field, op, value = _simple(expr)
        if field is None:
            continue
        name = field.name
        if op == "in":
            equal[name] = equal.get(name, set(value)) & set(value)
            if not equal[name]:
                return f"{name} cannot be two things at once"
        elif op in ("<", "<="):
            most[name] = min(most.get(name, value), value)
        elif op in (">", ">="):
            least[name] = max(least.get(name, value), value)
    for name in least.keys() & most.keys():
        if least[name] > most[name]:
            return f"{name} cannot be above {least[name]} and below {most[name]}"
    return ""


_MIRROR = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "=="}


def _simple(expr: Expr) -> tuple[Field | None, str, Any]:
    """A comparison of one field with constants: the field, the operator (equality is ``in``), the constants."""
    if expr.op == "in" and expr.args[0].op == "field" and all(arg.op == "lit" for arg in expr.args[1].args):
        return expr.args[0].value, "in", {arg.value for arg in expr.args[1].args} or {None}
    if expr.op not in _MIRROR or {arg.op for arg in expr.args} != {"field", "lit"}:
        return None, "", None
    left, right = expr.args
    op = expr.op if left.op == "field" else _MIRROR[expr.op]
    field, literal = (left, right) if left.op == "field" else (right, left)
    if op == "==":
        return field.value, "in", {literal.value}
    return field.value, op, literal.value


# --- modifiers -------------------------------------------------------------------------------------------------------


def _unless(rule: PreparedRule) -> Iterator[Finding]:
    for guard in rule.guards:
        reasons = {_contradiction(conjuncts) for conjuncts in guard.condition.by_family.values()}
        if "" not in reasons or not (guard.within or guard.before):
            why = sorted(reasons)[0] or "its window is empty"
            yield "unless_never_holds", f"{_named(guard)} can never hold: {why}"
        elif not any(conjunct.on_case for conjuncts in guard.condition.by_family.values() for conjunct in conjuncts):
            yield "unless_unlinked", f"any such event settles every open case: {_named(guard)} reads no 'trigger.*'"


def _sequence(rule: PreparedRule) -> Iterator[Finding]:
    for step in (*rule.steps, *rule.withouts):
        name = f"step {step.number}" if step.number else "a condition of 'without'"
        reasons = {_contradiction(conjuncts) for conjuncts in step.condition.by_family.values()}
        if "" not in reasons:
            yield "step_never_holds", f"{name} can never hold: {sorted(reasons)[0]}"
        elif not step.is_linked:
            yield "step_unlinked", f"{name} reads no step before it ('first.*'): any such event will do, of anything"


def _named(guard: Guard) -> str:
    _, part, number = guard.name.rsplit("/", 2)
    return f"{part}[{number}]"


def _deadline(rule: PreparedRule) -> Iterator[Finding]:
    deadline = rule.model.deadline
    if deadline is None:
        return
    for lead in deadline.lead:
        if lead.days > LONGEST_LEAD_DAYS:
            yield (
                "lead_too_long",
                f"the lead {lead} is longer than {LONGEST_LEAD_DAYS}d: it fires as soon as the date is known",
            )
    if len(set(deadline.lead)) < len(deadline.lead) or len(set(deadline.after)) < len(deadline.after):
        yield "lead_twice", "a lead, or what is told as long after, is here twice"


def _windows(rule: PreparedRule) -> Iterator[Finding]:
    model = rule.model.count or rule.model.sum or rule.model.mean or rule.model.rate
    if model is None:
        return
    least = [(value, name) for name in ("at_least", "above") if (value := getattr(model, name)) is not None]
    most = [(value, name) for name in ("at_most", "below") if (value := getattr(model, name)) is not None]
    for low, floor in least:
        for high, ceiling in most:
            if low > high or (low == high and (floor, ceiling) != ("at_least", "at_most")):
                yield "cannot_fire", f"it can never fire: nothing is {floor} {low:g} and {ceiling} {high:g}"


def _unused(rule: PreparedRule) -> Iterator[Finding]:
    model = rule.model
    if model.conflict is not None and model.key:
        yield "unused_key", "'key' is not used: an overlap is about its two entries"
    if model.key and isinstance(rule.evaluator, WindowDetector):
        yield "unused_key", f"'key' is not used: a {model.detector} is about a window of what {model.detector}.by names"
    if model.cooldown is not None and not model.key and model.detector in ("match", "anomaly"):
        yield "unused_cooldown", "'cooldown' has no effect without a 'key': each subject fires once anyway"


def _series(rule: PreparedRule) -> Iterator[Finding]:
    model = rule.model
    if model.flatline is not None and not model.key:
        yield "series_without_key", "a flatline without a 'key' watches each subject alone, and most come once"
    if model.change is not None and model.change.steady > 1 and not model.change.by:
        yield "steady_without_by", "'steady' counts in a row, and without 'by' most things come once"


def _examples(rule: PreparedRule) -> Iterator[Finding]:
    examples = rule.model.examples
    if not rule.is_overridden and (not examples.fires or not examples.silent):
        yield (
            "no_examples",
            "it has no example that must fire, or none that must not: 'forewatch rules test' shows nothing",
        )


def _modifiers(rule: PreparedRule) -> Iterator[Finding]:
    model = rule.model
    if rule.id in model.inhibit:
        yield "inhibits_itself", "it inhibits itself: use 'cooldown' to say a thing once"
    if model.schedule is not None and model.schedule.is_always_quiet:
        yield "always_quiet", "it is quiet all week: nothing below the urgency that breaks through is told in time"


def _circles(rules: RuleSet) -> Iterator[LintWarning]:
    """Rules that inhibit one another: which of them speaks is chance."""
    for rule in rules:
        others = sorted(name for name in _reach(rules, rule.id) - {rule.id} if rule.id in _reach(rules, name))
        if others:
            says = f"it inhibits {' and '.join(others)}, and the other way round"
            yield LintWarning(rule.id, "inhibit_circle", says, rule.place)


def _reach(rules: RuleSet, first: str) -> set[str]:
    """All that inhibit a rule, and what inhibits those."""
    met: set[str] = set()
    todo = [first]
    while todo:
        rule = rules.by_id.get(todo.pop())
        for name in rule.model.inhibit if rule is not None else ():
            if name not in met:
                met.add(name)
                todo.append(name)
    return met


# --- between rules ---------------------------------------------------------------------------------------------------


def _between(rules: Sequence[PreparedRule]) -> Iterator[LintWarning]:
    """Rules that say the same of the same events. Only rules with equal detectors and keys are compared."""
    alike: dict[Any, list[PreparedRule]] = defaultdict(list)
    for rule in rules:
        alike[_question(rule)].append(rule)
    for group in alike.values():
        for position, rule in enumerate(group):
            for other in group[:position]:
                yield from _compare(rule, other)


def _question(rule: PreparedRule) -> Any:
    left_out = {"id", "title", "description", "when", "propose", "examples", "unless"}
    return rule.model.model_dump_json(exclude=left_out), rule.kinds


def _compare(rule: PreparedRule, other: PreparedRule) -> Iterator[LintWarning]:
    ours, theirs = _texts(rule), _texts(other)
    if ours == theirs:
        yield LintWarning(rule.id, "duplicate", f"it fires on the same events as {other.id!r}", rule.place)
    elif len(rule.when) == len(other.when) == 1:
        narrow, wide = (rule, other) if ours > theirs else (other, rule) if ours < theirs else (None, None)
        if narrow is not None and wide is not None:
            message = f"whatever it fires on, {wide.id!r} fires on, too"
            yield LintWarning(narrow.id, "shadowed", message, narrow.place)


def _texts(rule: PreparedRule) -> frozenset[str]:
    return frozenset(
        conjunct.text for condition in rule.when for conjuncts in condition.by_family.values() for conjunct in conjuncts
    )
