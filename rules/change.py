"""Change: a value that differs from the one before it, of the same thing or of a key; withdrawn when it goes back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from rules.case import CLOSE, Case
from rules.language import ConditionError
from rules.match import fire_again_for, is_history
from rules.measure import Measure, Reading
from rules.moment import MEMORY_AFTER_END, Moment
from rules.occasion import Occasion
from rules.timers import Timer
from rules.values import derived
from schemas import clock
from schemas.rule import Change
from schemas.trigger import ConditionValue, Reason
from schemas.value import Integrity

if TYPE_CHECKING:
    from rules.prepared import PreparedRule

VALUES = ("change.before", "change.after", "change.percent", "change.times")
_KEPT_TIMES = 1000
_SAME = ("unchanged", "below_floor")


class _Stood(msgspec.Struct, frozen=True, array_like=True):
    """A value and how often it came in a row."""

    text: str
    nominal: Literal["Text", "Bool", "Number", "Money", "DateTime"]
    number: str
    unit: str
    times: int

    @classmethod
    def of(cls, found: Reading, times: int) -> _Stood:
        number = "" if found.number is None else str(found.number)
        return cls(found.text, found.nominal, number, found.unit, min(times, _KEPT_TIMES))

    @property
    def reading(self) -> Reading:
        return Reading(self.text, self.nominal, Decimal(self.number) if self.number else None, self.unit)


class _Last(msgspec.Struct, frozen=True, array_like=True):
    """The newest value of a key, whose event it came with, and what stood before.

    ``case``: the case that told of changes, ``origin``: what stood before the first of them.
    """

    at: datetime
    subject: str
    now: _Stood
    before: _Stood | None = None
    case: str = ""
    origin: _Stood | None = None

    def without(self) -> _Last | None:
        """As if the newest event had not been; None: then nothing is known."""
        if self.now.times > 1:
            return msgspec.structs.replace(self, now=_Stood.of(self.now.reading, self.now.times - 1))
        if self.before is None:
            return None
        return _Last(self.at, self.subject, self.before, None, self.case, self.origin)


@dataclass(frozen=True, slots=True)
class Difference:
    """``verdict`` is None where it is a change. ``percent`` only of numbers and amounts, and never of nothing."""

    verdict: Literal["unchanged", "below_floor", "other_direction"] | None
    percent: float | None = None


class ChangeDetector:
    def __init__(self, model: Change, rule: PreparedRule) -> None:
        self._model = model
        self._measure = Measure(model.value, model.by, rule, "change")
        self._memory = MEMORY_AFTER_END + 2 * model.apart.timedelta()  # the next two decide whether it goes back
        if model.direction != "any" or model.min_change or model.min_percent:
            self._measure.must_be_ordered("a 'direction', 'min_change' or 'min_percent'")
        if model.min_percent and "timestamp" in self._measure.types:
            remedy = "use 'min_change', in seconds"
            raise ConditionError("a date has no percents", ("change", "min_percent"), remedy=remedy)

    def matched(self, moment: Moment, occasion: Occasion) -> None:
        rule, event = occasion.rule, occasion.event
        found = self._measure.of(occasion)
        if found is None:
            moment.note(rule, occasion.key, "skipped", "no_value", occasion=occasion)
            return
        key = f"{self._measure.key(occasion)}|{found.unit}"
        entry = moment.memory.baselines.recall(rule.id, key)
        last = msgspec.convert(list(entry), _Last) if entry else None
        if last is not None and event.occurred_at < last.at:
            moment.note(rule, occasion.key, "skipped", "outdated", occasion=occasion)
            return
        if last is not None and self._is_another_version(event, last):
            if last.now.reading == found:
                moment.note(rule, occasion.key, "skipped", "unchanged", occasion=occasion)
                return
            last = self._corrected(moment, rule, last)
        elif last is not None and _was_removed(moment, rule, last):
            last = last.without()
        kept = self._judge(moment, occasion, last, found)
        day = clock.local_day(event.occurred_at, moment.zone)
        moment.memory.baselines.keep(rule.id, key, day, msgspec.to_builtins(kept))

    def due(self, moment: Moment, rule: PreparedRule, case: Case, timers: Iterable[Timer]) -> None:
        raise AssertionError("a change sets no timers")

    # --- what the event means ------------------------------------------------------------------------------------

    def _judge(self, moment: Moment, occasion: Occasion, last: _Last | None, found: Reading) -> _Last:
        """Say what is to be said; what is known of the key from now on."""
        event = occasion.event
        at = event.occurred_at.astimezone(UTC)
        if last is None:
            self._skip(moment, occasion, "no_history", None, found)
            return _Last(at, event.subject, _Stood.of(found, 1))
        told = _standing(moment, occasion.rule, last.case)
        if told is not None and last.origin is not None:
            since = self._difference(last.origin.reading, found).verdict
            if since is not None:
                _withdraw(moment, occasion.rule, told, f"It is {found} again.")
                return _Last(at, event.subject, _Stood.of(found, last.origin.times * (since in _SAME) + 1))
        case, origin = (last.case, last.origin) if told is not None else ("", None)
        if at < self._model.apart.after(last.at, moment.zone):
            self._skip(moment, occasion, "irregular", last, found)
            return _Last(at, event.subject, _Stood.of(found, 1), None, case, origin)
        difference = self._difference(last.now.reading, found)
        if difference.verdict in _SAME:
            self._skip(moment, occasion, difference.verdict, last, found)
            return _Last(at, event.subject, _Stood.of(found, last.now.times + 1), last.before, case, origin)
        if difference.verdict is not None or last.now.times < self._model.steady:
            self._skip(moment, occasion, difference.verdict or "no_history", last, found)
        else:
            self._fire(moment, occasion, last, found, difference)
            if not is_history(moment, occasion) and occasion.key != case:
                case, origin = occasion.key, last.now
        return _Last(at, event.subject, _Stood.of(found, 1), last.now, case, origin)

    def _difference(self, before: Reading, now: Reading) -> Difference:
        model = self._model
        if before == now or (before.number is not None and before.number == now.number):
            return Difference("unchanged")
        if before.number is None or now.number is None:
            return Difference(None if model.direction == "any" else "other_direction")
        size = now.number - before.number
        percent = None
        if before.number and now.nominal != "DateTime":
            percent = float(round(100 * size / abs(before.number), 1))
        is_small = abs(size) < Decimal(str(model.min_change))
        if is_small or abs(size) * 100 < Decimal(str(model.min_percent)) * abs(before.number):
            return Difference("below_floor", percent)
        wanted = {"up": size > 0, "down": size < 0, "any": True}[model.direction]
        return Difference(None if wanted else "other_direction", percent)

    # --- what was known before -----------------------------------------------------------------------------------

    def _is_another_version(self, event: Any, last: _Last) -> bool:
        """Without ``by`` the versions of a thing are what is compared."""
        return bool(self._model.by) and event.subject == last.subject

    def _corrected(self, moment: Moment, rule: PreparedRule, last: _Last) -> _Last | None:
        case = _standing(moment, rule, last.case)
        if case is not None and case.subject == last.subject:
            _withdraw(moment, rule, case, "The source corrected it.", last.subject)
        return last.without()

    # --- saying it -----------------------------------------------------------------------------------------------

    def _fire(self, moment: Moment, occasion: Occasion, last: _Last, found: Reading, difference: Difference) -> None:
        event = occasion.event
        values = {
            "change.before": last.now.reading.labelled(event),
            "change.after": found.labelled(event),
            "change.times": derived(last.now.times, "Number", (event.id,), Integrity.SYSTEM),
        }
        if difference.percent is not None:
            percent = abs(difference.percent)
            shown = int(percent) if percent.is_integer() else percent
            values["change.percent"] = derived(shown, "Number", (event.id,), Integrity.SYSTEM)
        conditions = (self._condition(last, found, holds=True),)
        fire_again_for(moment, occasion, "changed", values=values, conditions=conditions, memory=self._memory)

    def _skip(self, moment: Moment, occasion: Occasion, reason: Reason, last: _Last | None, found: Reading) -> None:
        condition = self._condition(last, found, holds=False)
        moment.note(occasion.rule, occasion.key, "skipped", reason, occasion=occasion, conditions=(condition,))

    def _condition(self, last: _Last | None, found: Reading, *, holds: bool) -> ConditionValue:
        model = self._model
        before = f"{last.now.reading}, {last.now.times} times" if last is not None else "nothing"
        wanted = f"{model.direction} by {model.min_change:g} and {model.min_percent:g} % after {model.steady} times"
        return ConditionValue(condition=f"before it: {before}", value=str(found), wanted=wanted, holds=holds)


def _standing(moment: Moment, rule: PreparedRule, key: str) -> Case | None:
    """The case that told of a change, while that stands."""
    case = moment.memory.cases.get(rule.id, key) if key else None
    return case if case is not None and case.status == "open" and case.fired else None


def _was_removed(moment: Moment, rule: PreparedRule, last: _Last) -> bool:
    """Whether the source took the newest event back, after it had fired."""
    case = moment.memory.cases.get(rule.id, last.case) if last.case else None
    return case is not None and case.status == "withdrawn" and case.subject == last.subject


def _withdraw(moment: Moment, rule: PreparedRule, case: Case, says: str, subject: str | None = None) -> None:
    moment.retract(rule, case, "resolved", says=says, subject=subject)
    if not case.fired:
        case.status, case.ended = "withdrawn", moment.event.occurred_at
        moment.memory.cases.cancel_timers(case, keep=CLOSE)
    moment.save(case)
