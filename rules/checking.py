"""Checking: rule files against the models and the event schema, with every mistake at its place."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import islice
from typing import Any, get_args
from zoneinfo import ZoneInfo

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from rules.blueprints import Expanded, expand
from rules.language import ConditionErrors
from rules.overriding import Overrides
from rules.prepared import PreparedRule, Shared
from schemas.document import KEY, Document, Trail
from schemas.errors import Location, RuleError
from schemas.rule import Bounds, CheckedRule, Rule, Words
from schemas.suggest import did_you_mean

_RULE: TypeAdapter[Rule] = TypeAdapter(CheckedRule)
MOST_ERRORS = 200
"""Mistakes in rules, and unknown names, that are told at once: to look for what was meant takes time."""
_ALTERNATIVES = frozenset(("int", "float", "str", "bool"))
"""Steps that name no key but the form that a value could have had."""


_ELSEWHERE = {
    "when": ("if", "trigger", "triggers", "condition", "conditions", "filter", "detection", "on"),
    "propose": ("then", "action", "actions", "alert", "notify", "do"),
    "id": ("name",),
    "title": ("alias", "summary"),
    "cooldown": ("realert", "throttle", "repeat_interval"),
    "inhibit": ("inhibit_rules",),
    "key": ("group_by", "query_key"),
}
"""What other systems call the keys of a rule."""
_TYPES = {
    "int": "write a whole number",
    "float": "write a number",
    "decimal": "write a number",
    "bool": "write true or false",
    "string": "write a text, in quotes if it is a number",
    "tuple": "write a list, such as [...]",
    "list": "write a list, such as [...]",
    "dict": "write a mapping, such as {key: value}",
    "model": "write a mapping, such as {key: value}",
    "date": "write a day, such as 2026-03-01",
    "time": "write a time of day, such as 09:00",
}
"""By the first word of pydantic's type of a mistake: what to do about it."""
_KEYS = ("rules", "blueprints", "include", "overrides")


class FileChecker:
    """Takes documents one after the other, then checks the rules of all of them together.

    Afterwards it has the rules that are right, and the errors of those that are not.
    """

    def __init__(self, zone: ZoneInfo, playbooks: Collection[str] | None = None) -> None:
        self._shared = Shared(zone)
        self._playbooks = playbooks
        self._overrides = Overrides()
        self.rules: list[PreparedRule] = []
        self.places: dict[str, Location] = {}
        self.errors: list[RuleError] = []
        self._named: list[tuple[str, Document, Trail]] = []
        self._given: list[Expanded] = []
        self._known: set[str] = set()
        """Ids, also of rules that are wrong."""

    def add(self, document: Document) -> None:
        data = document.data
        if not isinstance(data, dict) or not any(key in data for key in ("rules", "include", "overrides")):
            remedy = "begin with 'rules:' and a list of rules"
            self.errors.append(document.error("this is no rule file", (), remedy=remedy))
            return
        for key in data:
            if key not in _KEYS:
                remedy = did_you_mean(key, _KEYS) or "remove it"
                self.errors.append(document.error(f"unknown key {key!r}", (key, KEY), remedy=remedy))
        if not isinstance(data.get("rules", []), list):
            self.errors.append(document.error("'rules' is a list", ("rules",), remedy="begin with '- id: some-name'"))
            return
        expanded = expand(document)
        self.errors += expanded.errors
        self._overrides.collect(document)
        self._given.append(expanded)

    def check(self) -> None:
        """Once all documents were added."""
        for expanded in self._given:
            document = self._overridden(expanded.document)
            for number, rule in enumerate(document.data.get("rules", ())):
                if isinstance(rule, dict):
                    self._known.add(str(rule.get("id")))
                left = MOST_ERRORS - len(self.errors)
                if number not in expanded.skipped and left > 0:
                    self.errors += islice(self._check(document, ("rules", number), rule), left)
        self.errors += self._overrides.errors
        named = [*self._named, *self._overrides.named()]
        for name, document, trail in islice((one for one in named if one[0] not in self._known), MOST_ERRORS):
            remedy = did_you_mean(name, self._known)
            self.errors.append(document.error(f"unknown rule {name!r}", trail, remedy=remedy))

    def _overridden(self, document: Document) -> Document:
        """The document with what overrides change in its rules; itself, if that is nothing."""
        rules = list(document.data.get("rules", ()))
        names = [(number, rule["id"]) for number, rule in enumerate(rules) if isinstance(rule, dict) and "id" in rule]
        named = [(number, name) for number, name in names if isinstance(name, str) and self._overrides.touch(name)]
        if named:
            document = Document(document.file, {**document.data, "rules": rules}, dict(document.places))
            for number, name in named:
                self._overrides.apply(name, document, number)
        return document

    def _check(self, document: Document, trail: Trail, data: Any) -> Iterator[RuleError]:
        if not isinstance(data, dict):
            yield document.error("a rule is a mapping", trail, remedy="begin with '- id: some-name'")
            return
        try:
            rule = _RULE.validate_python(data)
        except ValidationError as error:
            yield from (_from_details(document, trail, details) for details in _causes(error))
            return
        yield from self._check_names(document, trail, rule)
        try:
            is_changed = self._overrides.change(rule.id)
            place = document.location(trail)
            self.rules.append(PreparedRule(rule, self._shared, place, is_overridden=is_changed))
        except ConditionErrors as problems:
            for problem in problems.errors:
                where = document.trail(trail, problem.path)
                yield document.error(problem.message, where, offset=problem.offset, remedy=problem.remedy)

    def _check_names(self, document: Document, trail: Trail, rule: Rule) -> Iterator[RuleError]:
        where = document.trail(trail, ("id",))
        if rule.id in self.places:
            remedy = f"it is also at {self.places[rule.id]}; give one of them another id"
            yield document.error(f"the rule {rule.id!r} is here twice", where, remedy=remedy)
        self.places.setdefault(rule.id, document.location(where))
        for number, name in enumerate(rule.inhibit):
            self._named.append((name, document, document.trail(trail, ("inhibit", number))))
        playbook = rule.propose.playbook
        if playbook is not None and self._playbooks is not None and playbook not in self._playbooks:
            remedy = did_you_mean(playbook, self._playbooks)
            at = document.trail(trail, ("propose", "playbook"))
            yield document.error(f"unknown playbook {playbook!r}", at, remedy=remedy)


def _causes(error: ValidationError) -> list[ErrorDetails]:
    """Without what only follows: a list whose items are wrong is not also too short."""
    found = error.errors()
    inner = [details["loc"] for details in found]
    return [
        details
        for details in found
        if details["type"] != "too_short" or not any(loc[:-1][: len(details["loc"])] == details["loc"] for loc in inner)
    ]


def _from_details(document: Document, trail: Trail, details: ErrorDetails) -> RuleError:
    loc = details["loc"]
    message, remedy = _words(details)
    if details["type"] == "extra_forbidden":
        place = document.trail(trail, (*loc[:-1], loc[-1], KEY))
        word = str(loc[-1])
        meant = next((ours for ours, theirs in _ELSEWHERE.items() if word in theirs and len(loc) == 1), "")
        remedy = f"here it is {meant!r}" if meant else did_you_mean(word, _known_keys(loc))
        return document.error(message, place, remedy=remedy)
    return document.error(message, document.trail(trail, loc), remedy=remedy)


def _words(details: ErrorDetails) -> tuple[str, str]:
    """What is wrong, and what to do about it."""
    steps = [step for step in details["loc"] if isinstance(step, str) and step not in _ALTERNATIVES]
    name = steps[-1] if steps else "the rule"
    match details["type"]:
        case "missing":
            return f"{name!r} is missing", "add it"
        case "extra_forbidden":
            return f"unknown key {name!r}", ""
        case "literal_error":
            known = re.findall(r"'([^']*)'", str(details.get("ctx", {}).get("expected", "")))
            return f"unknown {name} {details['input']!r}", did_you_mean(str(details["input"]), known)
        case "string_pattern_mismatch":
            return f"{name} {details['input']!r} has the wrong form", "use small letters, digits and '-'"
        case "too_long":
            return f"{name} has more than {details['ctx']['max_length']} items", "make several rules of it"
        case "string_too_long":
            return f"{name} is longer than {details['ctx']['max_length']} characters", "shorten it"
        case "value_error":
            message, _, remedy = str(details["ctx"]["error"]).partition("; ")
            return message, remedy
        case type_ if (remedy := _TYPES.get(type_.partition("_")[0], "")) and not type_.startswith("string_t"):
            return f"{name!r} cannot be {_shown(details['input'])}", remedy
        case _:
            return f"{name}: {details['msg'][:1].lower()}{details['msg'][1:]}", ""


def _shown(value: Any) -> str:
    return "a mapping" if isinstance(value, dict) else "a list" if isinstance(value, list) else repr(value)


def _known_keys(loc: tuple[int | str, ...]) -> list[str]:
    """The keys of the model that holds the last step."""
    model: type[BaseModel] | None = Rule
    for step in loc[:-1]:
        if step in ("bounds", "words"):
            return [*Bounds.model_fields, *Words.model_fields]
        if model is not None and isinstance(step, str) and step in model.model_fields:
            model = _inner_model(model.model_fields[step].annotation)
    return [info.alias or name for name, info in model.model_fields.items()] if model is not None else []


def _inner_model(annotation: Any) -> type[BaseModel] | None:
    """The model in ``tuple[Model, ...]``, ``Model | None`` and the like."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for arg in get_args(annotation) if (found := _inner_model(arg))), None)
