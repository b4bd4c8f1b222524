"""Absence of an answer: fires when what an event calls for has not come within a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from rules.case import Case
from rules.moment import MEMORY_AFTER_END, Moment
from rules.occasion import Occasion
from rules.settling import settled_already
from rules.timers import Timer, Verdict, decide
from rules.values import derived
from schemas.duration import Duration
from schemas.rule import Absence
from schemas.trigger import ConditionValue
from schemas.value import Integrity

if TYPE_CHECKING:
    from rules.prepared import PreparedRule

VALUES = ("absence.expected", "absence.waited")
_TAG = "absent"
_CATCHING_UP = timedelta(hours=1)


def wait_for_sources(moment: Moment, case: Case, tag: str) -> None:
    """We were stopped when it was due: what came meanwhile is read first, then its absence is reported as late."""
    case.data = {**case.data, "late": True}
    moment.memory.cases.set_timer(case, tag, moment.now + _CATCHING_UP)


def report(
    moment: Moment,
    rule: PreparedRule,
    case: Case,
    verdicts: Iterable[Verdict],
    tag: str,
    occurrence: str,
    fire: Callable[..., None],
) -> None:
    """What timers that wait for something to come mean now: ``fire(moment, rule, case, late=...)``, or why not yet."""
    for verdict in verdicts:
        moment.memory.cases.cancel_timer(case, tag)
        if verdict.action == "skip":
            moment.suppress(rule, case.key, occurrence, "missed_skip")
        elif rule.model.max_age.after(verdict.timer.due, moment.zone) < moment.now:
            moment.suppress(rule, case.key, occurrence, "stale")
        elif verdict.action == "fire_late" and not case.data.get("late"):
            wait_for_sources(moment, case, tag)
        else:
            fire(moment, rule, case, late=bool(case.data.get("late")))
    moment.save(case)


class AbsenceDetector:
    def __init__(self, model: Absence, within: Duration) -> None:
        self._model = model
        self._within = within

    def matched(self, moment: Moment, occasion: Occasion) -> None:
        rule, event = occasion.rule, occasion.event
        case = moment.memory.cases.get(rule.id, occasion.key)
        if case is not None and not self._asks_again(moment, occasion, case):
            self._note_repetition(moment, occasion, case)
            return
        expected = self._within.after(event.occurred_at, moment.zone)
        if rule.model.max_age.after(expected, moment.zone) < moment.now:
            moment.suppress(rule, occasion.key, event.id, "stale", conditions=occasion.conditions)
            return
        ends = max(guard.within.after(event.occurred_at, moment.zone) for guard in rule.guards)
        case = moment.open(
            occasion,
            closes=max(ends, expected + MEMORY_AFTER_END),
            data={"expected": expected.isoformat()},
        )
        if settled_already(moment, rule, case):
            return
        if expected <= moment.now:
            self._fire(moment, rule, case, late=False)
            return
        moment.memory.cases.set_timer(case, _TAG, expected)
        moment.note(rule, case.key, "scheduled", "scheduled", occasion=occasion)
        moment.save(case)

    def due(self, moment: Moment, rule: PreparedRule, case: Case, timers: Iterable[Timer]) -> None:
        verdicts = decide(timers, moment.now, self._model.on_missed, self._model.tolerance, moment.zone)
        report(moment, rule, case, verdicts, _TAG, case.event, self._fire)

    def _asks_again(self, moment: Moment, occasion: Occasion, case: Case) -> bool:
        """An open case goes on as it is; an ended one opens again for what happened after its end."""
        event, rule = occasion.event, occasion.rule
        if case.status == "open":
            reason_is_news = bool(case.fired) and event.subject not in case.subjects()
            if reason_is_news:
                moment.suppress(rule, case.key, event.id, "already_open", conditions=occasion.conditions)
            return False
        if case.ended is not None and event.occurred_at <= case.ended:
            moment.suppress(rule, case.key, event.id, "settled", conditions=occasion.conditions)
            return False
        return True

    def _note_repetition(self, moment: Moment, occasion: Occasion, case: Case) -> None:
        """An open case that needs repetition remembers the last one."""
        at = occasion.event.occurred_at
        if self._model.again is not None and case.status == "open" and at > _last(case):
            case.data = {**case.data, "last": at.isoformat()}
            moment.save(case)

    def _has_stopped(self, moment: Moment, case: Case, expected: datetime) -> bool:
        again = self._model.again
        return again is not None and again.after(_last(case), moment.zone) < expected

    def _fire(self, moment: Moment, rule: PreparedRule, case: Case, *, late: bool) -> None:
        expected = datetime.fromisoformat(str(case.data["expected"]))
        if self._has_stopped(moment, case, expected):
            moment.note(rule, case.key, "skipped", "not_reached", nearest=f"not again within {self._model.again}")
            case.status, case.ended = "settled", expected
            moment.save(case)
            return
        values = {
            "absence.expected": derived(expected.isoformat(), "DateTime", (case.event,), Integrity.SYSTEM),
            "absence.waited": derived(str(self._within), "Text", (rule.id,), Integrity.SYSTEM),
        }
        waited = ConditionValue(
            condition=f"nothing within {self._within}",
            value=moment.now.isoformat(),
            wanted=f">= {expected.isoformat()}",
            holds=True,
        )
        moment.fire(rule, case, case.event, "absent", late=late, values=values, conditions=(waited,))


def _last(case: Case) -> datetime:
    """When what the case is about occurred last."""
    return datetime.fromisoformat(str(case.data.get("last") or case.opened.isoformat()))
