"""Threshold: a number or an amount crosses a bound; said once, and withdrawn when it is clear of the bound again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Literal

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
from schemas.rule import Threshold
from schemas.trigger import ConditionValue, Reason
from schemas.value import Integrity, Value

if TYPE_CHECKING:
    from rules.prepared import PreparedRule

VALUES = ("threshold.value", "threshold.bound")


class Known(msgspec.Struct, frozen=True, array_like=True):
    """When the newest value occurred, whether it is beyond the bound, and the case that told of it."""

    at: datetime
    is_over: bool
    case: str = ""


class ThresholdDetector:
    def __init__(self, model: Threshold, rule: PreparedRule) -> None:
        self._measure = Measure(model.value, model.by, rule, "threshold")
        self._measure.must_be_ordered("a bound")
        if "timestamp" in self._measure.types:
            remedy = "use a deadline"
            raise ConditionError("a bound is a number, and the value is a date", ("threshold", "value"), remedy=remedy)
        self._side, bound, clear = _bounds(model)
        self._bound, self._clear = Decimal(str(bound)), Decimal(str(clear))

    def matched(self, moment: Moment, occasion: Occasion) -> None:
        rule, event = occasion.rule, occasion.event
        found = self._read(moment, occasion)
        if found is None:
            return
        occasion.about = event.matter or event.subject
        key = self._key(occasion, found)
        entry = moment.memory.baselines.recall(rule.id, key)
        known = msgspec.convert(list(entry), Known) if entry else Known(datetime.min.replace(tzinfo=UTC), False)
        if event.occurred_at < known.at:
            self._skip(moment, occasion, "outdated", found)
        elif is_history(moment, occasion):
            self._skip(moment, occasion, "stale", found)
        else:
            kept = self._judge(moment, occasion, known, found)
            day = clock.local_day(event.occurred_at, moment.zone)
            moment.memory.baselines.keep(rule.id, key, day, msgspec.to_builtins(kept))

    def _read(self, moment: Moment, occasion: Occasion) -> Reading | None:
        """The number, or None, and why is told."""
        found = self._measure.of(occasion)
        if found is not None and found.number is not None:
            return found
        moment.note(occasion.rule, occasion.key, "skipped", "no_value", occasion=occasion)
        return None

    def _key(self, occasion: Occasion, found: Reading) -> str:
        """Under which it is remembered: numbers of different units have nothing to do with each other."""
        return f"{self._measure.key(occasion)}|{found.unit}"

    def due(self, moment: Moment, rule: PreparedRule, case: Case, timers: Iterable[Timer]) -> None:
        raise AssertionError("a threshold sets no timers")

    def _judge(
        self,
        moment: Moment,
        occasion: Occasion,
        known: Known,
        found: Reading,
        *,
        more: Mapping[str, Value] | None = None,
        parts: tuple[ConditionValue, ...] = (),
        may_fire: bool = True,
    ) -> Known:
        """``more``: values of a trigger beside the usual ones; ``parts``: what the number is made of."""
        assert found.number is not None
        rule, at = occasion.rule, occasion.event.occurred_at.astimezone(UTC)
        case = moment.memory.cases.get(rule.id, known.case) if known.case else None
        was_over = known.is_over and (case is None or case.status != "withdrawn")
        if not was_over and may_fire and self._is_beyond(found.number, self._bound):
            values = {
                "threshold.value": found.labelled(occasion.event),
                "threshold.bound": derived(_shown(self._bound), "Number", (rule.id,), Integrity.SYSTEM),
                **(more or {}),
            }
            conditions = (self._condition(found, holds=True), *parts)
            fire_again_for(moment, occasion, "crossed", values=values, conditions=conditions)
            return Known(at, True, occasion.key)
        if was_over and not self._is_clear(found.number):
            if case is not None:
                moment.close_at(rule, case, moment.now + MEMORY_AFTER_END)
                moment.save(case)
            self._skip(moment, occasion, "unchanged", found, parts)
            return Known(at, True, known.case)
        if was_over and case is not None and case.fired:
            moment.retract(rule, case, "resolved", says=f"It is {found}.")
            case.status, case.ended = "withdrawn", at
            moment.memory.cases.cancel_timers(case, keep=CLOSE)
            moment.save(case)
        self._skip(moment, occasion, "not_crossed", found, parts)
        return Known(at, False)

    def _is_beyond(self, number: Decimal, bound: Decimal) -> bool:
        return number < bound if self._side == "below" else number > bound

    def _is_clear(self, number: Decimal) -> bool:
        return number >= self._clear if self._side == "below" else number <= self._clear

    def _skip(
        self,
        moment: Moment,
        occasion: Occasion,
        reason: Reason,
        found: Reading,
        parts: tuple[ConditionValue, ...] = (),
    ) -> None:
        conditions = (self._condition(found, holds=False), *parts)
        moment.note(occasion.rule, occasion.key, "skipped", reason, occasion=occasion, conditions=conditions)

    def _condition(self, found: Reading, *, holds: bool) -> ConditionValue:
        clear = "at least" if self._side == "below" else "at most"
        condition = f"{self._side} {self._bound:f}, clear at {clear} {self._clear:f}"
        return ConditionValue(
            condition=condition, value=str(found), wanted=f"{self._side} {self._bound:f}", holds=holds
        )


def _bounds(model: Threshold) -> tuple[Literal["above", "below"], float, float]:
    """Which side is beyond, the bound, and where it is clear again; ConditionError for what contradicts itself."""
    if (model.above is None) == (model.below is None):
        raise ConditionError("a threshold needs either 'above' or 'below'", ("threshold",), remedy="give one of them")
    if model.below is not None:
        if model.clear is not None and model.clear < model.below:
            raise _wrong_clear("below", "above")
        return "below", model.below, model.below if model.clear is None else model.clear
    assert model.above is not None
    if model.clear is not None and model.clear > model.above:
        raise _wrong_clear("above", "below")
    return "above", model.above, model.above if model.clear is None else model.clear


def _wrong_clear(side: str, other: str) -> ConditionError:
    message = f"'clear' lies on the wrong side: what is {side} the bound is clear {other} it"
    return ConditionError(message, ("threshold", "clear"), remedy=f"give a number {other} '{side}', or leave it out")


def _shown(number: Decimal) -> int | float:
    return int(number) if number == int(number) else float(number)
