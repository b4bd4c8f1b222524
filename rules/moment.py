"""Moment: one evaluation as the detectors see it; fires, suppresses and retracts, each with its reason (law L5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal
from zoneinfo import ZoneInfo

from rules import holding
from rules.case import CLOSE, Case, Fired, Held
from rules.occasion import Occasion, evidence
from rules.template import plain
from schemas import ids
from schemas.duration import Duration
from schemas.model import Model
from schemas.trigger import (
    ConditionValue,
    Evidence,
    Explanation,
    Merge,
    Reason,
    Retraction,
    Signal,
    Suppression,
    Trigger,
)
from schemas.value import Value

if TYPE_CHECKING:
    from rules.memory import Memory
    from rules.prepared import PreparedRule

Outcome = Literal["fired", "suppressed", "retracted", "scheduled", "not_matched", "skipped"]
MEMORY_AFTER_END = timedelta(days=30)
"""How long a case is remembered after nothing more can come of it, so that echoes stay silent."""

MOST_FIRED = 200
"""Triggers of one case that are remembered, to be withdrawn with it; the oldest go first."""


def _compact(model: Model) -> dict[str, Any]:
    return model.model_dump(mode="json", exclude_defaults=True)


@dataclass(slots=True)
class Evaluation:
    """What an event led to, in order; matters that became one come before the signals.

    ``explanations``: of each signal, and of what was scheduled or skipped if the engine was asked to explain.
    """

    signals: list[Trigger | Retraction | Suppression] = field(default_factory=list)
    explanations: list[Explanation] = field(default_factory=list)
    merges: list[Merge] = field(default_factory=list)

    @property
    def told(self) -> list[Signal]:
        """Everything that is told of it, as the topic ``triggers`` has it."""
        return [*self.merges, *self.signals]


@dataclass(slots=True)
class Moment:
    event: Any
    now: datetime
    owner: str
    zone: ZoneInfo
    memory: Memory
    out: Evaluation
    explains: bool = False
    """Whether what was only scheduled or skipped is told, too."""
    named: str | None = None
    """The matter that the source gave the event; ``event.matter`` is the one that it belongs to."""

    # --- cases -------------------------------------------------------------------------------------------------------

    def open(self, occasion: Occasion, *, closes: datetime, data: Mapping[str, Any] | None = None) -> Case:
        """A new case for the key of the occasion, in place of an earlier one; not saved yet."""
        rule = occasion.rule
        case = Case(rule=rule.id, key=occasion.key, event="", subject="", opened=self.now, data=dict(data or {}))
        earlier = self.memory.cases.get(rule.id, occasion.key)
        if earlier is not None:
            case.n, case.last_fired = earlier.n + 1, earlier.last_fired
            self.memory.cases.drop(earlier)
        self.describe(case, occasion)
        self.close_at(rule, case, closes)
        return case

    def describe(self, case: Case, occasion: Occasion) -> None:
        """The case is now about this event: its next trigger says what this event says."""
        event = occasion.event
        case.event, case.subject, case.opened = event.id, event.subject, event.occurred_at
        case.matter, case.certainty = occasion.about or event.matter, occasion.certainty
        case.named = occasion.about or (self.named if event is self.event else event.matter)
        case.values = {name: _compact(value) for name, value in occasion.values.items()}
        case.evidence = [_compact(item) for item in occasion.evidence]
        case.why = [item.model_dump(mode="json") for item in occasion.conditions]

    def close_at(self, rule: PreparedRule, case: Case, instant: datetime) -> None:
        """The case ends then, or when its cooldown has passed."""
        if rule.model.cooldown is not None and case.last_fired is not None:
            instant = max(instant, rule.model.cooldown.after(case.last_fired, self.zone))
        case.closes = max(instant, self.now + timedelta(seconds=1))
        self.memory.cases.set_timer(case, CLOSE, case.closes)

    def save(self, case: Case) -> None:
        self.memory.cases.save(case)

    # --- saying something --------------------------------------------------------------------------------------------

    def fire(
        self,
        rule: PreparedRule,
        case: Case,
        occurrence: str,
        reason: Reason,
        *,
        late: bool = False,
        values: Mapping[str, Value] | None = None,
        conditions: Iterable[ConditionValue] = (),
    ) -> None:
        """A trigger, unless the cooldown of the key forbids it; the case is saved either way."""
        occurrence = occurrence if case.n == 0 else f"{occurrence}#{case.n}"
        why = (*(ConditionValue.model_validate(item) for item in case.why), *conditions)
        if self._cools(rule, case):
            self.suppress(rule, case.key, occurrence, "cooldown", conditions=why)
            self.save(case)
            return
        labelled = {name: Value.model_validate(item) for name, item in case.values.items()} | dict(values or {})
        explanation = self._explanation(rule, case.key, "fired", reason, why, event=case.event)
        trigger = self._trigger(rule, case, occurrence, labelled, explanation, late)
        waits = holding.holds(rule)
        fired = Fired(trigger.id, occurrence, self.now, case.subject, held=waits, expires=trigger.expires_at)
        case.fired = [*case.fired, fired][-MOST_FIRED:]
        case.last_fired = self.now
        if waits:
            holding.hold(self, rule, case, Held(trigger.id, _compact(trigger)))
            return
        self.say(trigger)
        self.save(case)

    def say(self, trigger: Trigger) -> None:
        self.out.explanations.append(trigger.explanation)
        self.out.signals.append(trigger)

    def _cools(self, rule: PreparedRule, case: Case) -> bool:
        cooldown = rule.model.cooldown
        return (
            cooldown is not None
            and case.last_fired is not None
            and self.now < cooldown.after(case.last_fired, self.zone)
        )

    def _trigger(
        self,
        rule: PreparedRule,
        case: Case,
        occurrence: str,
        values: dict[str, Value],
        explanation: Explanation,
        late: bool,
    ) -> Trigger:
        shown = rule.values.decode(values)
        title = rule.title_template.render(shown, self.zone)
        values["title"] = values.get("title") or Value(v=title, sources=(rule.id,))
        return Trigger(
            id=self._id(rule, case.key, occurrence),
            owner=self.owner,
            rule=rule.id,
            revision=rule.revision,
            key=case.key,
            occurrence=occurrence,
            matter=case.matter,
            wide=self.wide(case),
            fired_at=self.now,
            title=title or plain(rule.title, 300),
            goal=rule.goal_template.render(shown, self.zone),
            asks=rule.model.propose.goal,
            urgency=rule.model.propose.urgency,
            certainty=case.certainty,
            playbook=rule.model.propose.playbook,
            reaches=rule.model.propose.reaches,
            deadline_at=case.deadline,
            expires_at=self._expires(rule, case),
            evidence=tuple(Evidence.model_validate(item) for item in case.evidence),
            values=values,
            explanation=explanation,
            late=late,
            shadow=rule.model.shadow,
            follows=next((fired.id for fired in reversed(case.fired) if fired.is_said), None),
        )

    def wide(self, case: Case) -> str | None:
        wide = self.memory.matters.wide(case.matter) if case.matter else None
        return wide if wide != case.matter else None

    def _expires(self, rule: PreparedRule, case: Case) -> datetime | None:
        """When there is no sense any more in doing something about it."""
        if case.deadline is None or case.closes is None:
            return case.closes
        model = rule.model.deadline
        open_for = max(model.overdue, *model.after, Duration()) if model else Duration()
        return min(case.closes, open_for.after(case.deadline, self.zone))

    def suppress(
        self,
        rule: PreparedRule,
        key: str,
        occurrence: str,
        reason: Reason,
        *,
        conditions: Iterable[ConditionValue] = (),
        nearest: str = "",
    ) -> None:
        """What would have fired and did not."""
        explanation = self._explain(rule, key, "suppressed", reason, conditions, nearest=nearest)
        name = self._id(rule, key, f"suppressed/{reason}/{occurrence}/{self.event.id}")
        self.out.signals.append(
            Suppression(id=name, owner=self.owner, rule=rule.id, key=key, at=self.now, explanation=explanation)
        )

    def retract(
        self,
        rule: PreparedRule,
        case: Case,
        reason: Reason,
        *,
        says: str,
        subject: str | None = None,
        occurrence: str | None = None,
    ) -> None:
        """Withdraws the triggers of a case (of one subject or occurrence in it); the caller saves the case."""
        leaving = [
            fired for fired in case.fired if subject in (None, fired.subject) and occurrence in (None, fired.occurrence)
        ]
        case.fired = [fired for fired in case.fired if fired not in leaving]
        case.held = [held for held in case.held if held.id not in {fired.id for fired in leaving}]
        if not case.fired:
            case.last_fired = None  # a cooldown counts from triggers that stand
        for fired in {fired.id: fired for fired in leaving}.values():
            if fired.silent:
                continue
            if fired.held:
                self.suppress(rule, case.key, fired.occurrence, reason, nearest=plain(says, 300))
                continue
            if rule.model.group is not None and self._others_stand(case, fired.id):
                self.note(rule, case.key, "skipped", "grouped")
                continue
            self._explain(rule, case.key, "retracted", reason, ())
            self.out.signals.append(
                Retraction(
                    id=self._id(rule, case.key, f"retracted/{fired.id}"),
                    owner=self.owner,
                    trigger=fired.id,
                    rule=rule.id,
                    key=case.key,
                    matter=case.matter,
                    at=self.now,
                    reason=reason,
                    says=plain(says, 300),
                    evidence=(evidence(self.event),),
                )
            )

    def _others_stand(self, case: Case, trigger: str) -> bool:
        """Whether something else that was sent as the same trigger was not withdrawn."""
        others = (other for other in self.memory.cases.open_of(case.rule) if other.key != case.key)
        return any(fired.id == trigger for other in (case, *others) for fired in other.fired)

    def note(
        self,
        rule: PreparedRule,
        key: str,
        outcome: Outcome,
        reason: Reason,
        *,
        occasion: Occasion | None = None,
        conditions: Iterable[ConditionValue] = (),
        nearest: str = "",
    ) -> None:
        """Something that is no signal but belongs into the account: scheduled, or skipped."""
        if self.explains:
            matched = occasion.conditions if occasion is not None else ()
            self._explain(rule, key, outcome, reason, (*matched, *conditions), nearest=nearest)

    def _explain(
        self,
        rule: PreparedRule,
        key: str,
        outcome: Outcome,
        reason: Reason,
        conditions: Iterable[ConditionValue],
        *,
        nearest: str = "",
        event: str = "",
    ) -> Explanation:
        explanation = self._explanation(rule, key, outcome, reason, conditions, nearest=nearest, event=event)
        self.out.explanations.append(explanation)
        return explanation

    def _explanation(
        self,
        rule: PreparedRule,
        key: str,
        outcome: Outcome,
        reason: Reason,
        conditions: Iterable[ConditionValue],
        *,
        nearest: str = "",
        event: str = "",
    ) -> Explanation:
        return Explanation(
            rule=rule.id,
            revision=rule.revision,
            event=event or self.event.id,
            key=key,
            outcome=outcome,
            reason=reason,
            values=tuple(conditions),
            nearest=nearest,
            at=self.now,
        )

    def _id(self, rule: PreparedRule, key: str, occurrence: str) -> str:
        return ids.trigger_id(rule.id, rule.revision, f"{self.owner}/{key}", occurrence)
