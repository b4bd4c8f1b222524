"""How journal entries change the plan of a run that is under way: revisions, their approval, and dead ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from actions.proposal.state import Answered, ProposalState, Revision, StepState
from schemas.journal import EntryType, JournalEntry
from schemas.plan import Plan
from schemas.slim import slim

Body = Mapping[str, Any]


def _revised(state: ProposalState, entry: JournalEntry) -> None:
    """Finished steps keep what they are; grants were bound to the old plan, those that still hold follow anew.

    A step that was taken out keeps its state: what became of it stays known, and its uid is never given again.
    """
    body: Body = entry.body
    plan = slim(Plan.model_validate(body["plan"]))
    _take(state, plan)
    state.approval = "" if body["needs"] else plan.digest()
    state.revision = _pending(entry) if body["needs"] else None
    state.revised += bool(body["automatic"])
    state.stuck = set()
    state.retries = state.retries if body["automatic"] else 0
    if state.phase == "failed":  # a person lets a failed run go on
        state.phase, state.reason, state.says, state.unseen = "running", "", "", []


def _take(state: ProposalState, plan: Plan) -> None:
    uids = {step.uid for step in plan.steps}
    state.dropped |= {step.uid: step for step in (state.plan.steps if state.plan else ()) if step.uid not in uids}
    for uid in uids:
        state.steps.setdefault(uid, StepState(uid))
    _reopen(state)
    state.plan, state.version = plan, plan.version


def _undoing(state: ProposalState, entry: JournalEntry) -> None:
    """From here on only the undos are left to do."""
    body: Body = entry.body
    plan = slim(Plan.model_validate(body["plan"]))
    _take(state, plan)
    state.phase, state.approval, state.undo = "undoing", plan.digest(), ""
    state.left = list(body["left"])


def _paused(state: ProposalState, entry: JournalEntry) -> None:
    state.paused_at = entry.at


def _resumed(state: ProposalState, entry: JournalEntry) -> None:
    state.paused_at = None


def _reopen(state: ProposalState) -> None:
    for grant in state.grants.values():
        grant.revoked = grant.revoked or "plan_changed"
    for live in state.steps.values():
        if live.phase == "gated":
            live.phase, live.gate = "pending", None


def _pending(entry: JournalEntry) -> Revision:
    body: Body = entry.body
    return Revision(body["version"], body["cause"], tuple(body["needs"]), list(body["diff"]), entry.at)


def _accepted(state: ProposalState, entry: JournalEntry) -> None:
    body: Body = entry.body
    state.revision, state.approval = None, str(body["digest"])
    state.answered = Answered("approve", entry.actor, str(body.get("channel", "")), entry.at)


def _stuck(state: ProposalState, entry: JournalEntry) -> None:
    state.stuck.add(str(entry.body["step"]))


HANDLERS: dict[EntryType, Callable[[ProposalState, JournalEntry], None]] = {
    "plan.revised": _revised,
    "plan.accepted": _accepted,
    "plan.stuck": _stuck,
    "run.undoing": _undoing,
    "run.paused": _paused,
    "run.resumed": _resumed,
}
