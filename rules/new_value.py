"""New values: what a key never had before, once enough is known of it: another merchant, another IBAN of a payee."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import TYPE_CHECKING

import msgspec

from rules.baseline import Baselines
from rules.case import CLOSE, Case, digest
from rules.language import ConditionError
from rules.match import fire_again_for, is_history
from rules.measure import Measure, Reading
from rules.moment import Moment
from rules.occasion import Occasion
from rules.timers import Timer
from rules.values import derived
from schemas import clock
from schemas.rule import NewValue
from schemas.trigger import ConditionValue, Reason
from schemas.value import Integrity

if TYPE_CHECKING:
    from rules.prepared import PreparedRule

VALUES = ("new_value.value", "new_value.known")
SHARDS = 16
KEPT = 64
"""Values per shard: 1024 per key, 13 bytes each. Beyond that the ones not seen for longest are forgotten, and are new
when they come again."""
_HEX = 12
"""48 bits: among 1024 values two are taken for one with a chance of 1 in 500 million."""
_COUNTED = 1000


class _History(msgspec.Struct, frozen=True, array_like=True):
    """How many events with a value the key had, and the first day on which one occurred."""

    count: int = 0
    since: int = 0

    def days(self, today: date) -> int:
        return today.toordinal() - self.since if self.count else 0


class NewValueDetector:
    def __init__(self, model: NewValue, rule: PreparedRule) -> None:
        self._model = model
        self._measure = Measure(model.value, model.by, rule, "new_value")
        self._tells = Measure(model.tell, (), rule, "new_value", field="tell") if model.tell else None
        if self._tells is not None and self._tells.types - {"bool", "dyn"}:
            remedy = "write such as amount <= -1000"
            raise ConditionError("'tell' must be true or false", ("new_value", "tell"), remedy=remedy)

    def matched(self, moment: Moment, occasion: Occasion) -> None:
        rule, event = occasion.rule, occasion.event
        found = self._measure.of(occasion)
        if found is None:
            moment.note(rule, occasion.key, "skipped", "no_value", occasion=occasion)
            return
        key, name = self._measure.key(occasion), digest(str(found))[:_HEX]
        case = moment.memory.cases.get(rule.id, occasion.key)
        if case is not None and case.status == "open" and any(one.subject == event.subject for one in case.fired):
            if case.data.get("name") == name:
                moment.note(rule, occasion.key, "skipped", "unchanged", occasion=occasion)
                return
            self._correct(moment, rule, case)
        day = clock.local_day(event.occurred_at, moment.zone)
        history = self._history(moment.memory.baselines, rule, key)
        is_new = _learn(moment.memory.baselines, rule.id, key, name, day)
        self._count(moment.memory.baselines, rule, key, history, day)
        reason = self._judge(moment, occasion, history) if is_new else "known_value"
        condition = self._condition(found, history, day, reason)
        if reason != "new_value":
            moment.note(rule, occasion.key, "skipped", reason, occasion=occasion, conditions=(condition,))
            return
        values = {
            "new_value.value": found.labelled(event),
            "new_value.known": derived(history.count, "Number", (event.id,), Integrity.SYSTEM),
        }
        data = {"by": key, "name": name}
        fire_again_for(moment, occasion, reason, values=values, conditions=(condition,), data=data)

    def due(self, moment: Moment, rule: PreparedRule, case: Case, timers: Iterable[Timer]) -> None:
        raise AssertionError("a new value sets no timers")

    def forget(self, moment: Moment, rule: PreparedRule, case: Case) -> None:
        """The event of the case was taken back: what only it has taught is not known any more."""
        by, name = case.data.get("by"), case.data.get("name")
        if isinstance(by, str) and isinstance(name, str):
            baselines, shard = moment.memory.baselines, _shard(by, name)
            names = [one for one in baselines.recall(rule.id, shard) if one != name]
            baselines.keep(rule.id, shard, clock.local_day(case.opened, moment.zone), names)

    # --- parts ---------------------------------------------------------------------------------------------------

    def _judge(self, moment: Moment, occasion: Occasion, history: _History) -> Reason:
        """What to do with a value that is new."""
        days = history.days(clock.local_day(occasion.event.occurred_at, moment.zone))
        if is_history(moment, occasion):
            return "stale"
        if history.count < self._model.min_history or days < self._model.learn.days:
            return "no_history"
        if self._tells is not None and self._tells.of(occasion) != Reading("true", "Bool"):
            return "below_floor"
        return "new_value"

    def _condition(self, found: Reading, history: _History, day: date, reason: Reason) -> ConditionValue:
        """What decided, as a sentence that goes on with the value: the first thing that does not hold, or that it is
        new."""
        known = f"{history.count} events in {history.days(day)} days"
        model = self._model
        says, value, wanted = "never seen before", str(found), "a value that was never seen"
        if reason == "known_value":
            says = "seen before"
        elif reason == "no_history":
            says, value = "what is known", known
            wanted = f"at least {model.min_history} events in {model.learn.days} days"
        elif reason == "below_floor":
            says, wanted = f"never seen before, and not worth telling after {known}", str(model.tell)
        elif reason == "new_value":
            says = f"never seen before, in {known}"
        return ConditionValue(condition=says, value=value, wanted=wanted, holds=reason == "new_value")

    def _correct(self, moment: Moment, rule: PreparedRule, case: Case) -> None:
        """The same thing with another value: what was said of it is withdrawn."""
        self.forget(moment, rule, case)
        moment.retract(rule, case, "resolved", says="The source corrected it.", subject=moment.event.subject)
        if not case.fired:
            case.status, case.ended = "withdrawn", moment.event.occurred_at
            moment.memory.cases.cancel_timers(case, keep=CLOSE)
        moment.save(case)

    def _history(self, baselines: Baselines, rule: PreparedRule, key: str) -> _History:
        entry = baselines.recall(rule.id, f"{key}|history")
        return msgspec.convert(list(entry), _History) if entry else _History()

    def _count(self, baselines: Baselines, rule: PreparedRule, key: str, history: _History, day: date) -> None:
        since = min(history.since, day.toordinal()) if history.count else day.toordinal()
        counted = _History(min(history.count + 1, _COUNTED), since)
        baselines.keep(rule.id, f"{key}|history", day, msgspec.to_builtins(counted))


def _learn(baselines: Baselines, rule: str, key: str, name: str, day: date) -> bool:
    """Whether the key did not know the value; now it does, as the one that was seen last."""
    shard = _shard(key, name)
    names = list(baselines.recall(rule, shard))
    is_new = name not in names
    if is_new or names[-1] != name:
        names = [*(one for one in names if one != name), name][-KEPT:]
    baselines.keep(rule, shard, day, names)
    return is_new


def _shard(key: str, name: str) -> str:
    return f"{key}|known {name[0]}"
