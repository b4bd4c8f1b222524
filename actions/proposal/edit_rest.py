"""A person changes what a running plan has not begun yet: a revision like any other, with the person as its cause."""

from __future__ import annotations

from datetime import datetime

from actions.journal import Draft
from actions.proposal import edit as typed
from actions.proposal.approve import must_be_seen
from actions.proposal.state import ProposalState
from actions.run import replan, revise
from actions.run.replan import Wanted, Way
from actions.run.revise import Unsound
from actions.setup import Setup
from schemas.command import Command
from schemas.errors import Refused


def edit(state: ProposalState, command: Command, now: datetime, setup: Setup) -> list[Draft]:
    """Other arguments for a step that has not begun; asked again if they are of an effect, as the approval was of the
    old ones."""
    plan = must_be_seen(state, command)
    step = typed.named(plan, command)
    must_be_known(state)
    if not replan.is_open(step, state.steps[step.uid]):
        raise Refused(f"{step.id} has begun", code="begun", remedy="only what has not begun can be changed")
    wanted = Wanted(state, "edited", step, state.version + 1, now)
    args = typed.arguments(step, command, setup)
    changed = step.model_copy(update={"uid": wanted.uid(step.id), "args": args})
    rest = tuple(changed if other.uid == step.uid else other for other in wanted.open())
    try:
        return revise.revise(
            state, Way(rest, "person"), "edited", step, now, setup, actor=f"person:{command.who}", because=command.id
        )
    except Unsound as fault:
        raise Refused(str(fault), code="invalid_edit", remedy="change the value and try again") from fault


def must_be_known(state: ProposalState) -> None:
    """Nobody plans around a request whose outcome is not known."""
    if replan.is_blocked(state):
        raise Refused(
            "the outcome of a request is not known yet", code="in_doubt", remedy="answer what is asked, or wait for it"
        )
