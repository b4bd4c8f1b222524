"""Engine: a deterministic fold of one owner's events over rules and state; the only clock is the events' own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, cast
from zoneinfo import ZoneInfo

from rules import holding, joining
from rules.case import CLOSE, HELD
from rules.memory import Memory
from rules.moment import Evaluation, Moment
from rules.occasion import Occasion
from rules.prepared import PreparedRule
from rules.ruleset import RuleSet
from rules.sequence import SequenceDetector
from rules.settling import settle_open
from rules.state import RuleState
from rules.timers import Timer
from rules.withdrawing import withdraw
from schemas import clock

__all__ = ["Engine", "Evaluation"]

_MOST_ROUNDS = 1000
"""Timers may set timers that are due at once; a rule that does so for ever is a bug of ours, found here."""


class Engine:
    """Events may be ``schemas.event.Event`` or anything with its attributes, such as msgspec structs."""

    def __init__(self, rules: RuleSet, owner: str, zone: ZoneInfo, *, explain: bool = False) -> None:
        """``explain``: evaluations tell also what was scheduled or skipped, which costs more than the rest."""
        self.rules = rules
        self._explains = explain
        self.owner = owner
        self.zone = zone

    def evaluate(self, event: Any, state: RuleState, now: datetime) -> Evaluation:
        """Due timers (``due <= now``) fire first, then the event is taken in; writes go to ``state`` only.

        ``now`` is the event's ``observed_at``. An event whose id was seen before, or that says that it occurred in a
        year that is none, fires due timers and nothing else.
        """
        memory = Memory.of(state)
        moment = Moment(event, now, self.owner, self.zone, memory, Evaluation(), self._explains, event.matter)
        first = state.next_timer()
        if first is not None and first <= now:
            self._fire_timers(moment)
        if clock.is_plausible(event.occurred_at) and memory.seen.add(event):
            self._take_in(moment)
        if self.rules.inhibits:
            holding.recheck(moment, self.rules.by_id, self.rules.inhibits)
        memory.cases.thin()
        return moment.out

    def _take_in(self, moment: Moment) -> None:
        memory = moment.memory
        if moment.event.kind == "clock.day":
            forgotten = memory.clean(moment.now, clock.local_day(moment.now, self.zone))
            joining.follow(moment, self.rules.by_id, forgotten)
        joining.relink(moment, self.rules.by_id)
        event = moment.event
        if self.rules.sequence_names:
            memory.recents.supersede(event, self.rules.sequence_names)
        targets = [self.rules.targets[number] for number in self.rules.index.match(event)]
        withdrawn = event.op == "retract" and not event.kind.endswith((".cancelled", ".removed"))
        matched: dict[str, Occasion] = {}
        for target in targets:
            if target.is_first and not withdrawn and target.rule.id not in matched:
                matched[target.rule.id] = Occasion(target.rule, event, target.when)
        for target in targets:
            if target.guard is not None:
                settle_open(moment, target.rule, target.guard)
            elif target.step is not None and not withdrawn:
                detector, first = cast("SequenceDetector", target.rule.evaluator), matched.get(target.rule.id)
                detector.stepped(moment, target.rule, target.step, first)
        joining.close_paid(moment, self.rules.by_id)
        withdraw(moment, self.rules.by_id, matched)
        for occasion in self._ordered(matched):
            occasion.rule.evaluator.matched(moment, occasion)

    def _ordered(self, matched: Mapping[str, Occasion]) -> Iterable[Occasion]:
        """What inhibits others comes before them."""
        depths = self.rules.depths
        return sorted(matched.values(), key=lambda one: depths[one.rule.id]) if depths else matched.values()

    def _cases_in_order(self, cases: _Cases) -> Iterable[tuple[tuple[str, str], list[Timer]]]:
        depths = self.rules.depths
        return sorted(cases.items(), key=lambda item: depths.get(item[0][0], 0)) if depths else cases.items()

    def _fire_timers(self, moment: Moment) -> None:
        for _ in range(_MOST_ROUNDS):
            due = moment.memory.state.due_timers(moment.now)
            if not due:
                return
            for (rule, key), timers in self._cases_in_order(_by_case(moment, due)):
                self._fire_case(moment, rule, key, timers)
        raise AssertionError("timers keep setting timers that are due")

    def _fire_case(self, moment: Moment, rule_id: str, key: str, timers: list[Timer]) -> None:
        """A case whose rule is gone, or not enabled, ends in silence."""
        memory = moment.memory
        case, rule = memory.cases.get(rule_id, key), self.rules.by_id.get(rule_id)
        if case is None:
            return
        own = [timer for timer in timers if timer.tag not in (CLOSE, HELD)]
        if rule is None or not self.rules.is_on(rule_id):
            memory.cases.drop(case)
            return
        if own:
            rule.evaluator.due(moment, rule, case, own)
        case = memory.cases.get(rule_id, key)
        if case is not None and any(timer.tag == HELD for timer in timers):
            holding.release(moment, rule, case)
        if any(timer.tag == CLOSE for timer in timers):
            self._close(moment, rule, key)

    def _close(self, moment: Moment, rule: PreparedRule, key: str) -> None:
        case = moment.memory.cases.get(rule.id, key)
        if case is not None and case.closes is not None and case.closes <= moment.now:
            moment.memory.cases.drop(case)


_Cases = dict[tuple[str, str], list[Timer]]


def _by_case(moment: Moment, due: Iterable[tuple[datetime, str]]) -> _Cases:
    """Due timers by rule and key, in the order in which the first of each was due; one without a case is dropped."""
    found: _Cases = {}
    for instant, name in due:
        entry = moment.memory.state.get(name)
        assert isinstance(entry, dict)
        rule, key, tag = (str(entry[part]) for part in ("rule", "key", "tag"))
        if moment.memory.cases.get(rule, key) is None:
            moment.memory.state.delete(name)
        else:
            found.setdefault((rule, key), []).append(Timer(instant, tag))
    return found
