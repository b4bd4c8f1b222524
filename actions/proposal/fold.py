"""How each type of journal entry changes a proposal: pure, total, and the only writer of ``ProposalState``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from actions.grant import Grant
from actions.proposal import fold_plan, fold_step
from actions.proposal.fold_step import instant, values
from actions.proposal.state import Answered, GrantState, Phase, ProposalState, Question, Reason, StepState
from schemas.journal import EntryType, JournalEntry
from schemas.plan import Plan
from schemas.slim import slim
from schemas.trigger import Trigger
from schemas.value import Value

Body = Mapping[str, Any]


def start(entry: JournalEntry) -> ProposalState:
    """The state that a ``proposal.drafted`` entry opens."""
    trigger = slim(Trigger.model_validate(entry.body["trigger"]))
    state = ProposalState(id=entry.stream, owner=entry.owner, trigger=trigger, created_at=entry.at)
    state.matter = trigger.wide or trigger.matter
    _take_reason(state, trigger, entry, None)
    _touch(state, entry)
    return state


def change(state: ProposalState, entry: JournalEntry) -> None:
    """Apply any later entry; types that change nothing (notes, refusals) only move the sequence on."""
    handler = _HANDLERS.get(entry.type) or fold_step.HANDLERS.get(entry.type) or fold_plan.HANDLERS.get(entry.type)
    if handler:
        handler(state, entry)
    _touch(state, entry)


def _touch(state: ProposalState, entry: JournalEntry) -> None:
    state.seq, state.updated_at = entry.seq, entry.at


def _take_reason(state: ProposalState, trigger: Trigger, entry: JournalEntry, expires_at: datetime | None) -> None:
    known = state.reasons.get((trigger.rule, trigger.key))
    since = known.since if known and known.ended_at is None else entry.at
    state.reasons[trigger.rule, trigger.key] = Reason(trigger, since, expires_at)
    state.triggers.add(trigger.id)


def _surface(state: ProposalState, body: Body) -> None:
    state.surface, state.surface_reason = body["surface"], body["surface_reason"]
    state.priority = dict(body.get("priority") or {})


def _take_plan(state: ProposalState, plan: Plan) -> None:
    """A new plan voids what was bound to the old one; steps start over (none has run: only open plans change)."""
    state.plan, state.version, state.questions, state.approval = plan, plan.version, [], ""
    state.planning = None
    state.steps = {step.uid: StepState(uid=step.uid) for step in plan.steps}
    for grant in state.grants.values():
        grant.revoked = grant.revoked or "plan_changed"


def _offered(state: ProposalState, entry: JournalEntry) -> None:
    body: Body = entry.body
    _take_plan(state, slim(Plan.model_validate(body["plan"])))
    _surface(state, body)
    state.phase, state.offered_at = "offered", entry.at
    state.snoozed_until, state.acknowledged = None, ""
    state.expires_at = instant(body.get("expires_at"))
    state.slots.update(values(body.get("slots") or {}))
    state.answered, state.reason, state.says = None, "", ""
    _expires(state)


def _expires(state: ProposalState) -> None:
    """The leader's reason expires with its plan, and stands as long as the proposal is offered."""
    leader = state.reasons[state.key]
    leader.expires_at, leader.ended_at, leader.code, leader.says = state.expires_at, None, "", ""


def _needs_input(state: ProposalState, entry: JournalEntry) -> None:
    body: Body = entry.body
    state.phase, state.plan, state.planning = "needs_input", None, None
    state.questions = [_question(q) for q in body["questions"]]
    state.expires_at = instant(body.get("expires_at"))
    state.slots.update(values(body.get("slots") or {}))
    _surface(state, body)
    _expires(state)


def _planning(state: ProposalState, entry: JournalEntry) -> None:
    from actions.proposal import fold_planning  # where no model was ever asked it is not needed

    fold_planning.change(state, entry)


def _refreshed(state: ProposalState, entry: JournalEntry) -> None:
    body: Body = entry.body
    _lead(state, entry)
    if entry.type == "proposal.refreshed":
        state.matter = state.trigger.wide or state.trigger.matter
    asleep = state.snoozed_until, state.acknowledged
    if body.get("planning"):
        _planning(state, entry)
    else:
        _offered(state, entry) if body.get("plan") else _needs_input(state, entry)
    if any(asleep) and body.get("plan") and not body.get("wakes"):
        state.phase, (state.snoozed_until, state.acknowledged) = "snoozed", asleep


def _lead(state: ProposalState, entry: JournalEntry) -> None:
    """The trigger of the entry leads from here on; what the person filled in for another one's slots is void."""
    trigger = slim(Trigger.model_validate(entry.body["trigger"]))
    if entry.type != "proposal.refreshed":
        state.slots = {}
    if entry.type != "proposal.reduced":
        _take_reason(state, trigger, entry, None)
    state.trigger = trigger


def _joined(state: ProposalState, entry: JournalEntry) -> None:
    body: Body = entry.body
    if "trigger" in body:
        _refreshed(state, entry)
    else:
        _take_reason(state, slim(Trigger.model_validate(body["joins"])), entry, instant(body.get("expires_at")))


def _reduced(state: ProposalState, entry: JournalEntry) -> None:
    body: Body = entry.body
    gone = body["withdrawn"]
    for reason in state.standing():
        if reason.trigger.id == gone["trigger"]:
            _end(reason, entry, gone)
    if "trigger" in body:
        _refreshed(state, entry)


def _end(reason: Reason, entry: JournalEntry, why: Body) -> None:
    reason.ended_at, reason.code, reason.says = entry.at, str(why["reason"]), str(why["says"])


def _rematched(state: ProposalState, entry: JournalEntry) -> None:
    state.matter = str(entry.body["matter"])


def _retracted(state: ProposalState, entry: JournalEntry) -> None:
    _closed("retracted")(state, entry)
    for reason in state.standing():
        _end(reason, entry, entry.body)


def _edited(state: ProposalState, entry: JournalEntry) -> None:
    _take_plan(state, slim(Plan.model_validate(entry.body["plan"])))


def _snoozed(state: ProposalState, entry: JournalEntry) -> None:
    body: Body = entry.body
    state.phase, state.snoozed_until = "snoozed", instant(body.get("until"))
    state.acknowledged = body.get("acknowledged", "")


def _woken(state: ProposalState, entry: JournalEntry) -> None:
    state.phase = "offered" if state.plan else "needs_input"
    state.snoozed_until, state.acknowledged = None, ""
    _surface(state, entry.body)


def _closed(phase: Phase) -> Callable[[ProposalState, JournalEntry], None]:
    def close(state: ProposalState, entry: JournalEntry) -> None:
        body: Body = entry.body
        state.phase, state.snoozed_until, state.planning = phase, None, None
        state.reason, state.says = str(body.get("reason", "")), str(body.get("says", ""))
        if phase == "rejected":
            state.answered = Answered(str(body["verb"]), entry.actor, str(body.get("channel", "")), entry.at)

    return close


def _granted(state: ProposalState, entry: JournalEntry) -> None:
    grant = slim(Grant.model_validate(entry.body["grant"]))
    state.grants[grant.id] = GrantState(grant)


def _revoked(state: ProposalState, entry: JournalEntry) -> None:
    body: Body = entry.body
    for grant in body["grants"]:
        if grant in state.grants:
            state.grants[grant].revoked = str(body["reason"])


def _started(state: ProposalState, entry: JournalEntry) -> None:
    body: Body = entry.body
    state.phase, state.approval, state.snoozed_until = "running", str(body["digest"]), None
    state.answered = Answered("approve", entry.actor, str(body.get("channel", "")), entry.at)


def _stopping(state: ProposalState, entry: JournalEntry) -> None:
    body: Body = entry.body
    state.phase, state.approval, state.paused_at, state.revision = "stopping", "", None, None
    state.stop_reason, state.says = str(body["reason"]), str(body.get("says", ""))
    state.undo = entry.cause if body.get("undo") else ""
    state.undo_by = Answered("abort", entry.actor, str(body.get("channel", "")), entry.at) if state.undo else None


def _ended(phase: Phase) -> Callable[[ProposalState, JournalEntry], None]:
    def end(state: ProposalState, entry: JournalEntry) -> None:
        body: Body = entry.body
        state.phase, state.approval, state.undo, state.paused_at = phase, "", "", None
        state.left = list(body.get("left", state.left))
        state.reason, state.says = str(body.get("reason", "")), str(body.get("says", state.says))
        state.unseen = [str(uid) for uid in body.get("unseen", [])]

    return end


def _question(body: Body) -> Question:
    found = body.get("found")
    value = Value.model_validate(found) if found else None
    return Question(slot=body["slot"], type=body["type"], text=body["text"], found=value)


_HANDLERS: dict[EntryType, Callable[[ProposalState, JournalEntry], None]] = {
    "proposal.planning": _planning,
    "model.asked": _planning,
    "model.answered": _planning,
    "model.failed": _planning,
    "proposal.offered": _offered,
    "proposal.needs_input": _needs_input,
    "proposal.refreshed": _refreshed,
    "proposal.edited": _edited,
    "proposal.snoozed": _snoozed,
    "proposal.woken": _woken,
    "proposal.rejected": _closed("rejected"),
    "proposal.expired": _closed("expired"),
    "proposal.retracted": _retracted,
    "proposal.joined": _joined,
    "proposal.reduced": _reduced,
    "proposal.rematched": _rematched,
    "grant.issued": _granted,
    "grant.revoked": _revoked,
    "run.started": _started,
    "run.stopping": _stopping,
    "run.stopped": _ended("stopped"),
    "run.done": _ended("done"),
    "run.failed": _ended("failed"),
}
