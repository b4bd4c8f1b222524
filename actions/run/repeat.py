"""Repeat: a question that is asked again until its answer says what is waited for (pure)."""

from __future__ import annotations

from datetime import datetime, timedelta

from actions.journal import Draft
from actions.proposal.state import ProposalState
from actions.run import predicate
from actions.run.move import dumped, result
from actions.tools.tool import Outcome
from schemas.plan import Repeat, Step
from schemas.value import Value


def polled(state: ProposalState, step: Step, repeat: Repeat, out: dict[str, Value], now: datetime) -> Draft:
    """The result that ends the step, or the one that has it asked again after its interval."""
    value = out.get(repeat.field)
    if predicate.holds(repeat.op, value.v if value else None, repeat.value):
        return result(state, step, now, "ok", out=dumped(out))
    rounds = state.steps[step.uid].rounds + 1
    if rounds >= repeat.at_most:
        outcome: Outcome = "ok" if repeat.on_end == "go_on" else "failed"
        message = f"asked {rounds} times, and {repeat.field} never was what was waited for"
        code = "" if outcome == "ok" else "timeout"
        return result(state, step, now, outcome, code=code, message=message, out=dumped(out))
    again = result(state, step, now, "ok", out=dumped(out), retry_at=now + timedelta(seconds=repeat.every_s))
    again.body["again"] = True
    return again
