"""Access: under which of its conjuncts a condition is filed in the index: the one that tells events apart best."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rules.cel.checker import Expr
from rules.cel.runtime import to_decimal
from rules.cel.types import Field
from rules.language import Conjunct

_FACT_WEIGHT = 6
_WORDS_WEIGHT = 5
_BOUND_WEIGHT = 2
_MIRROR = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "=="}


@dataclass(frozen=True, slots=True)
class Access:
    """Where a condition is filed: ``how`` over ``field`` (or a kind of fact), under ``values``."""

    how: str
    field: Field | None
    name: str
    values: tuple[Any, ...]
    weight: float
    exact: bool = True
    """The conjunct holds for everything found this way, so that it need not be tested again."""


def access(conjunct: Conjunct) -> Iterator[Access]:
    """All the ways to file a condition by this conjunct."""
    expr = conjunct.expr
    if expr.op in _MIRROR:
        yield from _by_comparison(expr)
    elif expr.op == "in":
        yield from _by_list(expr)
    elif expr.op == "words":
        words: Any = expr.value
        single = words.single == frozenset(words.phrases)
        field: Field = expr.args[0].value
        yield Access("words", field, field.name, tuple(sorted(words.first_words())), _WORDS_WEIGHT, single)
    for kind in sorted(required_facts(expr)):
        bare = expr.op == "has" and expr.args[0].value.name == f"fact.{kind}"
        yield Access("fact", None, kind, (kind,), _FACT_WEIGHT, bare)


def required_facts(expr: Expr) -> set[str]:
    """The kinds of facts without which this conjunct cannot be true."""
    if expr.op in ("||", "?", "!"):
        return set()
    if expr.op == "field":
        field: Field = expr.value
        return {field.fact} if field.fact and not field.name.startswith("trigger.") else set()
    return {kind for arg in expr.args for kind in required_facts(arg)}


def _by_comparison(expr: Expr) -> Iterator[Access]:
    left, right = expr.args
    op = expr.op
    if left.op == "lit":
        left, right, op = right, left, _MIRROR[op]
    if left.op != "field" or right.op != "lit":
        return
    field: Field = left.value
    if op == "==" and left.type in ("string", "int") and left.type == right.type and field.weight:
        yield Access("equal", field, field.name, (right.value,), field.weight)
    elif op != "==" and left.type in ("money", "int", "double", "timestamp"):
        bound = right.value
        if left.type == "money":
            bound = to_decimal(bound)
        if bound is not None and bound == bound:
            yield Access(op, field, field.name, (bound,), _BOUND_WEIGHT)


def _by_list(expr: Expr) -> Iterator[Access]:
    item, items = expr.args
    plain = items.op == "list" and all(arg.op == "lit" and arg.type == item.type for arg in items.args)
    if item.op == "field" and item.type in ("string", "int") and plain and item.value.weight:
        values = tuple(dict.fromkeys(arg.value for arg in items.args))
        yield Access("equal", item.value, item.value.name, values, item.value.weight - 0.1)


def choose(conjuncts: tuple[Conjunct, ...]) -> tuple[Access | None, tuple[Conjunct, ...]]:
    """The best way to file a condition, and the conjuncts that remain to be tested."""
    ways = [(way, conjunct) for conjunct in conjuncts for way in access(conjunct)]
    if not ways:
        return None, conjuncts
    way, used = max(ways, key=lambda pair: pair[0].weight)
    rest = tuple(conjunct for conjunct in conjuncts if conjunct is not used or not way.exact)
    return way, rest
