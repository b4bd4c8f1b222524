"""Blueprints: rules with typed inputs, expanded into plain rules before anything else looks at them.

``$(name)`` stands for an input. Alone it gives the value; inside a text, its words; inside an expression, a literal, so
that no input can say more than a value. Every value keeps its place in the file: that of the input it came from, or
that in the blueprint.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from pydantic import ValidationError

from rules.shorthand import ExampleError, money
from schemas.document import KEY, Document, Place, Trail
from schemas.duration import Duration
from schemas.errors import RuleError
from schemas.model import Json
from schemas.rule import InputType
from schemas.suggest import did_you_mean

MOST_VALUES = 200_000
"""Of all expanded rules of a file."""
MOST_TEXT = 5_000_000
"""Characters of all texts with inputs of a file, expanded."""
MOST_INPUT = 500
"""Characters of a text, items of a list."""
_HOLE = re.compile(r"\$\(([^)$]*)\)")
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_NUMBER = re.compile(r"-?[0-9]{1,18}(\.[0-9]{1,18})?")
_EXPRESSIONS = frozenset(("where", "value", "tell"))
_BOUNDS = frozenset(("below", "at_most", "above", "at_least"))
_WRITE: dict[InputType, str] = {
    "text": "write one line without '{{', '}}' and '$('",
    "number": "write such as 3 or 0.5",
    "money": "write such as '40 EUR'",
    "duration": "write such as '5d' or '36h'",
    "list": "write such as [one, two]",
}
_NOTHING = object()


@dataclass(slots=True)
class Expanded:
    """``skipped``: the numbers of rules that could not be expanded, each with an error."""

    document: Document
    errors: list[RuleError] = field(default_factory=list)
    skipped: set[int] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class _Input:
    type: InputType
    default: Any


@dataclass(frozen=True, slots=True)
class _Blueprint:
    id: str
    inputs: Mapping[str, _Input]
    rule: Mapping[str, Any]
    trail: Trail


class _Mistake(Exception):
    """Something is wrong at a place of the file."""

    def __init__(self, message: str, trail: Trail, remedy: str = "") -> None:
        super().__init__(message)
        self.message, self.trail, self.remedy = message, trail, remedy


def expand(document: Document) -> Expanded:
    """The document with plain rules only; itself, if it has no blueprints and no rule uses one."""
    data = document.data
    found = data.get("blueprints")
    uses = [number for number, rule in enumerate(data.get("rules", ())) if isinstance(rule, dict) and "use" in rule]
    if "blueprints" not in data and not uses:
        return Expanded(document)
    out = Expanded(Document(document.file, {name: value for name, value in data.items() if name != "blueprints"}, {}))
    out.document.places = dict(document.places)
    out.document.data["rules"] = list(data.get("rules", ()))
    blueprints: dict[str, _Blueprint] = {}
    broken: set[str] = set()
    for number, given in enumerate(found if isinstance(found, list) else ()):
        try:
            made = _blueprint(given, ("blueprints", number), blueprints)
            blueprints[made.id] = made
        except _Mistake as mistake:
            out.errors.append(document.error(mistake.message, mistake.trail, remedy=mistake.remedy))
            if isinstance(given, dict):
                broken.add(str(given.get("id")))
    if "blueprints" in data and not isinstance(found, list):
        out.errors.append(document.error("'blueprints' is a list", ("blueprints",), remedy="begin with '- id: a-name'"))
    budget = _Budget()
    for number in uses:
        try:
            _use(document, out.document, number, blueprints, broken, budget)
        except _Mistake as mistake:
            out.errors.append(document.error(mistake.message, mistake.trail, remedy=mistake.remedy))
            out.skipped.add(number)
    return out


# --- what a blueprint is ---------------------------------------------------------------------------------------------


def _blueprint(given: Any, trail: Trail, others: Mapping[str, _Blueprint]) -> _Blueprint:
    if not isinstance(given, dict):
        raise _Mistake("a blueprint is a mapping", trail, "begin with '- id: a-name'")
    _known(given, ("id", "description", "inputs", "rule"), trail)
    name, rule, inputs = given.get("id"), given.get("rule"), given.get("inputs", {})
    if not isinstance(name, str) or not name:
        raise _Mistake("a blueprint needs an id", (*trail, "id"), "add 'id: a-name'")
    if name in others:
        raise _Mistake(f"the blueprint {name!r} is here twice", (*trail, "id"), "give one of them another id")
    if not isinstance(rule, dict):
        raise _Mistake(f"the blueprint {name!r} needs a rule", (*trail, "rule"), "add 'rule:' and what a rule has")
    if "use" in rule or "id" in rule:
        key = "use" if "use" in rule else "id"
        raise _Mistake(f"a blueprint's rule has no {key!r}", (*trail, "rule", key, KEY), "remove it")
    if not isinstance(inputs, dict):
        raise _Mistake("'inputs' is a mapping of names to types", (*trail, "inputs"), "write such as {limit: money}")
    declared = {key: _input(key, value, (*trail, "inputs", key)) for key, value in inputs.items()}
    for path, hole in _holes(rule, (*trail, "rule")):
        if hole not in declared:
            raise _Mistake(f"unknown input {hole!r}", path, did_you_mean(hole, declared) or "declare it in 'inputs'")
    return _Blueprint(name, declared, rule, (*trail, "rule"))


def _input(name: str, given: Any, trail: Trail) -> _Input:
    if not _NAME.fullmatch(name):
        raise _Mistake(f"the input {name!r} has the wrong form", (*trail, KEY), "use small letters, digits and '_'")
    data = given if isinstance(given, dict) else {"type": given}
    _known(data, ("type", "default", "description"), trail)
    type_: Any = data.get("type")
    if type_ not in get_args(InputType):
        at = (*trail, "type") if isinstance(given, dict) else trail
        raise _Mistake(f"unknown type {type_!r}", at, did_you_mean(str(type_), get_args(InputType)))
    default = data.get("default", _NOTHING)
    if default is not _NOTHING:
        _checked(name, type_, default, (*trail, "default"))
    return _Input(type_, default)


def _known(given: Mapping[str, Any], names: tuple[str, ...], trail: Trail) -> None:
    for key in given:
        if key not in names:
            raise _Mistake(f"unknown key {key!r}", (*trail, key, KEY), did_you_mean(key, names))


def _holes(value: Any, trail: Trail) -> Iterator[tuple[Trail, str]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _holes(item, (*trail, key))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _holes(item, (*trail, number))
    elif isinstance(value, str):
        yield from ((trail, hole) for hole in _HOLE.findall(value))


def _checked(name: str, type_: InputType, value: Any, trail: Trail) -> Any:
    """The value, if it is of that type."""
    if not _is(type_, value):
        raise _Mistake(f"{name!r} must be {_article(type_)}, not {value!r}", trail, _WRITE[type_])
    return value


def _is(type_: InputType, value: Any) -> bool:
    match type_:
        case "text":
            fits = isinstance(value, str) and 0 < len(value) <= MOST_INPUT and value.isprintable()
            return fits and not any(mark in value for mark in ("{{", "}}", "$("))
        case "number":
            return isinstance(value, (int, float)) and not isinstance(value, bool)
        case "list":
            items = value if isinstance(value, list) and 0 < len(value) <= MOST_INPUT else [None]
            return all(_is("text", item) or _is("number", item) for item in items)
    try:
        if type_ == "money":
            money(value) if isinstance(value, str) else _refuse()
        else:
            Duration.parse(value) if isinstance(value, str) else _refuse()
    except (ValueError, ExampleError, ValidationError):
        return False
    return True


def _refuse() -> None:
    raise ValueError


def _article(type_: InputType) -> str:
    return {"money": "an amount of money"}.get(type_, f"a {type_}")


# --- how it is used --------------------------------------------------------------------------------------------------


def _use(
    source: Document,
    target: Document,
    number: int,
    blueprints: Mapping[str, _Blueprint],
    broken: set[str],
    budget: _Budget,
) -> None:
    """Puts the plain rule in place. What the rule says itself wins over the blueprint."""
    trail: Trail = ("rules", number)
    given = source.data["rules"][number]
    use = given["use"]
    if not isinstance(use, dict):
        raise _Mistake("'use' is a mapping", (*trail, "use"), "write such as {blueprint: a-name, inputs: {...}}")
    _known(use, ("blueprint", "inputs"), (*trail, "use"))
    name = str(use.get("blueprint", ""))
    if name not in blueprints:
        remedy = "mend the blueprint first" if name in broken else did_you_mean(name, blueprints)
        raise _Mistake(f"unknown blueprint {name!r}", (*trail, "use", "blueprint"), remedy)
    blueprint = blueprints[name]
    values, places = _inputs(blueprint, use, (*trail, "use"))
    filling = _Filling(source, target, blueprint, values, places, budget)
    made: dict[str, Json] = {}
    for key, value in blueprint.rule.items():
        if key not in given:
            filling.keep_key((*blueprint.trail, key), (*trail, key))
            made[key] = filling.fill(value, (*blueprint.trail, key), (*trail, key))
    own = {key: value for key, value in given.items() if key != "use"}
    target.data["rules"][number] = made | own


def _inputs(blueprint: _Blueprint, use: Mapping[str, Any], trail: Trail) -> tuple[dict[str, Any], dict[str, Trail]]:
    """The value of each input, and the place of those that were given."""
    given = use.get("inputs", {})
    if not isinstance(given, dict):
        raise _Mistake("'inputs' is a mapping", (*trail, "inputs"), "write such as {limit: 40 EUR}")
    _known(given, tuple(blueprint.inputs), (*trail, "inputs"))
    values: dict[str, Any] = {}
    for name, declared in blueprint.inputs.items():
        if name in given:
            values[name] = _checked(name, declared.type, given[name], (*trail, "inputs", name))
        elif declared.default is _NOTHING:
            what = f"the blueprint {blueprint.id!r} needs {_article(declared.type)} {name!r}"
            raise _Mistake(what, (*trail, "inputs"), _WRITE[declared.type])
        else:
            values[name] = declared.default
    return values, {name: (*trail, "inputs", name) for name in given}


@dataclass(slots=True)
class _Budget:
    """What may still be expanded of a file."""

    values: int = MOST_VALUES
    characters: int = MOST_TEXT

    def take(self, trail: Trail, *, values: int = 0, characters: int = 0) -> None:
        self.values -= values
        self.characters -= characters
        for what, left, most in (("values", self.values, MOST_VALUES), ("characters", self.characters, MOST_TEXT)):
            if left < 0:
                raise _Mistake(f"more than {most:,} {what} when expanded", trail, "split the file")


@dataclass(slots=True)
class _Filling:
    source: Document
    target: Document
    blueprint: _Blueprint
    given: Mapping[str, Any]
    places: Mapping[str, Trail]
    budget: _Budget

    def fill(self, value: Any, origin: Trail, trail: Trail) -> Any:
        self.budget.take(trail, values=1)
        self._place(trail, self.source.places.get(origin))
        if isinstance(value, dict):
            for key in value:
                self.keep_key((*origin, key), (*trail, key))
            return {key: self.fill(item, (*origin, key), (*trail, key)) for key, item in value.items()}
        if isinstance(value, list):
            return [self.fill(item, (*origin, n), (*trail, n)) for n, item in enumerate(value)]
        return self._text(value, origin, trail) if isinstance(value, str) and "$(" in value else value

    def keep_key(self, origin: Trail, trail: Trail) -> None:
        self._place((*trail, KEY), self.source.places.get((*origin, KEY)))

    def _place(self, trail: Trail, place: Place | None) -> None:
        if place is not None:
            self.target.places[trail] = place

    def _text(self, text: str, origin: Trail, trail: Trail) -> Any:
        key = next((step for step in reversed(trail) if isinstance(step, str)), "")
        in_example = "examples" in trail
        form = "text" if in_example else "expression" if key in _EXPRESSIONS else "bound" if key in _BOUNDS else "text"
        whole = _HOLE.fullmatch(text)
        if whole and form != "expression":
            if whole[1] in self.places:
                self._place(trail, self.source.places.get(self.places[whole[1]]))
            return self._value(whole[1], form)
        place = self.source.places.get(origin)
        self._place(trail, replace(place, inset=None) if place is not None else None)
        words = {name: self._words(name, form, origin) for name in dict.fromkeys(_HOLE.findall(text))}
        self.budget.take(trail, characters=len(text) + sum(len(words[name]) for name in _HOLE.findall(text)))
        filled = _HOLE.sub(lambda hole: words[hole[1]], text)
        return float(filled) if form == "bound" and _NUMBER.fullmatch(filled) else filled

    def _value(self, name: str, form: str) -> Any:
        value = self.given[name]
        return _amount(value) if self._type(name) == "money" and form == "bound" else value

    def _words(self, name: str, form: str, origin: Trail) -> str:
        type_, value = self._type(name), self.given[name]
        if form == "expression":
            return _literal(type_, value)
        if type_ == "list":
            raise _Mistake(f"the list {name!r} cannot stand inside a text", origin, "let it stand alone")
        return str(_amount(value) if type_ == "money" and form == "bound" else value)

    def _type(self, name: str) -> InputType:
        return self.blueprint.inputs[name].type


def _amount(value: str) -> int | float:
    amount = money(value).amount
    return int(amount) if amount == amount.to_integral_value() else float(amount)


def _literal(type_: InputType | Literal["item"], value: Any) -> str:
    """As CEL writes it."""
    match type_:
        case "money":
            return _signed(str(float(_amount(value))))
        case "duration":
            return f"duration('{value}')"
        case "list":
            return f"[{', '.join(_literal('item', item) for item in value)}]"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace("'", "\\'")
        return f"'{escaped}'"
    return _signed(str(value))


def _signed(number: str) -> str:
    return f"({number})" if number.startswith("-") else number
