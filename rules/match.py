"""Match: fires on every event that satisfies the rule, once for each thing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from rules.case import Case
from rules.moment import MEMORY_AFTER_END, Moment
from rules.occasion import Occasion
from rules.settling import settled_already
from rules.timers import Timer
from schemas.trigger import ConditionValue, Reason
from schemas.value import Value

if TYPE_CHECKING:
    from rules.prepared import PreparedRule


class MatchDetector:
    def matched(self, moment: Moment, occasion: Occasion) -> None:
        fire_for(moment, occasion, "matched")

    def due(self, moment: Moment, rule: PreparedRule, case: Case, timers: Iterable[Timer]) -> None:
        raise AssertionError("a match sets no timers")


def fire_for(
    moment: Moment,
    occasion: Occasion,
    reason: Reason,
    *,
    values: Mapping[str, Value] | None = None,
    conditions: Iterable[ConditionValue] = (),
) -> None:
    """A trigger about the event itself, once for each subject; an event of long ago is history."""
    rule, event = occasion.rule, occasion.event
    case = moment.memory.cases.get(rule.id, occasion.key)
    has_fired = case is not None and any(fired.subject == event.subject for fired in case.fired)
    if case is not None and case.status == "open" and has_fired and not is_history(moment, occasion):
        moment.note(rule, case.key, "skipped", "unchanged", occasion=occasion)
        return
    fire_again_for(moment, occasion, reason, values=values, conditions=conditions)


def is_history(moment: Moment, occasion: Occasion) -> bool:
    """Whether the event is older than the rule's ``max_age``: it teaches, it does not fire."""
    return occasion.rule.model.max_age.after(occasion.event.occurred_at, moment.zone) < moment.now


def fire_again_for(
    moment: Moment,
    occasion: Occasion,
    reason: Reason,
    *,
    values: Mapping[str, Value] | None = None,
    conditions: Iterable[ConditionValue] = (),
    data: Mapping[str, Any] | None = None,
    memory: timedelta = MEMORY_AFTER_END,
) -> None:
    """The same, also for a subject that has fired before.

    ``data`` is what the case keeps for its detector, ``memory`` how long it is kept at least.
    """
    rule, event, conditions = occasion.rule, occasion.event, tuple(conditions)
    case = moment.memory.cases.get(rule.id, occasion.key)
    if is_history(moment, occasion):
        moment.suppress(rule, occasion.key, event.id, "stale", conditions=(*occasion.conditions, *conditions))
        return
    ends = [guard.within.after(event.occurred_at, moment.zone) for guard in rule.guards]
    closes = max([moment.now + memory, *ends])
    if case is None or case.status != "open":
        case = moment.open(occasion, closes=closes, data=data)
        if settled_already(moment, rule, case):
            return
    else:
        moment.describe(case, occasion)
        case.data = {**case.data, **(data or {})}
        moment.close_at(rule, case, closes)
    moment.fire(rule, case, event.id, reason, values=values, conditions=conditions)
