"""Withdrawing: what the source takes back, we take back (law L7)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rules.case import CLOSE, Case
from rules.fields import family
from rules.flatline import FlatlineDetector
from rules.moment import Moment
from rules.new_value import NewValueDetector
from rules.occasion import Occasion
from rules.periodic import PeriodicDetector
from rules.prepared import PreparedRule
from rules.sequence import SequenceDetector
from rules.template import plain
from rules.windowed import WindowDetector
from schemas.trigger import Reason


def withdraw(moment: Moment, rules: Mapping[str, PreparedRule], matched: Mapping[str, Occasion]) -> None:
    """Cases about the event's subject whose rule it no longer matches end, if the event says that the thing changed.

    A removed mail takes nothing back: people delete and file what they still have to do.
    """
    event = moment.event
    if event.op == "retract":
        moment.memory.recents.forget_subject(event.subject)
    if event.kind == "mail.removed":
        return
    for case in moment.memory.cases.of_subject(event.subject):
        rule = rules.get(case.rule)
        if rule is None or rule.id in matched or isinstance(rule.evaluator, (PeriodicDetector, FlatlineDetector)):
            continue
        reason = _reason(event, rule)
        if isinstance(rule.evaluator, (SequenceDetector, WindowDetector)):
            rule.evaluator.withdrawn(moment, rule, case, reason)
        elif reason is not None:
            _end(moment, rule, case, reason)
    for rule_id in moment.memory.slots.rules_of(event.subject):
        if rule_id not in matched:
            moment.memory.slots.remove(rule_id, event.subject)


def _reason(event: Any, rule: PreparedRule) -> Reason | None:
    """Why an event that does not match the rule ends its case; None: it says nothing about it."""
    if event.kind.endswith(".cancelled"):
        return "cancelled"
    if event.op == "retract" or event.kind.endswith(".removed"):
        return "removed"
    if event.kind in rule.kinds:
        return "resolved"
    if event.kind == "calendar.changed" and family("calendar") in map(family, rule.kinds):
        return "moved"
    return None


def _end(moment: Moment, rule: PreparedRule, case: Case, reason: Reason) -> None:
    if case.status != "open":
        return
    event = moment.event
    words = {"cancelled": "was cancelled", "removed": "was removed at the source", "moved": "was changed"}
    says = f"{plain(event.title, 200) or 'It'} {words.get(reason, 'no longer asks for it')}."
    of_both = case.data.get("other") is not None
    moment.retract(rule, case, reason, says=says, subject=None if of_both else event.subject)
    if not case.fired:
        case.status, case.ended = "withdrawn", event.occurred_at
        if isinstance(rule.evaluator, NewValueDetector):
            rule.evaluator.forget(moment, rule, case)
        moment.memory.cases.cancel_timers(case, keep=CLOSE)
        moment.note(rule, case.key, "retracted", reason)
    moment.save(case)
