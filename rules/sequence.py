"""Sequence: one thing, then another (and another) within a time; a function of the events kept, whatever their order.

Nothing is decided when an event arrives but over the events that are known then, by when they occurred: a step that is
seen late (no later than ``rules.recent.LATENESS``) counts where it belongs, and one that is withdrawn takes back what
it led to.
"""

from __future__ import annotations

import re
from bisect import insort
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from rules.case import CLOSE, Case
from rules.fields import family, first_facts, payload_of, scope
from rules.guard import Test
from rules.index import tester
from rules.language import CheckedCondition, check_condition
from rules.memory import Fits
from rules.moment import MEMORY_AFTER_END, Moment
from rules.occasion import Occasion, evidence
from rules.settling import settled_already
from rules.template import plain
from rules.timers import Timer
from rules.windows import later
from schemas.duration import Duration
from schemas.rule import Condition, Sequence
from schemas.trigger import ConditionValue, Reason
from schemas.value import Value

if TYPE_CHECKING:
    from rules.prepared import PreparedRule

_MOST_READINGS = 5000
_MOST_FITS = 20_000
_MOST_CHAINS = 20
"""Chains remembered for one key; the oldest go first."""


@dataclass(frozen=True)
class Step:
    """One of the conditions after the first (``number`` from 2), or of ``without`` (``number`` 0).

    ``name`` is unique among all steps and guards of all rules.
    """

    name: str
    number: int
    condition: CheckedCondition
    tests: Mapping[str, Test]
    """By family of kinds: whether the event fits the steps before it (its own part is in the index)."""

    def fits(self, event: Any, values: Mapping[str, Any]) -> bool:
        return self.tests[family(event.kind)](event, payload_of(event), first_facts(event), values)

    @cached_property
    def reads_first_only(self) -> bool:
        fields = (
            field.name for conjuncts in self.condition.by_family.values() for one in conjuncts for field in one.fields()
        )
        return not any(re.match(r"trigger\.step[2-9]\.", name) for name in fields)

    @property
    def is_linked(self) -> bool:
        return any(conjunct.on_case for conjuncts in self.condition.by_family.values() for conjunct in conjuncts)


def make_step(name: str, number: int, condition: Condition, earlier: Iterable[Iterable[str]], zone: ZoneInfo) -> Step:
    """``earlier``: the kinds of each step that it may read."""
    checked = check_condition(condition, zone, earlier=tuple(tuple(kinds) for kinds in earlier))
    shared = scope(zone)
    tests = {
        tag: tester((conjunct for conjunct in conjuncts if conjunct.on_case), shared)
        for tag, conjuncts in checked.by_family.items()
    }
    return Step(name, number, checked, tests)


@dataclass(frozen=True, slots=True)
class Chain:
    """Events that followed one another as the rule says; ``when``: which of its first conditions the first fits."""

    events: tuple[Any, ...]
    when: int

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(event.id for event in self.events)


class SequenceDetector:
    def __init__(self, model: Sequence, rule: PreparedRule) -> None:
        self._model = model
        self.starts = tuple(f"{rule.id}/start/{number}" for number in range(len(rule.when)))
        self._keeps = Duration(model.within.days + 1, model.within.seconds).timedelta()

    def matched(self, moment: Moment, occasion: Occasion) -> None:
        """The first step: it may complete a sequence whose others were seen before."""
        rule, event = occasion.rule, occasion.event
        moment.memory.recents.add(self.starts[occasion.when], event, before=self._keeps, now=moment.now)
        keys = {
            occasion.key,
            *(case.key for case in moment.memory.cases.of_subject(event.subject) if case.rule == rule.id),
        }
        known = _Known(moment, rule, self.starts)
        if not sum(self._reconcile(moment, rule, known, key, "resolved") for key in sorted(keys)):
            moment.note(rule, occasion.key, "scheduled", "scheduled", occasion=occasion)

    def due(self, moment: Moment, rule: PreparedRule, case: Case, timers: Iterable[Timer]) -> None:
        raise AssertionError("a sequence sets no timers")

    def stepped(self, moment: Moment, rule: PreparedRule, step: Step, first: Occasion | None) -> None:
        """The event satisfied the own part of a later step, or of ``without``.

        ``first``: it is a first step, too; of two that happened at one instant, each could be the first of the other.
        """
        event = moment.event
        if first is not None:
            moment.memory.recents.add(self.starts[first.when], event, before=self._keeps, now=moment.now)
        moment.memory.recents.add(step.name, event, before=self._keeps, now=moment.now)
        known = _Known(moment, rule, self.starts)
        for key in sorted(
            key for key, starts in known.starts.items() if any(self._may(known, step, it) for it in starts)
        ):
            self._reconcile(moment, rule, known, key, "resolved")

    def _may(self, known: _Known, step: Step, start: _Start) -> bool:
        """Whether this event could be such a step after this start."""
        event, since = known.moment.event, start.event.occurred_at
        if not since <= event.occurred_at <= later(self._model.within, since, known.moment.zone):
            return False
        return not step.reads_first_only or step.fits(event, start.values)

    def withdrawn(self, moment: Moment, rule: PreparedRule, case: Case, reason: Reason | None) -> None:
        """The source took a step back, or says now that it is something else."""
        kinds = {kind for step in rule.steps for kind in step.condition.kinds}
        if reason is not None or moment.event.kind in kinds:
            self._reconcile(moment, rule, _Known(moment, rule, self.starts), case.key, reason or "resolved")

    # --- what stands against what is known ---------------------------------------------------------------------------

    def _reconcile(self, moment: Moment, rule: PreparedRule, known: _Known, key: str, reason: Reason) -> int:
        """Withdraws the triggers of chains that are broken and fires for new ones; gives how many are new.

        A chain that shares its first or its last event with one that stands is the same situation.
        """
        found = list(self._chains(known, key))
        case = moment.memory.cases.get(rule.id, key)
        if case is not None and case.fired:
            self._withdraw_broken(moment, rule, case, found, reason)
        news = 0
        for chain in found:
            case = moment.memory.cases.get(rule.id, key)
            said = case.data["chains"] if case is not None and case.status != "withdrawn" else []
            if not any(_same(chain.ids, ids) for ids in said):
                self._complete(moment, rule, key, case, chain)
                news += 1
        return news

    def _withdraw_broken(
        self, moment: Moment, rule: PreparedRule, case: Case, found: list[Chain], reason: Reason
    ) -> None:
        """One whose events were forgotten meanwhile is history: only its own events can still withdraw it."""
        event = moment.event
        still_fits = self._knows(moment, rule, (event.id,))
        for fired in case.fired:
            ids = _ids_of(case, fired.occurrence)
            ours = not still_fits and event.id not in ids and event.subject in case.data["subjects"].get(ids[-1], ())
            if any(_same(chain.ids, ids) for chain in found) or not (ours or self._knows(moment, rule, ids)):
                continue
            says = f"{plain(event.title, 200) or event.kind.replace('.', ' ')} ends it."
            moment.retract(rule, case, reason, says=says, occurrence=fired.occurrence)
            case.data = _without(case.data, ids)
        if not case.fired:
            case.status, case.ended = "withdrawn", event.occurred_at
            moment.memory.cases.cancel_timers(case, keep=CLOSE)
        moment.save(case)

    def _complete(self, moment: Moment, rule: PreparedRule, key: str, case: Case | None, chain: Chain) -> None:
        first, last = chain.events[0], chain.events[-1]
        if rule.model.max_age.after(last.occurred_at, moment.zone) < moment.now:
            moment.suppress(rule, key, last.id, "stale")
            return
        occasion = Occasion(rule, first, chain.when, key)
        ends = [guard.within.after(first.occurred_at, moment.zone) for guard in rule.guards]
        closes = max([moment.now + MEMORY_AFTER_END, *ends])
        data = _with(case.data if case is not None and case.status == "open" else {"chains": [], "subjects": {}}, chain)
        if case is None or case.status != "open":
            case = moment.open(occasion, closes=closes, data=data)
            _describe(moment, rule, case, chain)
            if settled_already(moment, rule, case):
                return
        else:
            moment.describe(case, occasion)
            _describe(moment, rule, case, chain)
            case.data = data
            moment.close_at(rule, case, closes)
        lasted = ConditionValue(
            condition=f"{len(chain.events)} steps within {self._model.within}",
            value=str(last.occurred_at - first.occurred_at),
            wanted=f"<= {self._model.within}",
            holds=True,
        )
        moment.fire(rule, case, last.id, "followed", conditions=(lasted,))

    # --- chains ------------------------------------------------------------------------------------------------------

    def _knows(self, moment: Moment, rule: PreparedRule, ids: Iterable[str]) -> bool:
        has = moment.memory.recents.has
        names = (*self.starts, *(step.name for step in rule.steps))
        return all(any(has(name, event) for name in names) for event in ids)

    def _chains(self, known: _Known, key: str) -> Iterator[Chain]:
        """Of each first step at most one; of those that end in one event, or are one another's mirror, the latest."""
        found = [chain for start in known.starts.get(key, ()) if (chain := self._chain(known, start)) is not None]
        ends: set[str] = set()
        sets: set[frozenset[str]] = set()
        for chain in sorted(found, key=lambda chain: (chain.events[0].occurred_at, chain.ids), reverse=True):
            if chain.ids[-1] not in ends and frozenset(chain.ids) not in sets:
                ends.add(chain.ids[-1])
                sets.add(frozenset(chain.ids))
                yield chain

    def _chain(self, known: _Known, start: _Start) -> Chain | None:
        """The earliest event that fits is the next step."""
        first = start.event
        until = later(self._model.within, first.occurred_at, known.moment.zone)
        values, events = start.values, [first]
        for step in known.rule.steps:
            found = next(known.fitting(step, events[-1].occurred_at, until, events, values), None)
            if found is None:
                return None
            events.append(found)
            values = values | known.read(step.number, found)[1]
        for step in known.rule.withouts:
            if any(True for _ in known.fitting(step, first.occurred_at, events[-1].occurred_at, events, values)):
                return None
        return Chain(tuple(events), start.when)


@dataclass(frozen=True, slots=True)
class _Start:
    """A first step that is known: ``when`` is the condition it fits."""

    event: Any
    when: int
    values: dict[str, Any]


class _Known:
    """The events of a sequence that are known at a moment: first steps by key, the others by step."""

    def __init__(self, moment: Moment, rule: PreparedRule, starts: Iterable[str]) -> None:
        self.moment = moment
        self.rule = rule
        self.starts: dict[str, list[_Start]] = {}
        for number, name in enumerate(starts):
            for event in moment.memory.recents.of(name):
                key, values = self.read(1, event)
                self.starts.setdefault(key, []).append(_Start(event, number, values))

    def fitting(
        self, step: Step, since: datetime, until: datetime, chain: list[Any], values: Mapping[str, Any]
    ) -> Iterator[Any]:
        """The events of a step that occurred then and fit the chain, of which these are the values, oldest first."""
        recents = self.moment.memory.recents
        for event in self._fits(step, since, until, chain, values).events:
            if recents.has(step.name, event.id):
                yield event

    def _fits(self, step: Step, since: datetime, until: datetime, chain: list[Any], values: Mapping[str, Any]) -> Fits:
        """Each event is held against a chain once, when the one or the other is new. The hot loop."""
        kept, arrived = self.moment.memory.fits, self.moment.memory.recents.arrived(step.name)
        name = (self.rule.revision, step.name, *(event.id for event in chain))
        fits = kept.get(name)
        if fits is None or fits.arrived is not arrived:
            if len(kept) >= _MOST_FITS:
                kept.clear()
            fits = kept[name] = Fits(arrived)
        for event in arrived[fits.upto :]:
            is_then = since <= event.occurred_at <= until and all(event.id != one.id for one in chain)
            if is_then and step.fits(event, values):
                insort(fits.events, event, key=_by_time)
        fits.upto = len(arrived)
        return fits

    def read(self, number: int, event: Any) -> tuple[str, dict[str, Any]]:
        """The key, and the values as later steps read them."""
        kept, name = self.moment.memory.readings, (self.rule.revision, number, event.id)
        if name not in kept:
            if len(kept) >= _MOST_READINGS:
                kept.clear()
            if number == 1:
                kept[name] = (_key(self.rule, event), self.rule.values.decode(self.rule.values.read(event)))
            else:
                kept[name] = ("", self.rule.values.decode(_named(self.rule, number, event)))
        return kept[name]


def _by_time(event: Any) -> tuple[datetime, str]:
    return event.occurred_at, event.id


def _key(rule: PreparedRule, start: Any) -> str:
    return Occasion(rule, start, 0).key


def _named(rule: PreparedRule, number: int, event: Any) -> dict[str, Value]:
    return {f"step{number}.{name}": value for name, value in rule.values.read(event).items()}


def _describe(moment: Moment, rule: PreparedRule, case: Case, chain: Chain) -> None:
    """The first step gives the case its values; the others add theirs as ``step2.*`` and on, and their evidence."""
    for number, event in enumerate(chain.events[1:], 2):
        named = _named(rule, number, event)
        case.values |= {name: value.model_dump(mode="json", exclude_defaults=True) for name, value in named.items()}
        case.evidence = [*case.evidence, evidence(event).model_dump(mode="json", exclude_defaults=True)]


def _same(ids: Iterable[str], others: Iterable[str]) -> bool:
    ours, theirs = tuple(ids), tuple(others)
    return ours[0] == theirs[0] or ours[-1] == theirs[-1]


def _ids_of(case: Case, occurrence: str) -> tuple[str, ...]:
    last = occurrence.partition("#")[0]
    return next((tuple(ids) for ids in case.data["chains"] if ids[-1] == last), (last,))


def _with(data: Mapping[str, Any], chain: Chain) -> dict[str, Any]:
    chains = [*data["chains"], list(chain.ids)][-_MOST_CHAINS:]
    subjects = {**data["subjects"], chain.ids[-1]: sorted({event.subject for event in chain.events})}
    return _data(chains, subjects)


def _without(data: Mapping[str, Any], gone: Iterable[str]) -> dict[str, Any]:
    return _data([ids for ids in data["chains"] if ids != list(gone)], data["subjects"])


def _data(chains: list[list[str]], subjects: Mapping[str, list[str]]) -> dict[str, Any]:
    """``others``: all subjects, by which the case is found when one of them changes."""
    kept = {ids[-1]: subjects[ids[-1]] for ids in chains}
    return {"chains": chains, "subjects": kept, "others": sorted({name for names in kept.values() for name in names})}
