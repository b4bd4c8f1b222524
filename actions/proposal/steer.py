"""What a person may do with a run under way, besides answering it: pause, resume, abort, try a step again."""

from __future__ import annotations

from datetime import datetime

from actions import graph
from actions.journal import Draft
from actions.proposal import edit
from actions.proposal.approve import must_be_seen
from actions.proposal.edit_rest import must_be_known
from actions.proposal.state import OPEN, ProposalState
from actions.proposal.withdraw import stopping
from actions.run import compensate, revise
from actions.run.replan import Wanted, Way
from actions.setup import Setup
from schemas.command import Command
from schemas.errors import Refused
from schemas.model import Json
from schemas.plan import Plan, Step

_OVER = ("done", "failed", "stopped")


def pause(state: ProposalState, command: Command, now: datetime) -> list[Draft]:
    """Nothing begins; what is under way ends and is found out about; timers keep their due dates."""
    _must_run(state)
    if state.paused_at:
        raise Refused("it is paused already", code="paused", remedy="resume it, or abort it")
    says = str(command.args.get("reason", "")) or "Paused by you."
    body: dict[str, Json] = {"says": says, "channel": command.channel}
    return [Draft(state.id, "run.paused", now, f"person:{command.who}", command.id, body)]


def resume(state: ProposalState, command: Command, now: datetime) -> list[Draft]:
    """What has become due meanwhile happens now; an approval that has expired is asked for again."""
    _must_run(state)
    if not state.paused_at:
        raise Refused("it is not paused", code="not_paused", remedy="look at the run again")
    return [Draft(state.id, "run.resumed", now, f"person:{command.who}", command.id, {"channel": command.channel})]


def abort(state: ProposalState, command: Command, now: datetime, setup: Setup) -> list[Draft]:
    """Stop; with ``undo``, also take back what was done, as far as it can be. A run that is over can be undone too."""
    undo = command.args.get("undo", False)
    if not isinstance(undo, bool):
        raise Refused("undo what was done?", code="bad_argument", remedy="give undo as true or false")
    can_be_undone = undo and state.phase in _OVER and bool(compensate.undoable(state, now, setup))
    if state.phase not in ("running", "undoing") and not can_be_undone:
        what = "nothing of it can be undone" if undo and state.phase in _OVER else "nothing is running"
        remedy = "reject it instead" if state.phase in OPEN else ""
        raise Refused(f"{what}; it is {state.phase}", code="not_running", remedy=remedy)
    says = str(command.args.get("reason", "")) or "Stopped by you."
    drafts = stopping(state, now, f"person:{command.who}", command.id, "person", says, command.channel)
    drafts[0].body["undo"] = undo and state.phase != "undoing"
    return drafts


def retry(state: ProposalState, command: Command, now: datetime, setup: Setup) -> list[Draft]:
    """A step that failed, and what was skipped for want of it, once more; under new keys, for it is a new decision."""
    plan = must_be_seen(state, command)
    step = edit.named(plan, command)
    if state.phase not in ("running", "failed"):
        raise Refused(f"it is {state.phase}", code="not_running", remedy="only a run that failed can be tried again")
    must_be_known(state)
    _must_have_failed(state, step)
    wanted = Wanted(state, "edited", step, state.version + 1, now)
    again = [s for s in plan.steps if s.uid == step.uid or _waits_for(state, plan, s, step)]
    fresh = tuple(s.model_copy(update={"uid": wanted.uid(s.id)}) for s in again)
    gone = {s.uid for s in again}
    way = Way((*fresh, *(s for s in wanted.open() if s.uid not in gone)), plan.planner, f"{step.id} is tried again")
    try:
        return revise.revise(
            state, way, "edited", step, now, setup,
            actor=f"person:{command.who}", because=command.id, replaced=gone,
        )  # fmt: skip
    except revise.Unsound as fault:
        raise Refused(str(fault), code="unsound", remedy="look at the run again") from fault


def _must_run(state: ProposalState) -> None:
    if state.phase not in ("running", "undoing"):
        raise Refused(f"nothing is running; it is {state.phase}", code="not_running", remedy="look at the run again")


def _must_have_failed(state: ProposalState, step: Step) -> None:
    phase = state.steps[step.uid].phase
    if phase == "unverified":
        raise Refused(
            f"{step.id} may have happened: it said so, and nobody saw it",
            code="in_doubt",
            remedy="look for yourself; if it did not happen, make a new proposal of it",
        )
    if phase != "failed":
        raise Refused(f"{step.id} has not failed; it is {phase}", code="not_failed", remedy="look at the run again")


def _waits_for(state: ProposalState, plan: Plan, step: Step, failed: Step) -> bool:
    """Was it skipped because the step that failed gave it nothing?"""
    live = state.steps[step.uid]
    return live.phase == "skipped" and failed.id in graph.ancestors(plan, step)
