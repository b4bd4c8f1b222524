"""From a trigger to a plan: its playbook, filled and checked; without one, or where it does not fit, a reminder.

No model is asked here (law L1). Everything that risk rests on is copied from the tools' manifests and the policy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from actions.planning import goals, matching, slots, steps, validate
from actions.planning.habits import habits, settled
from actions.planning.playbook import BeforeArg, Playbook, StepSpec, TextArg
from actions.planning.steps import PERSONAL, Occasion
from actions.policy.policy import Risk, highest, is_trifecta
from actions.proposal.state import Question
from actions.run.resolve import foreseen
from actions.setup import Setup
from schemas import ids
from schemas.plan import Plan, Step
from schemas.trigger import Trigger
from schemas.value import Value

OFFERED_FOR = timedelta(days=30)
"""How long a proposal without a deadline stays open."""


@dataclass(frozen=True, slots=True)
class Asking:
    """A model is asked, until then at most; ``why`` no playbook was taken."""

    why: str
    until: datetime


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan, or the questions that come first, or that a model is asked; ``memories``: ids of those that it shows or
    rests on."""

    plan: Plan | None
    questions: tuple[Question, ...] = ()
    memories: tuple[str, ...] = ()
    asking: Asking | None = None


def code(proposal: str) -> str:
    """Four characters that a person can compare and say."""
    alphabet = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
    number = int(ids.content_hash(proposal)[:12], 16)
    return "".join(alphabet[number // len(alphabet) ** place % len(alphabet)] for place in range(4))


def make(occasion: Occasion, given: Mapping[str, Value], setup: Setup, gave_up: str = "") -> Planned:
    """Pure and deterministic: the same trigger at the same moment gives the same plan. ``given`` are the person's own
    values for slots; what they confirmed as a default comes next. ``gave_up``: why a model that was asked did not help;
    then a playbook is taken that the rule does not name, if its goal is surely what the playbook is for.
    """
    wanted = occasion.trigger.playbook
    playbook = setup.playbooks.get(wanted or "")
    if playbook is None and gave_up:
        playbook = matching.meant(occasion.trigger.asks, setup.playbooks.values())
    if playbook is None:
        return _otherwise(occasion, setup, _no_playbook(occasion.trigger), gave_up)
    known = habits(occasion.memory, occasion.trigger, playbook)
    filling = slots.fill(playbook, occasion.trigger, given, built_in(occasion, setup), setup.settings.zone, known)
    if filling.questions:
        return Planned(None, tuple(filling.questions), known.ids())
    playbook, more = settled(playbook, known)
    plan = _assemble(playbook, playbook.planner, {**filling.values, **more}, occasion, setup)
    plan = plan.model_copy(update={"reasons": (*plan.reasons, *known.lines(given))})
    faults = validate.validate(plan, setup.tools.manifest, setup.policy, setup.tools.names()) if plan.steps else []
    if faults or not plan.steps:
        why = f"the playbook {playbook.id} does not fit: {faults[0] if faults else 'every step lacks a value'}"
        return _otherwise(occasion, setup, why, gave_up)
    return Planned(plan, memories=known.ids())


def _otherwise(occasion: Occasion, setup: Setup, why: str, gave_up: str) -> Planned:
    """Where no playbook fits: a model if there is one, else a reminder."""
    if setup.model is not None:
        return Planned(None, asking=Asking(why, occasion.now + setup.model.patience))
    return Planned(_reminder(occasion, setup, f"I could not plan this safely ({gave_up})" if gave_up else why))


def _no_playbook(trigger: Trigger) -> str:
    if trigger.playbook:
        return f"there is no playbook {trigger.playbook!r}"
    return "no playbook is about this" if trigger.rule == PERSONAL else "the rule names no playbook"


def revised(plan: Plan, changed: tuple[Step, ...], setup: Setup) -> Plan:
    """The next version of a plan after a person's edit: steps keep their uids, gates and risk are judged anew."""
    edited = plan.model_copy(
        update={
            "version": plan.version + 1,
            "parent": plan.version,
            "run": ids.run_id(plan.proposal, plan.version + 1),
            "planner": "person",
            "policy": setup.policy.version,
            "steps": changed,
        }
    )
    return judged(edited, setup)


def by_manifest(step: Step, setup: Setup) -> Step:
    """The step with everything that its tool's manifest says; what is not there any more is left to the validator."""
    manifest = setup.tools.manifest(step.tool)
    return step if manifest is None else step.model_copy(update=steps.manifested(manifest))


def expiry(trigger: Trigger, now: datetime) -> datetime:
    """When the question stops making sense: the rule knows how long after a deadline there is something to do."""
    ends = [at for at in (trigger.expires_at, trigger.deadline_at) if at and at > now]
    return ends[0] if ends else now + OFFERED_FOR


def built_in(occasion: Occasion, setup: Setup) -> dict[str, Value]:
    return slots.built_in(occasion.trigger, code(occasion.proposal), occasion.now, setup.settings.zone)


def _reminder(occasion: Occasion, setup: Setup, why: str) -> Plan:
    """Nothing but a word to the person, at a useful time."""
    values = built_in(occasion, setup)
    deadline = occasion.trigger.deadline_at
    if deadline:
        values["deadline"] = Value(v=deadline.isoformat(), type="DateTime", how="rule")
    plan = _assemble(_REMINDER, "reminder", values, occasion, setup)
    return plan.model_copy(update={"reasons": (*plan.reasons, f"only a reminder: {why}"), "goal": None})


_REMINDER = Playbook(
    id="reminder",
    version=1,
    title="Remind me",
    steps=(
        StepSpec(id="s1", tool="wait.until", args={"until": BeforeArg(before="deadline", days=1)}),
        StepSpec(id="s2", tool="notify", args={"text": TextArg(text="{title}")}, after=("s1",)),
    ),
)


def draft(occasion: Occasion, author: str, built: tuple[Step, ...], setup: Setup) -> Plan:
    """A plan of these steps, not judged and not validated yet."""
    return Plan(
        proposal=occasion.proposal,
        run=ids.run_id(occasion.proposal, occasion.version),
        version=occasion.version,
        parent=occasion.version - 1 or None,
        planner=author,
        policy=setup.policy.version,
        steps=built,
        expires_at=expiry(occasion.trigger, occasion.now),
        goal=goals.of(occasion.trigger, setup.playbooks),
    )


def _assemble(playbook: Playbook, author: str, values: Mapping[str, Value], occasion: Occasion, setup: Setup) -> Plan:
    specs = steps.kept(playbook.steps, values, occasion.now, setup)
    built = tuple(steps.build(spec, values, occasion, setup) for spec in specs)
    return judged(draft(occasion, author, built, setup), setup)


def judged(plan: Plan, setup: Setup) -> Plan:
    """Gates, reasons and risk by the policy, on what the plan alone tells of each step's values."""
    gated: list[Step] = []
    risks: list[Risk] = []
    for step in plan.steps:
        verdict = setup.policy.judge(setup.tools.manifest(step.tool), foreseen(plan, step, setup.tools.manifest))
        gated.append(steps.gated(step, setup.tools.manifest(step.tool), verdict))
        risks.append(verdict.risk)
    reasons = tuple(dict.fromkeys(reason for step in gated for reason in step.reasons))
    more = {"trifecta": is_trifecta(plan, setup.tools.manifest)}
    return plan.model_copy(update={"steps": tuple(gated), "risk": highest(risks), "reasons": reasons} | more)
