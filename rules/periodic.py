"""Absence of the next of a series: learns a rhythm per key and fires when the next one does not come."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, timedelta
from statistics import median
from typing import TYPE_CHECKING, Any

from rules.absence import report
from rules.case import Case
from rules.moment import Moment
from rules.occasion import Occasion
from rules.rhythm import KEPT, Expectation, expect
from rules.timers import Timer, decide
from rules.values import derived
from schemas import clock
from schemas.rule import Absence, Periodic
from schemas.trigger import ConditionValue, Reason
from schemas.value import Integrity

if TYPE_CHECKING:
    from rules.prepared import PreparedRule

VALUES = ("absence.expected", "absence.last", "absence.times")
_TAG = "expect"
READING = timedelta(hours=12)
"""History that is read late says nothing about what is missing before it has been read."""
_SMALL = 0.5
"""An amount below this part of the series' median is something else from the same party."""


class PeriodicDetector:
    def __init__(self, model: Absence, periodic: Periodic) -> None:
        self._model = model
        self._periodic = periodic

    def matched(self, moment: Moment, occasion: Occasion) -> None:
        rule = occasion.rule
        case = moment.memory.cases.get(rule.id, occasion.key)
        series = list(case.data["series"]) if case is not None else []
        day = clock.local_day(occasion.event.occurred_at, moment.zone)
        amount = occasion.event.amount
        size = float(abs(amount.amount)) if amount is not None else 0.0
        if _is_something_else(series, size):
            moment.note(rule, occasion.key, "skipped", "unchanged", occasion=occasion)
            return
        series = sorted({when: (when, much) for when, much in [*series, (day.isoformat(), size)]}.values())[-KEPT:]
        closes = occasion.event.occurred_at + 3 * self._periodic.longest.timedelta()
        case = self._arrived(moment, occasion, case) if case is not None else moment.open(occasion, closes=closes)
        case.data = {"series": [list(entry) for entry in series]}
        moment.close_at(rule, case, closes)
        self._schedule(moment, rule, case)

    def due(self, moment: Moment, rule: PreparedRule, case: Case, timers: Iterable[Timer]) -> None:
        verdicts = decide(timers, moment.now, self._model.on_missed, self._model.tolerance, moment.zone)
        report(moment, rule, case, verdicts, _TAG, str(case.data["expected"]), self._fire)

    def _arrived(self, moment: Moment, occasion: Occasion, case: Case) -> Case:
        if case.fired:
            day = clock.local_day(occasion.event.occurred_at, moment.zone)
            moment.retract(occasion.rule, case, "resolved", says=f"It came on {day.isoformat()}.")
        case.status = "open"
        if occasion.event.occurred_at >= case.opened:
            moment.describe(case, occasion)
        return case

    def _schedule(self, moment: Moment, rule: PreparedRule, case: Case) -> None:
        periodic = self._periodic
        days = [date.fromisoformat(when) for when, _ in case.data["series"]]
        moment.memory.cases.cancel_timer(case, _TAG)
        expectation = expect(days, min_history=periodic.min_history, longest=periodic.longest.days)
        if expectation is None:
            reason: Reason = "no_history" if len(days) < periodic.min_history else "irregular"
            moment.note(rule, case.key, "skipped", reason)
        elif self._is_over(moment, rule, expectation):
            moment.note(rule, case.key, "skipped", "stale")
        else:
            due = self._due(moment, expectation)
            case.data = {**case.data, "expected": expectation.on.isoformat()}
            moment.memory.cases.set_timer(case, _TAG, max(due, moment.now + READING) if due <= moment.now else due)
            moment.note(rule, case.key, "scheduled", "scheduled", nearest=f"expected on {expectation.on.isoformat()}")
        moment.save(case)

    def _due(self, moment: Moment, expectation: Expectation) -> Any:
        slack = max(self._periodic.slack.days, expectation.spread)
        return clock.at_local(expectation.on + timedelta(days=slack), self._model.time, moment.zone)

    def _is_over(self, moment: Moment, rule: PreparedRule, expectation: Expectation) -> bool:
        return rule.model.max_age.after(self._due(moment, expectation), moment.zone) < moment.now

    def _fire(self, moment: Moment, rule: PreparedRule, case: Case, *, late: bool) -> None:
        days = [when for when, _ in case.data["series"]]
        expected = str(case.data["expected"])
        values = {
            "absence.expected": derived(expected, "Date", (case.event,), Integrity.SYSTEM),
            "absence.last": derived(days[-1], "Date", (case.event,), Integrity.SYSTEM),
            "absence.times": derived(len(days), "Number", (case.event,), Integrity.SYSTEM),
        }
        rhythm = ConditionValue(
            condition=f"came {len(days)} times, last on {days[-1]}",
            value=clock.local_day(moment.now, moment.zone).isoformat(),
            wanted=f"again on {expected}",
            holds=True,
        )
        moment.fire(rule, case, expected, "absent", late=late, values=values, conditions=(rhythm,))


def _is_something_else(series: list[Any], size: float) -> bool:
    return len(series) >= 2 and size < _SMALL * median(much for _, much in series)
