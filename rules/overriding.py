"""Overrides: single settings of rules that another file holds, such as those that ship, put in before they are checked.

A mapping is merged key by key, anything else takes the place of what was there, and ``null`` takes a setting back to
its default. Each value keeps the place of the override, so that a mistake in it is told there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from schemas.document import KEY, Document, Trail
from schemas.errors import Location, RuleError

_FIXED = ("use", "examples")
"""What an override may not say: examples hold for the rule as its own file has it."""


@dataclass(frozen=True, slots=True)
class _Override:
    rule: str
    changes: Mapping[str, Any]
    document: Document
    trail: Trail


@dataclass(slots=True)
class Overrides:
    """Those of all files. ``errors`` tells which of them make no sense.

    The examples of a rule hold for it as its own file has it: they go when more than ``enabled`` is overridden.
    """

    errors: list[RuleError] = field(default_factory=list)
    _by_rule: dict[str, list[_Override]] = field(default_factory=dict)
    _set: dict[tuple[str | int, ...], Location] = field(default_factory=dict)
    """What was overridden already, and where."""

    def collect(self, document: Document) -> None:
        given = document.data.get("overrides", [])
        if not isinstance(given, list):
            remedy = "write such as [{id: some-rule, enabled: false}]"
            self.errors.append(document.error("'overrides' is a list", ("overrides",), remedy=remedy))
            return
        for number, one in enumerate(given):
            trail: Trail = ("overrides", number)
            if not isinstance(one, dict) or not isinstance(one.get("id"), str):
                message, remedy = "an override names a rule", "begin with '- id: some-rule'"
                self.errors.append(document.error(message, trail, remedy=remedy))
                continue
            changes = {key: value for key, value in one.items() if key != "id"}
            for key in _FIXED:
                if changes.pop(key, None) is not None:
                    what, remedy = f"{key!r} cannot be overridden", "write a rule of your own, and switch this one off"
                    self.errors.append(document.error(what, (*trail, key, KEY), remedy=remedy))
            self._by_rule.setdefault(one["id"], []).append(_Override(one["id"], changes, document, trail))

    def touch(self, rule: str) -> bool:
        return rule in self._by_rule

    def change(self, rule: str) -> bool:
        """Whether they say more than that it is on or off."""
        return any(one.changes.keys() - {"enabled"} for one in self._by_rule.get(rule, ()))

    def named(self) -> Iterator[tuple[str, Document, Trail]]:
        """The rules that there must be, each with where it is named."""
        for overrides in self._by_rule.values():
            yield from ((one.rule, one.document, (*one.trail, "id")) for one in overrides)

    def apply(self, rule: str, target: Document, number: int) -> None:
        """Put what overrides say into rule ``number`` of ``target``, which is changed."""
        for one in self._by_rule.get(rule, ()):
            base = target.data["rules"][number]
            made = self._merged(one, base, one.changes, target, (), number)
            if self.change(rule):
                made.pop("examples", None)
            target.data["rules"][number] = made

    def _merged(
        self, one: _Override, base: Any, changes: Mapping[str, Any], target: Document, path: Trail, number: int
    ) -> dict[str, Any]:
        made = dict(base) if isinstance(base, dict) else {}
        for key, value in changes.items():
            below = (*path, key)
            self._place(one, target, (*below, KEY), number)
            if isinstance(value, dict) and isinstance(made.get(key), dict):
                made[key] = self._merged(one, made[key], value, target, below, number)
                continue
            self._once(one, below)
            self._take_places(one, value, target, below, number)
            if value is None:
                made.pop(key, None)
            else:
                made[key] = value
        return made

    def _once(self, one: _Override, path: Trail) -> None:
        trail = (*one.trail, *path)
        first = self._set.setdefault((one.rule, *path), one.document.location(trail))
        if first != one.document.location(trail):
            what = f"{'.'.join(map(str, path))!r} of {one.rule!r} is overridden twice"
            remedy = f"it is also at {first}; keep one of them"
            self.errors.append(one.document.error(what, trail, remedy=remedy))

    def _take_places(self, one: _Override, value: Any, target: Document, path: Trail, number: int) -> None:
        self._place(one, target, path, number)
        items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, item in items:
            self._place(one, target, (*path, key, KEY), number)
            self._take_places(one, item, target, (*path, key), number)

    def _place(self, one: _Override, target: Document, path: Trail, number: int) -> None:
        place = one.document.places.get((*one.trail, *path))
        if place is not None:
            target.places["rules", number, *path] = replace(place, file=one.document.file)
