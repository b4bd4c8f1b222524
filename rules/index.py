"""Index: which conditions an event satisfies, at a cost that hardly grows with the number of conditions.

Each condition is filed under the one of its conjuncts that tells events apart best (see rules/access.py): an equality
(a dict), a fact that must be there (a dict), words (a dict of tokens) or a bound (sorted, bisected). A kind's whole
look-up is one generated function. What remains to be tested of a condition is generated too, once for all conditions
that differ in their constants only: ten thousand rules have few forms, so that their code stays small and warm.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import takewhile
from typing import Any
from zoneinfo import ZoneInfo

from rules.access import choose
from rules.cel.codegen import Module, Writer, function
from rules.cel.types import Field
from rules.fields import PARAMETERS, family, first_facts, scope
from rules.language import CheckedCondition, Conjunct
from rules.words import FOLD, TOKENS, all_words, both_forms


class Index:
    """``match(event)`` gives the numbers of the satisfied conditions, ascending."""

    def __init__(self, conditions: Iterable[tuple[int, CheckedCondition]], zone: ZoneInfo) -> None:
        by_kind: dict[str, _Kind] = {}
        shared = scope(zone)
        for number, condition in conditions:
            for kind in condition.kinds:
                if kind not in by_kind:
                    by_kind[kind] = _Kind(family(kind), shared)
                own = tuple(conjunct for conjunct in condition.of(kind) if not conjunct.on_case)
                by_kind[kind].file(number, own)
        self._look_ups = {kind: made.build() for kind, made in by_kind.items()}

    def match(self, event: Any) -> list[int]:
        return self._look_ups.get(event.kind, _nothing)(event)


LookUp = Callable[[Any], list[int]]
"""From an event of one kind to the numbers of the conditions that it satisfies."""


def _nothing(_: Any) -> list[int]:
    return []


Filed = list[tuple[int, tuple[Conjunct, ...]]]
"""Conditions that share a place, each with what remains to be tested."""

Bucket = tuple[Any, ...]
"""The conditions of a place. Where all of a table are of one form, its number and constants for each of them; else by
form: its test, and the numbers and constants."""

_ARGUMENTS = "e, p, F, b, out"
_GLOBALS = {"FOLD": FOLD, "all_words": all_words, "facts": first_facts, "len": len, "sorted": sorted, "set": set}


class _Kind:
    """Builds the look-up function of one kind; all its generated code is one module."""

    def __init__(self, tag: str, shared: Mapping[str, Any]) -> None:
        self._tag = tag
        self._module = Module({**shared, **_GLOBALS})
        self._forms = _Forms(self._module)
        self._equal: dict[str, dict[Any, Filed]] = defaultdict(lambda: defaultdict(list))
        self._facts: dict[Any, Filed] = defaultdict(list)
        self._words: dict[str, dict[Any, Filed]] = defaultdict(lambda: defaultdict(list))
        self._bounds: dict[tuple[str, str], dict[Any, Filed]] = defaultdict(lambda: defaultdict(list))
        self._rest: Filed = []
        self._fields: dict[str, Field] = {}
        self._reads_payload = False
        self._reads_facts = False
        self._may_repeat = False
        self._tables: dict[str, Callable[[Mapping[str, Any]], Any]] = {}

    def file(self, number: int, conjuncts: tuple[Conjunct, ...]) -> None:
        for field in (field for conjunct in conjuncts for field in conjunct.fields()):
            self._reads_payload |= field.name.startswith("payload.")
            self._reads_facts |= bool(field.fact)
        way, rest = choose(conjuncts)
        filed = (number, rest)
        if way is None:
            self._rest.append(filed)
            return
        if way.field is not None:
            self._fields[way.name] = way.field
        for value in way.values:
            match way.how:
                case "equal":
                    self._equal[way.name][value].append(filed)
                case "fact":
                    self._facts[value].append(filed)
                case "words":
                    self._may_repeat |= len(way.values) > 1
                    self._words[way.name][value].append(filed)
                case _:
                    self._bounds[way.name, way.how][value].append(filed)

    def build(self) -> LookUp:
        lines = [
            *self._payload(),
            f"F = {'facts(e) if e.facts else EMPTY' if self._reads_facts else 'EMPTY'}",
            "out = []",
            *self._look_ups(),
            *self._fact_look_up(),
            *self._word_look_ups(),
            *self._bound_look_ups(),
        ]
        if self._rest:
            table, run = self._table(lambda made: made[None], {None: self._rest})
            lines += [f"b = {table}", *run]
        lines.append(f"return out if len(out) < 2 else sorted({'set(out)' if self._may_repeat else 'out'})")
        name = self._module.define("e", "\n".join(lines))
        namespace = self._module.build()
        for table, make in self._tables.items():
            namespace[table] = make(namespace)
        built: LookUp = namespace[name]
        return built

    def _payload(self) -> Iterator[str]:
        if self._reads_payload:
            yield "p = e.payload"
            yield f'if p is None or p.type != "{self._tag}": p = NO'
        else:
            yield "p = NO"

    def _table(self, kind: Callable[[dict[Any, Bucket]], Any], places: Mapping[Any, Filed]) -> tuple[str, list[str]]:
        """The name of a table of buckets, made when the module is, and code that tests all conditions of one, ``b``."""
        buckets = {value: self._forms.of(filed) for value, filed in places.items()}
        name = f"table{len(self._tables)}"
        forms = {form for bucket in buckets.values() for form in bucket}
        if len(forms) == 1:
            (form,) = forms
            self._tables[name] = lambda made: kind({value: bucket[form] for value, bucket in buckets.items()})
            return name, form.splitlines()
        tests = {form: self._forms.test(form) for form in forms}
        self._tables[name] = lambda made: kind(
            {v: tuple((made[tests[form]], items) for form, items in bucket.items()) for v, bucket in buckets.items()}
        )
        return name, [f"for test, b in b: test({_ARGUMENTS})"]

    def _look_ups(self) -> Iterator[str]:
        for name, places in self._equal.items():
            table, run = self._table(dict, places)
            yield f"b = {table}.get({self._fields[name].code})"
            yield from _inside("if b is not None:", run)

    def _fact_look_up(self) -> Iterator[str]:
        if self._facts:
            table, run = self._table(dict, self._facts)
            found = [f"b = {table}.get(kind)", *_inside("if b is not None:", run)]
            yield from _inside("for kind in F:", found)

    def _word_look_ups(self) -> Iterator[str]:
        for name, places in self._words.items():
            table, run = self._table(_by_token, places)
            known = self._module.constant(frozenset(form for word in places for form in both_forms(word)))
            yield f"v = {self._fields[name].code}"
            found = [f"b = {table}[w]", *run]
            yield from _inside(
                f"if v and not {known}.isdisjoint(words := {TOKENS.format(v='v')}):",
                _inside(f"for w in {known}.intersection(words):", found),
            )

    def _bound_look_ups(self) -> Iterator[str]:
        for (name, op), places in self._bounds.items():
            field = self._fields[name]
            table, run = self._table(partial(_BoundTable, op), places)
            farthest = self._module.constant((max if op in ("<", "<=") else min)(places))
            amount = "v.amount" if field.type == "money" else "v"
            yield f"v = {field.code}"
            yield from _inside(
                f"if v is not None and {amount} {op} {farthest}:", _inside(f"for b in {table}.reached({amount}):", run)
            )


def _inside(head: str, lines: Iterable[str]) -> list[str]:
    return [head, *(f"    {line}" for line in lines)]


def _by_token(buckets: dict[Any, Bucket]) -> dict[Any, Bucket]:
    return {form: bucket for word, bucket in buckets.items() for form in both_forms(word)}


class _BoundTable:
    """Bounds in order, so that those an amount satisfies are a prefix or a suffix."""

    def __init__(self, op: str, buckets: Mapping[Any, Bucket]) -> None:
        self._bounds: list[Any] = sorted(buckets)
        self._buckets = [buckets[bound] for bound in self._bounds]
        self._below = op in ("<", "<=")
        self._find = bisect_right if op in ("<", ">=") else bisect_left

    def reached(self, amount: Any) -> list[Bucket]:
        at = self._find(self._bounds, amount)
        return self._buckets[at:] if self._below else self._buckets[:at]


class _Forms:
    """Code that is shared by all conditions that differ in their constants only."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._names: dict[str, str] = {}

    def of(self, filed: Filed) -> dict[str, tuple[Any, ...]]:
        """By form the numbers and constants of the conditions. A form is code that appends those that hold."""
        found: dict[str, list[Any]] = defaultdict(list)
        for number, rest in filed:
            constants: dict[str, Any] = {}
            writer = Writer(constants)
            parts = [part for conjunct in rest for part in writer.parts(conjunct.expr)]
            form = _form(parts, constants)
            found[form].append((number, *constants.values()) if constants else number)
        return {form: tuple(items) for form, items in found.items()}

    def test(self, form: str) -> str:
        """The name of a function of this form."""
        if form not in self._names:
            self._names[form] = self._module.define(_ARGUMENTS, form)
        return self._names[form]


def _form(parts: Sequence[str], constants: Collection[str]) -> str:
    """Tests that come before any that reads a constant are the same for all conditions of a place, and made once."""
    once = list(takewhile(lambda part: not any(name in part for name in constants), parts))
    run = ["out.extend(b)"]
    if constants:
        run = [f"for {', '.join(('n', *constants))} in b:", f"    if {' and '.join(parts[len(once) :])}: out.append(n)"]
    return "\n".join(_inside(f"if {' and '.join(once)}:", run) if once else run)


def tester(conjuncts: Iterable[Conjunct], shared: Mapping[str, Any]) -> Callable[[Any, Any, Any, Any], bool]:
    """A function over an event and a case's values: whether all the conjuncts are true."""
    constants = dict(shared)
    writer = Writer(constants)
    test = " and ".join(writer.true(conjunct.expr) for conjunct in conjuncts) or "True"
    return function(PARAMETERS, f"return {test}", constants)
