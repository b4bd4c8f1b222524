"""Flatline: a key that used to come has been silent for a fixed time."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from rules.absence import report
from rules.case import Case
from rules.language import ConditionError
from rules.moment import MEMORY_AFTER_END, Moment
from rules.occasion import Occasion
from rules.periodic import READING
from rules.timers import Timer, decide
from rules.values import derived
from schemas import clock
from schemas.rule import Flatline
from schemas.trigger import ConditionValue
from schemas.value import Integrity

if TYPE_CHECKING:
    from rules.prepared import PreparedRule

VALUES = ("flatline.last", "flatline.times", "flatline.after")
_TAG = "silent"
_COUNTED = 1000


class FlatlineDetector:
    """A case per key: how often it came, never so far apart that it was silent, and when it came last."""

    def __init__(self, model: Flatline, rule: PreparedRule) -> None:
        self._model = model
        if not model.after:
            raise ConditionError("a silence lasts some time", ("flatline", "after"), remedy="give such as 2d")

    def matched(self, moment: Moment, occasion: Occasion) -> None:
        rule, at = occasion.rule, occasion.event.occurred_at.astimezone(UTC)
        case = moment.memory.cases.get(rule.id, occasion.key)
        last = datetime.fromisoformat(str(case.data["last"])) if case is not None else None
        if last is not None and at <= last:
            moment.note(rule, occasion.key, "skipped", "outdated", occasion=occasion)
            return
        followed = last is not None and at <= self._silent_at(last, moment)
        times = min(int(case.data["times"]) + 1, _COUNTED) if case is not None and followed else 1
        closes = max(self._silent_at(at, moment), moment.now + READING) + MEMORY_AFTER_END
        if case is None:
            case = moment.open(occasion, closes=closes)
        else:
            self._came(moment, occasion, case)
            moment.close_at(rule, case, closes)
        case.data = {"times": times, "last": at.isoformat()}
        self._schedule(moment, occasion, case, at)

    def due(self, moment: Moment, rule: PreparedRule, case: Case, timers: Iterable[Timer]) -> None:
        verdicts = decide(timers, moment.now, self._model.on_missed, self._model.tolerance, moment.zone)
        report(moment, rule, case, verdicts, _TAG, str(case.data["last"]), self._fire)

    def _came(self, moment: Moment, occasion: Occasion, case: Case) -> None:
        if case.fired:
            day = clock.local_day(occasion.event.occurred_at, moment.zone)
            moment.retract(occasion.rule, case, "resolved", says=f"It came on {day.isoformat()}.")
        case.status = "open"
        moment.describe(case, occasion)

    def _schedule(self, moment: Moment, occasion: Occasion, case: Case, at: datetime) -> None:
        rule, times, due = occasion.rule, case.data["times"], self._silent_at(at, moment)
        moment.memory.cases.cancel_timer(case, _TAG)
        if times < self._model.min_history:
            moment.note(rule, case.key, "skipped", "no_history", occasion=occasion)
        elif rule.model.max_age.after(due, moment.zone) < moment.now:
            moment.note(rule, case.key, "skipped", "stale", occasion=occasion)
        else:
            due = due if due > moment.now else moment.now + READING
            moment.memory.cases.set_timer(case, _TAG, due)
            moment.note(rule, case.key, "scheduled", "scheduled", occasion=occasion)
        moment.save(case)

    def _silent_at(self, last: datetime, moment: Moment) -> datetime:
        """When it has been silent for long enough; after whole days at ``time`` of day."""
        silent = self._model.after.after(last, moment.zone)
        if self._model.after.seconds:
            return silent
        day = clock.local_day(silent, moment.zone)
        at = clock.at_local(day, self._model.time, moment.zone)
        return at if at >= silent else clock.at_local(day + timedelta(days=1), self._model.time, moment.zone)

    def _fire(self, moment: Moment, rule: PreparedRule, case: Case, *, late: bool) -> None:
        last, times = str(case.data["last"]), case.data["times"]
        values = {
            "flatline.last": derived(last, "DateTime", (case.event,), Integrity.SYSTEM),
            "flatline.times": derived(times, "Number", (case.event,), Integrity.SYSTEM),
            "flatline.after": derived(str(self._model.after), "Text", (rule.id,), Integrity.SYSTEM),
        }
        silence = ConditionValue(
            condition=f"came {times} times, last at {last}",
            value=moment.now.isoformat(),
            wanted=f"nothing for {self._model.after}",
            holds=True,
        )
        moment.fire(rule, case, last, "fell_silent", late=late, values=values, conditions=(silence,))
