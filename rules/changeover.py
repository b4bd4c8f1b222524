"""Changeover: other rules come into use between two events, and what the rules remember follows (law L5).

A rule that is what it was keeps its windows, baselines and timers. One that is new or changed remembers what it would
if it had always been in use: it is played over the history in silence. What its earlier revision said and it says, too,
stands; what it does not say is withdrawn. What it alone would have said stays unsaid. A rule that is not in use any
more ends, and what it said is withdrawn.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from rules import baseline, case, recent, slots
from rules.case import Case, Fired
from rules.memory import Memory
from rules.moment import Evaluation, Moment
from rules.ruleset import RuleSet
from rules.state import TIMER, RuleState
from rules.template import plain
from schemas.trigger import Reason

_FAMILIES = frozenset((case.PREFIX, TIMER, baseline.PREFIX, slots.PREFIX, recent.PREFIX))
"""Entries whose names go on with the id of a rule."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Ids of rules that are in use in one of two sets, or in both with different revisions; in the order of the sets.

    ``begun``: added or changed.
    """

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed)

    def __str__(self) -> str:
        """``2 added, 1 removed``."""
        counts = {"added": self.added, "changed": self.changed, "removed": self.removed}
        return ", ".join(f"{len(names)} {word}" for word, names in counts.items() if names) or "nothing changed"

    @property
    def begun(self) -> tuple[str, ...]:
        return (*self.added, *self.changed)


def difference(old: RuleSet, new: RuleSet) -> Difference:
    ours = {rule.id: rule.revision for rule in old if old.is_on(rule.id)}
    theirs = {rule.id: rule.revision for rule in new if new.is_on(rule.id)}
    return Difference(
        tuple(name for name in theirs if name not in ours),
        tuple(name for name in theirs if name in ours and ours[name] != theirs[name]),
        tuple(name for name in ours if name not in theirs),
    )


def change_over(
    event: Any, now: datetime, state: RuleState, old: RuleSet, new: RuleSet, learned: RuleState, *, owner: str
) -> Evaluation:
    """``state`` as the new rules have it, and what is withdrawn. The old rules have taken in ``event`` already.

    ``learned``: what the rules that are added or changed, and those that inhibit them, know of the events before.
    """
    found = difference(old, new)
    moment = Moment(event, now, owner, old.zone, Memory.of(state), Evaluation())
    new_cases = Memory.of(learned).cases
    for name in found.removed:
        _withdraw(moment, old, name, "rule_removed", "is not in use any more", keep=frozenset())
    for name in found.changed:
        theirs = {(one.key, fired.occurrence) for one in new_cases.of_rule(name) for fired in one.fired}
        _withdraw(moment, old, name, "rule_changed", "was changed and does not say this any more", keep=theirs)
    said = {
        (one.rule, one.key, fired.occurrence): fired
        for name in found.changed
        for one in moment.memory.cases.of_rule(name)
        for fired in one.fired
        if fired.is_said
    }
    _forget(state, {*found.begun, *found.removed})
    for name in found.begun:
        for one in new_cases.of_rule(name):
            _mark(one, said)
            new_cases.save(one)
    for name, entry in _entries(learned, set(found.begun)):
        state.put(name, entry)
    state.index = None
    return moment.out


def _withdraw(
    moment: Moment, old: RuleSet, name: str, reason: Reason, words: str, *, keep: Collection[tuple[str, str]]
) -> None:
    rule = old.by_id[name]
    for one in moment.memory.cases.of_rule(name):
        for fired in list(one.fired):
            if fired.is_said and (one.key, fired.occurrence) not in keep:
                says = f"The rule '{plain(rule.title, 200)}' {words}."
                moment.retract(rule, one, reason, says=says, occurrence=fired.occurrence)


def _mark(one: Case, said: dict[tuple[str, str, str], Fired]) -> None:
    """What was said stands under its own name; the rest happened before the rule was in use."""
    fired: list[Fired] = []
    for item in one.fired:
        before = said.get((one.rule, one.key, item.occurrence))
        if before is not None:
            one.held = [held for held in one.held if held.id != item.id]
            fired.append(replace(before, subject=item.subject, group=item.group))
        else:
            fired.append(item if item.held else replace(item, silent=True))
    one.fired = fired
    if one.last_fired is not None:
        one.last_fired = max((item.at for item in fired if item.is_said), default=None)


def _forget(state: RuleState, rules: Collection[str]) -> None:
    for name, _ in list(_entries(state, rules)):
        state.delete(name)


def _entries(state: RuleState, rules: Collection[str]) -> Iterator[tuple[str, Any]]:
    for name, entry in state.items():
        family, _, rest = name.partition("/")
        if f"{family}/" in _FAMILIES and rest.partition("/")[0] in rules:
            yield name, entry
