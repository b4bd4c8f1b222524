"""Checker: gives every node of the tree its type, or says why it can never be evaluated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rules.cel import functions
from rules.cel.errors import CelError
from rules.cel.parser import Call, Items, Literal, Node, Path, parse
from rules.cel.types import NUMBERS, Environment, Type
from schemas.suggest import did_you_mean


@dataclass(frozen=True, slots=True)
class Expr:
    """A checked node. ``value``: the constant of a ``lit``, the Field of a ``field``, the set or pattern of a call."""

    op: str
    type: Type
    start: int
    end: int
    args: tuple[Expr, ...] = ()
    value: Any = None

    def walk(self) -> Iterator[Expr]:
        yield self
        for arg in self.args:
            yield from arg.walk()


COMPARISONS = frozenset(("==", "!=", "<", "<=", ">", ">="))
_ORDERED: frozenset[Type] = frozenset(("bool", "int", "double", "string", "timestamp", "duration", "money", "dyn"))
_ARTICLES = {"int": "an int", "list": "a list", "dyn": "an unknown"}

_SUMS: dict[tuple[str, Type, Type], Type] = {
    ("+", "string", "string"): "string",
    ("+", "list", "list"): "list",
    ("+", "timestamp", "duration"): "timestamp",
    ("+", "duration", "timestamp"): "timestamp",
    ("-", "timestamp", "duration"): "timestamp",
    ("-", "timestamp", "timestamp"): "duration",
    ("*", "money", "int"): "money",
    ("*", "money", "double"): "money",
    ("*", "int", "money"): "money",
    ("*", "double", "money"): "money",
    ("/", "money", "int"): "money",
    ("/", "money", "double"): "money",
    ("/", "money", "money"): "double",
    ("%", "int", "int"): "int",
    **{(op, kind, kind): kind for op in "+-" for kind in ("int", "double", "duration", "money")},
    **{(op, kind, kind): kind for op in "*/" for kind in ("int", "double")},
}


def check(source: str, environment: Environment, *, wanted: Type | None = None) -> Expr:
    """The typed tree; CelError for unknown names and impossible types. ``wanted``: the type it must have."""
    expr = _Checker(environment).check(parse(source))
    if wanted is not None and expr.type not in (wanted, "dyn"):
        raise CelError(f"this must be {_a(wanted)} and is {_a(expr.type)}", expr.start)
    return expr


def conjuncts(expr: Expr) -> Iterator[Expr]:
    """The parts joined by ``&&`` at the top, left to right."""
    if expr.op == "&&":
        for arg in expr.args:
            yield from conjuncts(arg)
    else:
        yield expr


def _a(kind: str) -> str:
    return _ARTICLES.get(kind, f"a {kind}")


class _Checker:
    def __init__(self, environment: Environment) -> None:
        self._environment = environment

    def check(self, node: Node) -> Expr:
        match node:
            case Literal():
                return _literal(node)
            case Path():
                return self._path(node)
            case Items():
                return self._items(node)
            case Call():
                return self._call(node)

    def _path(self, node: Path) -> Expr:
        field = self._environment.field(node.name)
        if field is None:
            known = did_you_mean(node.name, self._environment.names())
            raise CelError(f"unknown field {node.name!r}", node.start, remedy=known)
        return Expr("field", field.type, node.start, node.end, value=field)

    def _items(self, node: Items) -> Expr:
        return Expr("list", "list", node.start, node.end, tuple(map(self.check, node.items)))

    def _call(self, node: Call) -> Expr:
        if node.name == "has":
            return self._has(node)
        if node.name in ("&&", "||", "!"):
            return self._logic(node)
        if node.name in COMPARISONS:
            return self._comparison(node)
        if node.name == "?":
            return self._ternary(node)
        if node.name == "in":
            return self._membership(node)
        if node.name == "[]":
            return self._index(node)
        if node.name == "neg":
            return self._negation(node)
        if node.name in "+-*/%":
            return self._arithmetic(node)
        return self._function(node)

    def _has(self, node: Call) -> Expr:
        if len(node.args) != 1 or not isinstance(node.args[0], Path):
            raise CelError("has() takes one field", node.start, remedy="such as has(fact.due)")
        return Expr("has", "bool", node.start, node.end, (self.check(node.args[0]),))

    def _logic(self, node: Call) -> Expr:
        args = tuple(map(self.check, node.args))
        for arg in args:
            if arg.type not in ("bool", "dyn"):
                raise CelError(f"{node.name!r} needs conditions, this is {_a(arg.type)}", arg.start)
        return Expr(node.name, "bool", node.start, node.end, args)

    def _comparison(self, node: Call) -> Expr:
        left, right = map(self.check, node.args)
        if not _comparable(left.type, right.type):
            message = f"{_a(left.type)} and {_a(right.type)} cannot be compared with {node.name!r}"
            raise CelError(message, left.start, remedy=_conversion(left.type, right.type))
        if node.name not in ("==", "!=") and left.type not in _ORDERED:
            raise CelError(f"{_a(left.type)} has no order", left.start)
        _check_choice(left, right)
        _check_choice(right, left)
        return Expr(node.name, "bool", node.start, node.end, (left, right))

    def _ternary(self, node: Call) -> Expr:
        condition, yes, no = map(self.check, node.args)
        if condition.type not in ("bool", "dyn"):
            raise CelError(f"'?' needs a condition, this is {_a(condition.type)}", condition.start)
        kind: Type = yes.type if yes.type == no.type else "dyn"
        return Expr("?", kind, node.start, node.end, (condition, yes, no))

    def _membership(self, node: Call) -> Expr:
        item, items = map(self.check, node.args)
        if items.type not in ("list", "dyn"):
            raise CelError(f"'in' needs a list, this is {_a(items.type)}", items.start, remedy="use contains(...)")
        for other in items.args if items.op == "list" else ():
            if not _comparable(item.type, other.type):
                raise CelError(f"{_a(item.type)} is never {_a(other.type)}", other.start)
            _check_choice(item, other)
        return Expr("in", "bool", node.start, node.end, (item, items))

    def _index(self, node: Call) -> Expr:
        items, index = map(self.check, node.args)
        if items.type not in ("list", "dyn") or index.type not in ("int", "string", "dyn"):
            raise CelError(f"{_a(items.type)} has no items", items.start)
        return Expr("[]", "dyn", node.start, node.end, (items, index))

    def _negation(self, node: Call) -> Expr:
        (arg,) = map(self.check, node.args)
        if arg.type not in ("int", "double", "money", "dyn"):
            raise CelError(f"{_a(arg.type)} cannot be negated", arg.start)
        return Expr("neg", arg.type, node.start, node.end, (arg,))

    def _arithmetic(self, node: Call) -> Expr:
        left, right = map(self.check, node.args)
        kind: Type | None = _SUMS.get((node.name, left.type, right.type))
        if kind is None and "dyn" in (left.type, right.type):
            kind = "dyn"
        if kind is None:
            message = f"{node.name!r} does not work on {_a(left.type)} and {_a(right.type)}"
            raise CelError(message, left.start, remedy=_conversion(left.type, right.type))
        return Expr(node.name, kind, node.start, node.end, (left, right))

    def _function(self, node: Call) -> Expr:
        function = functions.FUNCTIONS.get(node.name)
        if function is None:
            known = (
                "write '!' before it" if node.name == "not" else did_you_mean(node.name, (*functions.FUNCTIONS, "has"))
            )
            raise CelError(f"unknown function {node.name!r}", node.start, remedy=known)
        args = tuple(map(self.check, node.args))
        if len(args) != len(function.takes):
            raise CelError(f"{node.name}() takes {len(function.takes)} values, not {len(args)}", node.start)
        for arg, allowed in zip(args, function.takes, strict=True):
            if arg.type != "dyn" and arg.type not in allowed:
                raise CelError(f"{node.name}() needs {_a(' or '.join(allowed))}, this is {_a(arg.type)}", arg.start)
        return _constant(node, function, args)


def _constant(node: Call, function: functions.Function, args: tuple[Expr, ...]) -> Expr:
    """Functions of a literal are computed now, so that a mistake in it is found when the rule is loaded."""
    kind: Type = args[0].type if function.gives == "dyn" else function.gives
    if function.prepare is None:
        return Expr(node.name, kind, node.start, node.end, args)
    last = args[-1]
    if last.op != "lit":
        raise CelError(f"{node.name}() needs a text written out here", last.start, remedy="such as '...'")
    try:
        value = function.prepare(last.value)
    except ValueError as error:
        raise CelError(str(error), last.start) from error
    op = "lit" if len(args) == 1 else node.name
    return Expr(op, kind, node.start, node.end, () if op == "lit" else args[:1], value)


def _literal(node: Literal) -> Expr:
    kinds: dict[type, Type] = {bool: "bool", int: "int", float: "double", str: "string"}
    return Expr("lit", kinds[type(node.value)], node.start, node.end, value=node.value)


def _comparable(left: Type, right: Type) -> bool:
    if left == right or "dyn" in (left, right):
        return True
    numbers = NUMBERS | {"money"}
    return left in numbers and right in numbers


def _conversion(left: str, right: str) -> str:
    if {left, right} == {"timestamp", "string"}:
        return "write timestamp('2026-01-31T00:00:00Z')"
    if {left, right} == {"money", "string"}:
        return "write the number without quotes"
    if {left, right} == {"duration", "string"}:
        return "write duration('36h')"
    if {left, right} == {"int", "double"}:
        return "write the whole number with a point, such as 2.0"
    return ""


def _check_choice(side: Expr, other: Expr) -> None:
    """A word that the field can never be is a typo."""
    if side.op != "field" or other.op != "lit" or not side.value.choices or other.value in side.value.choices:
        return
    remedy = did_you_mean(str(other.value), side.value.choices)
    raise CelError(f"{side.value.name} is never {other.value!r}", other.start, remedy=remedy)
