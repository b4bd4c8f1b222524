"""Code generation: a checked tree becomes Python source over our own names; texts of users are constants beside it.

CEL has errors that ``&&`` and ``||`` absorb. Each condition is therefore written twice: ``true(e)`` is Python that
is true exactly when ``e`` is true, ``false(e)`` exactly when it is false; when neither holds ``e`` is an error, such as
a missing field. ``value(e)`` is Python that gives the value, or None for an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rules.cel import names, runtime
from rules.cel.checker import COMPARISONS, Expr, check
from rules.cel.errors import CelError
from rules.cel.types import Environment, Type

MAX_NODES = 4000
"""Pieces of generated code per expression; repeated ternaries double it."""

_ARITHMETIC = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide", "%": "remainder"}
_UNARY = {"neg": "negate", "size": "size", "lower": "lower", "abs": "absolute"}
_LOCAL = ("weekday", "hour")
"""Functions that depend on the owner's zone: whoever compiles gives them."""
_OPS = (*_ARITHMETIC.values(), *_UNARY.values(), "equal", "compare", "member", "item", "text", "to_decimal")

RUNTIME: dict[str, Any] = {f"rt_{name}": getattr(runtime, name) for name in _OPS} | {"rt_resembles": names.resembles}


class Writer:
    """Writes expressions of one function; ``constants`` are the globals that its code needs beside RUNTIME."""

    def __init__(self, constants: dict[str, Any]) -> None:
        self.constants = constants
        self._temporaries = 0
        self._nodes = 0

    def true(self, expr: Expr) -> str:
        return self._condition(expr, True)

    def parts(self, expr: Expr) -> Iterator[str]:
        """Pieces that are all true exactly when ``expr`` is; each may read names that those before it have bound."""
        if expr.op == "&&":
            for arg in expr.args:
                yield from self.parts(arg)
        elif expr.op in COMPARISONS and not _is_dynamic(expr):
            self._count(expr)
            guards, test = self._compared(expr)
            yield from (*guards, test)
        else:
            yield self.true(expr)

    def false(self, expr: Expr) -> str:
        return self._condition(expr, False)

    def value(self, expr: Expr) -> str:
        self._count(expr)
        match expr.op:
            case "lit":
                return self._constant(expr.value)
            case "field":
                return f"({expr.value.code})"
            case "list":
                return f"({''.join(self.value(arg) + ', ' for arg in expr.args)})"
            case "?":
                return self._pick(expr)
            case "[]":
                return f"rt_item({self.value(expr.args[0])}, {self.value(expr.args[1])})"
            case op if op in _ARITHMETIC:
                return f"rt_{_ARITHMETIC[op]}({self.value(expr.args[0])}, {self.value(expr.args[1])})"
            case op if op in _LOCAL:
                return f"{op}({self.value(expr.args[0])})"
            case op if op in _UNARY:
                return f"rt_{_UNARY[op]}({self.value(expr.args[0])})"
            case _:
                return f"(True if {self.true(expr)} else False if {self.false(expr)} else None)"

    def _pick(self, expr: Expr) -> str:
        condition, yes, no = expr.args
        first = f"{self.value(yes)} if {self.true(condition)}"
        return f"({first} else {self.value(no)} if {self.false(condition)} else None)"

    def _condition(self, expr: Expr, wanted: bool) -> str:
        self._count(expr)
        match expr.op:
            case "lit":
                return str(expr.value is wanted)
            case "!":
                return self._condition(expr.args[0], not wanted)
            case "&&" | "||":
                joiner = " and " if (expr.op == "&&") is wanted else " or "
                return f"({joiner.join(self._condition(arg, wanted) for arg in expr.args)})"
            case "?":
                condition, yes, no = expr.args
                first = f"{self.true(condition)} and {self._condition(yes, wanted)}"
                return f"({first} or {self.false(condition)} and {self._condition(no, wanted)})"
            case "has":
                presence = expr.args[0].value.presence
                return f"({presence})" if wanted else f"(not ({presence}))"
            case op if op in COMPARISONS:
                return self._comparison(expr, wanted)
            case "in":
                return self._membership(expr, wanted)
            case "words":
                return f"({self._constant(expr.value)}.found({self.value(expr.args[0])}) is {wanted})"
            case "contains" | "startsWith" | "endsWith" | "matches" | "resembles":
                return self._text_test(expr, wanted)
            case _:
                return f"({self.value(expr)} is {wanted})"

    def _comparison(self, expr: Expr, wanted: bool) -> str:
        return self._dynamic(expr, wanted) if _is_dynamic(expr) else _all(*self._compared(expr), wanted)

    def _compared(self, expr: Expr) -> tuple[list[str], str]:
        """What must hold for the operands to have values, and the test of them."""
        if "money" in (expr.args[0].type, expr.args[1].type):
            return self._money(expr)
        guards: list[str] = []
        a, b = (self._bind(arg, guards) for arg in expr.args)
        return guards, f"{a} {expr.op} {b}"

    def _dynamic(self, expr: Expr, wanted: bool) -> str:
        left, right = (self.value(arg) for arg in expr.args)
        if expr.op in ("==", "!="):
            return f"(rt_equal({left}, {right}) is {wanted is (expr.op == '==')})"
        return f'(rt_compare("{expr.op}", {left}, {right}) is {wanted})'

    def _money(self, expr: Expr) -> tuple[list[str], str]:
        left, right = expr.args
        guards: list[str] = []
        if left.type != right.type:
            a, b = (self._amount(arg, guards) for arg in expr.args)
            return guards, f"{a} {expr.op} {b}"
        a, b = (self._bind(arg, guards) for arg in expr.args)
        same = f"{a}.currency == {b}.currency"
        if expr.op in ("==", "!="):
            return guards, f"({a}.amount == {b}.amount and {same}) is {expr.op == '=='}"
        return [*guards, same], f"{a}.amount {expr.op} {b}.amount"

    def _amount(self, expr: Expr, guards: list[str]) -> str:
        """A side of a comparison of money with a number, as a Decimal."""
        if expr.type == "money":
            return f"{self._bind(expr, guards)}.amount"
        if expr.op == "lit":
            number = runtime.to_decimal(expr.value)
            return self._constant(number)
        return self._guarded(f"rt_to_decimal({self.value(expr)})", guards)

    def _membership(self, expr: Expr, wanted: bool) -> str:
        item, items = expr.args
        plain = items.op == "list" and all(arg.op == "lit" and arg.type == item.type for arg in items.args)
        if plain and item.type in ("string", "int"):
            guards: list[str] = []
            bound = self._bind(item, guards)
            return _all(guards, f"{bound} in {self._constant(frozenset(arg.value for arg in items.args))}", wanted)
        return f"(rt_member({self.value(item)}, {self.value(items)}) is {wanted})"

    def _text_test(self, expr: Expr, wanted: bool) -> str:
        guards: list[str] = []
        bound = [self._text(arg, guards) for arg in expr.args]
        match expr.op:
            case "matches":
                test = f"{self._constant(expr.value)}.search({bound[0]})"
            case "contains":
                test = f"{bound[1]} in {bound[0]}"
            case "resembles":
                test = f"rt_resembles({bound[0]}, {bound[1]})"
            case _:
                test = f"{bound[0]}.{expr.op.lower()}({bound[1]})"
        return _all(guards, test, wanted)

    def _text(self, expr: Expr, guards: list[str]) -> str:
        if expr.type == "dyn":
            return self._guarded(f"rt_text({self.value(expr)})", guards)
        return self._bind(expr, guards)

    def _bind(self, expr: Expr, guards: list[str]) -> str:
        """A name or constant for an operand; ``guards`` gets the test that it has a value."""
        if expr.op == "lit":
            return self._constant(expr.value)
        if expr.op == "field" and not expr.value.optional:
            return f"({expr.value.code})"
        return self._guarded(self.value(expr), guards)

    def _guarded(self, code: str, guards: list[str]) -> str:
        name = f"_{self._temporaries}"
        self._temporaries += 1
        guards.append(f"({name} := {code}) is not None")
        return name

    def _constant(self, value: Any) -> str:
        if isinstance(value, bool):
            return str(value)
        name = f"k{len(self.constants)}"
        self.constants[name] = value
        return name

    def _count(self, expr: Expr) -> None:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise CelError("this expression is too complicated", expr.start, remedy="split it into several rules")


def _is_dynamic(expr: Expr) -> bool:
    """Whether only the values tell how they compare."""
    return any(arg.type in ("dyn", "list") for arg in expr.args)


def _all(guards: list[str], test: str, wanted: bool) -> str:
    return f"({' and '.join([*guards, test if wanted else f'not ({test})'])})"


class Module:
    """Generated functions that share one namespace, compiled together."""

    def __init__(self, scope: Mapping[str, Any]) -> None:
        self._constants: dict[str, Any] = dict(scope)
        self._source: list[str] = []

    def constant(self, value: Any) -> str:
        """The name under which all functions of the module read the value."""
        name = f"c{len(self._constants)}"
        self._constants[name] = value
        return name

    def define(self, parameters: str, body: str) -> str:
        """Adds a function and returns its name. ``body`` holds names of ours only; see the module's docstring."""
        name = f"f{len(self._source)}"
        lines = "\n".join(f"    {line}" for line in body.splitlines())
        self._source.append(f"def {name}({parameters}):\n{lines}\n")
        return name

    def build(self) -> dict[str, Any]:
        """The namespace with all functions; names that their code reads may still be added to it."""
        namespace: dict[str, Any] = {**RUNTIME, **self._constants, "__builtins__": {}}
        exec(compile("".join(self._source), "<rules>", "exec"), namespace)
        return namespace


def function(parameters: str, body: str, scope: Mapping[str, Any]) -> Callable[..., Any]:
    """One generated function."""
    module = Module(scope)
    name = module.define(parameters, body)
    made: Callable[..., Any] = module.build()[name]
    return made


def compile_value(
    source: str, environment: Environment, parameters: str, scope: Mapping[str, Any], *, wanted: Type | None = None
) -> Callable[..., Any]:
    """A function that gives the expression's value, or None for an error."""
    constants: dict[str, Any] = dict(scope)
    code = Writer(constants).value(check(source, environment, wanted=wanted))
    return function(parameters, f"return {code}", constants)
