"""What a person sees of a proposal, as plain data: the command line, the web page and channels print the same.

Every text is one clean line of plain characters (``actions/plain.py``): nothing in it is markup, and nothing from
outside can hide or reorder words. Whoever prints HTML must still escape it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from actions import nominal, words
from actions.graph import critical_path, order
from actions.plain import clean
from actions.planning import planner
from actions.policy import permission_offer, permit
from actions.proposal.compare import shown
from actions.proposal.state import GateState, Phase, ProposalState, Question, Reason, StepState
from actions.run import resolve
from actions.run.replan import is_blocked, is_open
from actions.setup import Setup
from actions.tools.tool import UNGRANTED, Manifest
from schemas.clock import to_the_minute
from schemas.event import Trust
from schemas.model import Json
from schemas.plan import Gate, Plan, Step, Template
from schemas.trigger import Evidence, Trigger, Urgency
from schemas.value import Integrity, Value

Badge = str
"""``you``, ``service``, ``outside``, ``known``, ``rule``: where words or a value came from."""
_TRUST: dict[Trust, Badge] = {"self": "you", "service": "service", "outside": "outside"}
_INTEGRITY: dict[Integrity, Badge] = {
    Integrity.USER: "you",
    Integrity.SYSTEM: "rule",
    Integrity.KNOWN: "known",
    Integrity.UNTRUSTED: "outside",
}
_VERBS = {
    "read": "reads", "wait": "waits", "notify": "tells you", "write_self": "writes", "outbound": "sends",
    "payment": "pays", "delete": "deletes", "share": "shares", "credential": "uses a credential",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class EvidenceView:
    event: str
    account: str
    kind: str
    title: str
    quote: str
    when: datetime
    badge: Badge


@dataclass(frozen=True, slots=True)
class ConditionView:
    """One condition of the rule as it was evaluated."""

    text: str
    value: str
    holds: bool


@dataclass(frozen=True, slots=True)
class ArgumentView:
    name: str
    text: str
    badge: Badge
    is_editable: bool
    quote: str = ""


@dataclass(frozen=True, slots=True)
class StepView:
    """``does`` is the step in plain words; ``digest`` is what a confirm or an answer must name; ``offer`` is the
    command that would allow the step ahead, where such a one was approved again and again."""

    id: str
    uid: str
    tool: str
    verb: str
    does: str
    why: str
    args: tuple[ArgumentView, ...]
    after: tuple[str, ...]
    gate: Gate
    reasons: tuple[str, ...]
    reversible: str
    phase: str
    message: str
    wake: datetime | None
    asks: str
    digest: str
    diff: tuple[tuple[str, str, str], ...]
    receipt: str
    offer: str


@dataclass(frozen=True, slots=True)
class ReasonView:
    """Another rule that speaks of the same matter; ``says`` is the line why it does no longer."""

    rule: str
    title: str
    urgency: Urgency
    reason: str
    conditions: tuple[ConditionView, ...]
    deadline_at: datetime | None
    says: str


@dataclass(frozen=True, slots=True)
class QuestionView:
    slot: str
    type: str
    text: str
    found: str


@dataclass(frozen=True, slots=True)
class ProposalView:
    """``digest`` is what an approval must name, ``code`` its short form to compare by eye."""

    id: str
    code: str
    title: str
    phase: Phase
    says: str
    urgency: Urgency
    certainty: float
    rule: str
    reason: str
    conditions: tuple[ConditionView, ...]
    also: tuple[ReasonView, ...]
    """The other reasons, in the order in which they came."""
    evidence: tuple[EvidenceView, ...]
    """Of all reasons that stand, the leading one's first."""
    steps: tuple[StepView, ...]
    critical_path: tuple[str, ...]
    effects: tuple[str, ...]
    risk: str
    reasons: tuple[str, ...]
    questions: tuple[QuestionView, ...]
    verbs: tuple[str, ...]
    planner: str
    version: int
    digest: str
    deadline_at: datetime | None
    expires_at: datetime | None
    snoozed_until: datetime | None
    surface: str
    surface_reason: str
    priority: dict[str, Json]
    """urgency, value, certainty and their product, the score; empty in journals from before there was one."""
    acknowledged: str
    answered: str
    is_paused: bool
    left: tuple[tuple[str, str], ...]
    """(step, why): what was done and is not undone."""
    asks_again: tuple[str, ...]
    """Why a newer plan of a run under way needs an approval of its own."""


def proposal(state: ProposalState, setup: Setup) -> ProposalView:
    trigger, plan = state.trigger, state.plan
    steps = tuple(_step(state, plan, step, setup) for step in order(plan)) if plan else ()
    return ProposalView(
        id=state.id,
        code=planner.code(state.digest or state.id),
        title=clean(trigger.title),
        phase=state.phase,
        says=clean(state.says),
        urgency=trigger.urgency,
        certainty=trigger.certainty,
        rule=trigger.rule,
        reason=trigger.explanation.reason,
        conditions=_conditions(trigger),
        also=tuple(_reason(reason) for key, reason in state.reasons.items() if key != state.key),
        evidence=_all_evidence(state),
        steps=steps,
        critical_path=tuple(s.id for s in critical_path(plan, lambda s: s.timeout_s)) if plan else (),
        effects=tuple(f"{view.id} {view.verb}: {view.does}" for view in steps if view.verb not in ("reads", "waits")),
        risk=plan.risk if plan else "none",
        reasons=_clean(plan.reasons) if plan else (),
        questions=tuple(_question(question) for question in state.questions),
        verbs=verbs(state, setup),
        planner=plan.planner if plan else "",
        version=state.version,
        digest=state.digest,
        deadline_at=trigger.deadline_at,
        expires_at=state.expires_at,
        snoozed_until=state.snoozed_until,
        surface=state.surface,
        surface_reason=state.surface_reason,
        priority=state.priority,
        acknowledged=state.acknowledged,
        answered=_answered(state),
        is_paused=state.paused_at is not None,
        left=tuple((str(item["id"]), clean(str(item["why"]))) for item in state.left),
        asks_again=_clean(state.revision.reasons) if state.revision else (),
    )


def _conditions(trigger: Trigger) -> tuple[ConditionView, ...]:
    return tuple(
        ConditionView(clean(c.condition), clean(str(c.value), 120), c.holds) for c in trigger.explanation.values
    )


def _reason(reason: Reason) -> ReasonView:
    trigger = reason.trigger
    return ReasonView(
        rule=trigger.rule,
        title=clean(trigger.title),
        urgency=trigger.urgency,
        reason=trigger.explanation.reason,
        conditions=_conditions(trigger),
        deadline_at=trigger.deadline_at,
        says=clean(reason.says),
    )


def _all_evidence(state: ProposalState) -> tuple[EvidenceView, ...]:
    others = (reason.trigger for reason in state.standing() if reason.trigger.id != state.trigger.id)
    return tuple(dict.fromkeys(_evidence(item) for trigger in (state.trigger, *others) for item in trigger.evidence))


def verbs(state: ProposalState, setup: Setup) -> tuple[str, ...]:
    """The commands that can be obeyed now, and would change something."""
    steps = state.plan.steps if state.plan else ()
    wrong = ["wrong"] * any(state.steps[s.uid].attempts and s.effect not in UNGRANTED for s in steps)
    match state.phase:
        case "offered" | "snoozed":
            return ("approve", "edit", "snooze", "reject", "never")
        case "needs_input" | "drafted":
            return ("answer", "snooze", "reject", "never")
        case "expired":
            return ("approve", "reject", "never")
        case "done" | "failed" | "stopped":
            undo = any(step.undo and state.steps[step.uid].phase == "ok" for step in steps)
            return (*["retry"] * (state.phase == "failed"), *["abort"] * undo, *wrong)
        case "running" | "stopping" | "undoing":
            asked = any(live.phase == "asked" for live in state.steps.values())
            gates = [step for step in steps if state.steps[step.uid].gate] if state.phase != "stopping" else []
            gated = ["confirm"] * bool(gates) + ["endorse"] * any(permit.removed(state, step, setup) for step in gates)
            halts = state.phase != "stopping"
            again = ["approve", "reject"] * (state.revision is not None)
            rest = ["edit"] * (state.phase == "running" and _may_edit(state))
            pace = ["resume" if state.paused_at else "pause"] * halts
            return (*again, *gated, *["answer"] * asked, *rest, *pace, *["stop", "abort"] * halts, *wrong)
    return ()


def _may_edit(state: ProposalState) -> bool:
    """Is there something that has not begun, and nothing whose outcome is unknown?"""
    steps = state.plan.steps if state.plan else ()
    return not is_blocked(state) and any(is_open(step, state.steps[step.uid]) for step in steps)


def _step(state: ProposalState, plan: Plan | None, step: Step, setup: Setup) -> StepView:
    assert plan is not None
    manifest, live = setup.tools.manifest(step.tool), state.steps[step.uid]
    args = live.gate.args if live.gate else live.args or resolve.foreseen(plan, step, setup.tools.manifest)
    return StepView(
        id=step.id,
        uid=step.uid,
        tool=step.tool,
        verb=_VERBS[step.effect],
        does=words.says(manifest, step.tool, args),
        why=clean(step.why),
        args=tuple(_argument(name, args.get(name), step, manifest) for name in step.args),
        after=step.depends_on,
        gate=step.gate,
        reasons=_asked_for(live.gate, setup.settings.zone) if live.gate else _clean(step.reasons),
        reversible=_reversible(step),
        phase=live.phase,
        message=clean(live.message),
        wake=live.wake or live.retry_at,
        asks=_asks(live, setup.settings.zone),
        digest=live.gate.digest if live.gate else live.question,
        diff=tuple((d["arg"], clean(d["before"]), clean(d["after"])) for d in live.gate.diff) if live.gate else (),
        receipt=_receipt(live),
        offer=permission_offer.offer(state, step, setup),
    )


def _clean(reasons: Iterable[str]) -> tuple[str, ...]:
    return tuple(clean(reason, 400) for reason in reasons)


def _asked_for(gate: GateState, zone: ZoneInfo) -> tuple[str, ...]:
    """Why a step asks, by the owner's clock, since the journal keeps instants; in older ones this line is a reason."""
    late = [f"your approval expired on {to_the_minute(gate.expired_at, zone)}"] if gate.expired_at else []
    return (*_clean(gate.reasons), *late)


def _asks(live: StepState, zone: ZoneInfo) -> str:
    """The question about an unknown outcome."""
    sent = f" It was sent at {to_the_minute(live.last_sent, zone)}." if live.asked and live.last_sent else ""
    return f"{clean(live.asked, 600)}{sent}"


def _argument(name: str, value: Value | None, step: Step, manifest: Manifest | None) -> ArgumentView:
    argument = step.args[name]
    is_literal = isinstance(argument, Template) and all(part.kind == "fixed" for part in argument.parts)
    editable = argument.kind == "fixed" or is_literal
    if value is None or value.v is None:
        return ArgumentView(name, shown(argument), "rule" if value is None else _INTEGRITY[value.integrity], editable)
    text = clean(nominal.display(value.type, value.v), 2000)
    quote = clean(value.span.quote, 200) if value.span else ""
    has_it = manifest is not None and (manifest.arg(name) is not None or manifest.is_open(name))
    return ArgumentView(name, text, _INTEGRITY[value.integrity], editable and has_it, quote)


def _evidence(item: Evidence) -> EvidenceView:
    return EvidenceView(
        event=item.event,
        account=item.account,
        kind=item.kind,
        title=clean(item.title),
        quote=clean(item.quote),
        when=item.occurred_at,
        badge=_TRUST[item.trust],
    )


def _question(question: Question) -> QuestionView:
    found = question.found
    told = clean(nominal.display(found.type, found.v), 200) if found else ""
    return QuestionView(question.slot, question.type, clean(question.text), told)


def _reversible(step: Step) -> str:
    if step.effect in ("read", "wait"):
        return "nothing to undo"
    if step.hold_s > 0 and step.reversible == "no":
        return f"can be stopped for {step.hold_s:g} s, then not"
    return {"yes": "can be undone", "no": "cannot be undone"}.get(step.reversible, step.reversible)


def _receipt(live: StepState) -> str:
    what, where = str(live.receipt.get("what", "")), str(live.receipt.get("where", ""))
    return clean(f"{what}: {where}" if where else what, 400)


def _answered(state: ProposalState) -> str:
    by = state.answered
    return clean(f"{by.verb} by {by.who.removeprefix('person:')} via {by.channel}") if by else ""
