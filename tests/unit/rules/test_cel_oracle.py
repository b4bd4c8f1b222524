"""Every operator of our CEL agrees with the Rust binding on random expressions and values, errors included."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import cel
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.cel.checker import check
from rules.cel.codegen import Writer, compile_value, function
from rules.cel.errors import CelError
from rules.cel.types import Field, Type

VARIABLES: dict[str, Type] = {
    "i": "int", "j": "int", "x": "double", "y": "double", "s": "string", "t": "string", "p": "bool", "q": "bool",
    "at": "timestamp", "then": "timestamp", "d": "duration", "e": "duration", "words": "list", "m": "dyn", "n": "dyn",
}  # fmt: skip


class Variables:
    """An environment whose fields are entries of the mapping ``v``; a missing one is CEL's error."""

    def field(self, name: str) -> Field | None:
        if name not in VARIABLES:
            return None
        return Field(name, VARIABLES[name], f'v.get("{name}")', f'"{name}" in v')

    def names(self) -> Iterable[str]:
        return VARIABLES


ints = st.sampled_from(["0", "1", "-1", "2", "7", "-7", "100", "9223372036854775807", "-9223372036854775808", "i", "j"])
doubles = st.sampled_from(["0.0", "1.0", "-2.5", "0.1", "1e3", "x", "y"])
strings = st.sampled_from(["''", "'a'", "'ab'", "'b.c'", "r'\\d'", "s", "t"])
instants = st.sampled_from(
    ["timestamp('2026-03-29T01:00:00Z')", "timestamp('2026-01-31T23:59:59+01:00')", "at", "then"]
)
lengths = st.sampled_from(["duration('0s')", "duration('36h')", "duration('1h30m')", "duration('-90s')", "d", "e"])
lists = st.sampled_from(["[]", "['a', 'ab']", "[1, 2, 3]", "words"])
patterns = st.sampled_from(["'^a'", "'b$'", "'a.c'", "'[a-c]+'", "'(a|b)c'", "'a{2,3}'", "r'\\.'", "'x*'"])
leaves = st.sampled_from(["true", "false", "p", "q"])


def joined(*parts: Any) -> st.SearchStrategy[str]:
    return st.tuples(*(st.just(part) if isinstance(part, str) else part for part in parts)).map("".join)


def sums(operands: st.SearchStrategy[str], operators: list[str]) -> st.SearchStrategy[str]:
    return joined("(", operands, " ", st.sampled_from(operators), " ", operands, ")")


int_values = st.recursive(
    ints,
    lambda inner: (
        sums(inner, ["+", "-", "*", "/", "%"])
        | joined("-(", st.sampled_from(["j", "7", "-7"]), ")")  # the binding wraps at -(-2**63), where CEL has an error
        | joined("size(", strings | lists, ")")
    ),
    max_leaves=4,
)
double_values = st.recursive(doubles, lambda inner: sums(inner, ["+", "-", "*", "/"]), max_leaves=4)
string_values = st.recursive(strings, lambda inner: sums(inner, ["+"]), max_leaves=3)
length_values = lengths | sums(lengths, ["+", "-"]) | joined("(", instants, " - ", instants, ")")
instant_values = instants | joined("(", instants, " + ", lengths, ")") | joined("(", instants, " - ", lengths, ")")
finite = st.recursive(doubles, lambda inner: sums(inner, ["+", "-", "*"]), max_leaves=3)
numbers = int_values | finite  # the binding makes comparison with NaN an error, CEL makes it false
dynamic = st.sampled_from(["m", "n"])
relation = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])


def compared(left: st.SearchStrategy[str], right: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return joined(left, " ", relation, " ", right)


tests = (
    leaves
    | compared(numbers, numbers)
    | compared(string_values, string_values)
    | compared(instant_values, instant_values)
    | compared(length_values, length_values)
    | compared(dynamic, numbers | string_values | dynamic)
    | joined(string_values, ".", st.sampled_from(["contains", "startsWith", "endsWith"]), "(", string_values, ")")
    | joined(string_values, ".matches(", patterns, ")")
    | joined(string_values | ints, " in ", lists)
)
conditions = st.recursive(
    tests,
    lambda inner: (
        joined("(", inner, " && ", inner, ")")
        | joined("(", inner, " || ", inner, ")")
        | joined("!(", inner, ")")
        | joined("(", inner, " ? ", inner, " : ", inner, ")")
        | joined("(", inner, ") == (", inner, ")")
    ),
    max_leaves=6,
)

small_ints = st.integers(-1000, 1000) | st.sampled_from([2**63 - 1, -(2**63)])
small_floats = st.floats(-1e6, 1e6, allow_nan=False, width=32)
texts = st.text("abc.1", max_size=4)
instants_read = st.integers(-(10**8), 10**8).map(lambda s: datetime(2025, 1, 1, tzinfo=UTC) + timedelta(seconds=s))
optional: dict[str, st.SearchStrategy[Any]] = {
    "i": small_ints,
    "j": st.integers(-1000, 1000),
    "words": st.lists(texts, max_size=3),
    **dict.fromkeys("xy", small_floats),
    **dict.fromkeys("st", texts),
    **dict.fromkeys("pq", st.booleans()),
    **dict.fromkeys(("at", "then"), instants_read),
    **dict.fromkeys("de", st.integers(-(10**6), 10**6).map(lambda s: timedelta(seconds=s))),
    **dict.fromkeys("mn", st.integers(-5, 5) | texts | st.booleans() | small_floats),
}
values = st.fixed_dictionaries({}, optional=optional)

ERROR = "error"


def ours(source: str, variables: dict[str, Any]) -> Any:
    try:
        answer = compile_value(source, Variables(), "v", {})(variables)
    except CelError:
        return "refused"
    return ERROR if answer is None else answer


def theirs(source: str, variables: dict[str, Any]) -> Any:
    try:
        return cel.evaluate(source, dict(variables))
    except Exception:  # the binding raises many types, all of them CEL's error
        return ERROR


def same(left: Any, right: Any) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        return left == right or (math.isnan(left) and math.isnan(right))
    return type(left) is type(right) and left == right


@settings(max_examples=300, deadline=None)
@given(conditions, values)
def test_a_condition_is_true_false_or_an_error_exactly_as_in_the_oracle(source: str, variables: dict[str, Any]) -> None:
    answer = ours(source, variables)
    assert answer == "refused" or same(answer, theirs(source, variables)), source


@settings(max_examples=150, deadline=None)
@given(int_values | double_values | string_values | length_values | instant_values, values)
def test_a_value_is_the_oracles_value(source: str, variables: dict[str, Any]) -> None:
    answer = ours(source, variables)
    assert answer == "refused" or same(answer, theirs(source, variables)), source


@settings(max_examples=100, deadline=None)
@given(conditions, values)
def test_the_two_forms_of_a_condition_are_never_both_true(source: str, variables: dict[str, Any]) -> None:
    try:
        expr = check(source, Variables())
    except CelError:
        return
    constants: dict[str, Any] = {}
    writer = Writer(constants)
    both = function("v", f"return ({writer.true(expr)}, {writer.false(expr)})", constants)
    assert both(variables) in ((True, False), (False, True), (False, False)), source


def test_has_is_presence_of_a_field() -> None:
    assert compile_value("has(s) && !has(t)", Variables(), "v", {})({"s": ""}) is True
    assert cel.evaluate("has(v.s) && !has(v.t)", {"v": {"s": ""}}) is True
