"""Deadline: fires before a date or after it, once for each time given, and anew when the date moves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

from rules.case import CLOSE, Case
from rules.language import ConditionError
from rules.moment import MEMORY_AFTER_END, Moment
from rules.occasion import Occasion
from rules.settling import settled_already
from rules.template import parse_paths
from rules.timers import Timer, decide
from rules.values import derived, literal
from schemas import clock
from schemas.duration import Duration
from schemas.rule import Deadline
from schemas.trigger import ConditionValue
from schemas.value import Integrity, Value

if TYPE_CHECKING:
    from rules.prepared import PreparedRule

VALUES = ("deadline.on", "deadline.lead")
"""What a trigger of this detector says beside the values of its event."""


@dataclass(frozen=True, slots=True)
class Due:
    """``day`` is the local day, ``instant`` the last one in which it is not too late. ``text`` names it in ids."""

    day: date
    instant: datetime
    text: str


class DeadlineDetector:
    def __init__(self, model: Deadline, canonical: Mapping[str, str]) -> None:
        self._model = model
        try:
            self._paths = parse_paths(model.at, canonical)
        except ConditionError as error:
            raise error.under("deadline", "at") from error

    def matched(self, moment: Moment, occasion: Occasion) -> None:
        rule, case = occasion.rule, moment.memory.cases.get(occasion.rule.id, occasion.key)
        due = self._due(occasion)
        if due is None:
            moment.note(rule, occasion.key, "skipped", "no_date", occasion=occasion)
            return
        if case is not None and not self._supersedes(moment, occasion, case, due):
            return
        if max([due.instant, *(timer.due for timer in self._timers(due, moment))]) <= moment.now:
            moment.suppress(rule, occasion.key, due.text, "stale", conditions=occasion.conditions)
            return
        self._open(moment, occasion, due)

    def due(self, moment: Moment, rule: PreparedRule, case: Case, timers: Iterable[Timer]) -> None:
        model = self._model
        for verdict in decide(timers, moment.now, model.on_missed, model.tolerance, moment.zone):
            tag = verdict.timer.tag
            occurrence = f"{case.data['due']}/{tag}"
            moment.memory.cases.cancel_timer(case, tag)
            if verdict.action == "skip":
                moment.suppress(rule, case.key, occurrence, "missed_skip")
            elif verdict.action == "collapse":
                moment.suppress(rule, case.key, occurrence, "missed_collapsed")
            elif case.deadline is not None and rule.model.max_age.after(case.deadline, moment.zone) < moment.now:
                moment.suppress(rule, case.key, occurrence, "stale")
            else:
                self._fire(moment, rule, case, verdict.timer, late=verdict.action == "fire_late")
        moment.save(case)

    def _due(self, occasion: Occasion) -> Due | None:
        """The first of the paths that has a value: a local day lasts until its end."""
        zone = occasion.rule.zone
        for path in self._paths:
            instant = occasion.read.get(path)
            if isinstance(instant, datetime):
                day = clock.local_day(instant, zone)
                if occasion.read.nominal(path) == "Date":
                    return Due(day, clock.end_of_day(day, zone) - timedelta(seconds=1), day.isoformat())
                return Due(day, instant, instant.astimezone(UTC).isoformat())
        return None

    def _supersedes(self, moment: Moment, occasion: Occasion, case: Case, due: Due) -> bool:
        """Whether the event says something new about the key; if so what was said before is withdrawn."""
        rule, event = occasion.rule, occasion.event
        if case.status == "settled":
            moment.suppress(rule, case.key, due.text, "settled", conditions=occasion.conditions)
            return False
        if event.occurred_at < case.opened:
            moment.note(rule, case.key, "skipped", "outdated", occasion=occasion)
            return False
        if case.status == "open" and case.data["due"] == due.text:
            moment.note(rule, case.key, "skipped", "unchanged", occasion=occasion)
            return False
        moment.retract(rule, case, "moved", says=f"Moved to {due.day.isoformat()}.")
        case.status = "withdrawn"
        moment.memory.cases.cancel_timers(case, keep=CLOSE)
        moment.save(case)
        return True

    def _open(self, moment: Moment, occasion: Occasion, due: Due) -> None:
        rule = occasion.rule
        case = moment.open(occasion, closes=self._closes(moment, rule, due), data={"due": due.text})
        case.deadline = due.instant
        if settled_already(moment, rule, case):
            return
        timers = self._timers(due, moment)
        passed = [timer for timer in timers if timer.due <= moment.now]
        for timer in timers:
            if timer not in passed:
                moment.memory.cases.set_timer(case, timer.tag, timer.due)
        if due.instant <= moment.now:  # too late for any lead
            passed = [timer for timer in passed if timer.tag.startswith("+")]
        if passed:
            self._fire(moment, rule, case, max(passed, key=lambda timer: timer.due), late=False)
            return
        moment.note(rule, case.key, "scheduled", "scheduled", occasion=occasion)
        moment.save(case)

    def _closes(self, moment: Moment, rule: PreparedRule, due: Due) -> datetime:
        """After the deadline a case is kept to withdraw what fired, and to stay silent on echoes."""
        ends = [guard.within.after(due.instant, moment.zone) for guard in rule.guards]
        told = max([due.instant, *(timer.due for timer in self._timers(due, moment))])
        return max([told + MEMORY_AFTER_END, *ends])

    def _timers(self, due: Due, moment: Moment) -> list[Timer]:
        """The tag of a timer after the date has a sign: a lead and what is told as long after are two things."""
        leads = [Timer(self._lead_instant(due, lead, moment), str(lead)) for lead in self._model.lead]
        return [*leads, *(Timer(self._late_instant(due, late, moment), f"+{late}") for late in self._model.after)]

    def _lead_instant(self, due: Due, lead: Duration, moment: Moment) -> datetime:
        if lead.seconds:
            return lead.before(due.instant, moment.zone)
        return min(clock.at_local(lead.day_before(due.day), self._model.time, moment.zone), due.instant)

    def _late_instant(self, due: Due, late: Duration, moment: Moment) -> datetime:
        if late.seconds:
            return late.after(due.instant, moment.zone)
        day = due.day + timedelta(days=late.days)
        return max(clock.at_local(day, self._model.time, moment.zone), due.instant)

    def _fire(self, moment: Moment, rule: PreparedRule, case: Case, timer: Timer, *, late: bool) -> None:
        assert case.deadline is not None
        day = clock.local_day(case.deadline, moment.zone).isoformat()
        sources, integrity = _origin(case, self._paths)
        values = {
            "deadline.on": derived(day, "Date", sources, integrity),
            "deadline.lead": literal(timer.tag, "Text", rule.id),
        }
        late_by = timer.tag.removeprefix("+")
        reached = ConditionValue(
            condition=f"{late_by} after {day}" if late_by != timer.tag else f"{timer.tag} before {day}",
            value=moment.now.isoformat(),
            wanted=f">= {timer.due.isoformat()}",
            holds=True,
        )
        occurrence = f"{case.data['due']}/{timer.tag}"
        moment.fire(rule, case, occurrence, "lead_reached", late=late, values=values, conditions=(reached,))


def _origin(case: Case, paths: Iterable[str]) -> tuple[tuple[str, ...], Integrity]:
    """Where the date came from: a derived value is no better than its source."""
    value = next(Value.model_validate(case.values[path]) for path in paths if path in case.values)
    return value.sources, value.integrity
