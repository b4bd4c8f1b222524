"""RuleSet: the rules of an owner, checked and compiled once, shared by all engines of one zone."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from rules.guard import Guard
from rules.index import Index
from rules.language import CheckedCondition
from rules.prepared import PreparedRule, Shared
from rules.sequence import SequenceDetector, Step
from schemas.rule import Rule


@dataclass(frozen=True, slots=True)
class Target:
    """What a condition of the index belongs to: a rule's ``when`` of that number, a guard, or a later step."""

    rule: PreparedRule
    when: int = 0
    guard: Guard | None = None
    step: Step | None = None

    @property
    def is_first(self) -> bool:
        """Of a rule's ``when``."""
        return self.guard is None and self.step is None


class RuleSet:
    """Rules that are not enabled, or are among ``disabled``, are known but never looked at."""

    def __init__(self, rules: Iterable[PreparedRule], zone: ZoneInfo, disabled: Collection[str] = ()) -> None:
        self.rules = tuple(rules)
        self.zone = zone
        self.files: tuple[str, ...] = ()
        """Of which it was made, those too that hold no rule."""
        self.by_id = {rule.id: rule for rule in self.rules}
        self._disabled = frozenset(disabled) | {rule.id for rule in self.rules if not rule.model.enabled}
        self.targets: list[Target] = []
        conditions: list[tuple[int, CheckedCondition]] = []
        for rule in self.rules:
            if self.is_on(rule.id):
                for target, condition in _targets(rule):
                    conditions.append((len(self.targets), condition))
                    self.targets.append(target)
        self.inhibits = _inhibits(self.rules)
        self.depths = {rule: depth for depth, rule in enumerate(_inhibitors_first(self.by_id))} if self.inhibits else {}
        self.sequence_names = frozenset(name for rule in self.rules for name in _sequence_names(rule))
        """Under which the events of sequences are kept."""
        self.index = Index(conditions, zone)

    @classmethod
    def of(cls, rules: Iterable[Rule | PreparedRule], *, zone: ZoneInfo) -> RuleSet:
        """From models, or rules of other sets in the same zone; ConditionErrors for one that cannot be compiled."""
        shared = Shared(zone)
        return cls([PreparedRule(rule, shared) if isinstance(rule, Rule) else rule for rule in rules], zone)

    def is_on(self, rule: str) -> bool:
        return rule in self.by_id and rule not in self._disabled

    def without(self, rules: Collection[str]) -> RuleSet:
        """The same, with these rules off."""
        if not rules:
            return self
        found = RuleSet(self.rules, self.zone, self._disabled | frozenset(rules))
        found.files = self.files
        return found

    def with_inhibitors(self, wanted: Iterable[str]) -> RuleSet:
        """These rules with those on which it depends whether they may speak; all of them as in this set, on or off."""
        names = dict.fromkeys(wanted)
        todo = list(names)
        for name in todo:
            more = [other for other in self.by_id[name].model.inhibit if other in self.by_id and other not in names]
            names |= dict.fromkeys(more)
            todo += more
        return RuleSet([rule for rule in self.rules if rule.id in names], self.zone, self._disabled)

    def __iter__(self) -> Iterator[PreparedRule]:
        return iter(self.rules)

    def __len__(self) -> int:
        return len(self.rules)


def _inhibits(rules: Iterable[PreparedRule]) -> dict[str, tuple[str, ...]]:
    """By rule those that it inhibits."""
    found: dict[str, tuple[str, ...]] = {}
    for rule in rules:
        for other in rule.model.inhibit:
            found[other] = (*found.get(other, ()), rule.id)
    return found


def _inhibitors_first(rules: Mapping[str, PreparedRule]) -> Iterator[str]:
    """All rules, each after those that inhibit it; in a circle (lint warns of it) the first of the files first."""
    begun: set[str] = set()
    for first in rules:
        path = [(first, False)]
        while path:
            rule, is_done = path.pop()
            if is_done:
                yield rule
            elif rule in rules and rule not in begun:
                begun.add(rule)
                path.append((rule, True))
                path += [(other, False) for other in reversed(rules[rule].model.inhibit)]


def _targets(rule: PreparedRule) -> Iterator[tuple[Target, CheckedCondition]]:
    """Guards before ``when``: what settles a case does so before the same event opens another."""
    for guard in rule.guards:
        yield Target(rule, guard=guard), guard.condition
    for step in (*rule.steps, *rule.withouts):
        yield Target(rule, step=step), step.condition
    for number, condition in enumerate(rule.when):
        yield Target(rule, when=number), condition


def _sequence_names(rule: PreparedRule) -> Iterator[str]:
    if isinstance(rule.evaluator, SequenceDetector):
        yield from rule.evaluator.starts
        yield from (step.name for step in (*rule.steps, *rule.withouts))
