"""Replan: when a run asks for another rest of its plan, whom, and with what; ``revise.py`` takes the answer.

What is done stays done; only what has not begun may change.

It happens on a definite end of a step (failed, timed out, its tool gone), on a branch that took an input away, and on a
person's edit; never while the outcome of anything is unknown, and without a person at most twice in a run. The new
plan is judged by the policy like any other. Where it asks for more than was approved it waits for the person; else it
goes on and the journal tells (``actions/proposal/reapprove.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from actions.proposal.state import FINAL, IN_DOUBT, ProposalState, StepState
from actions.tools.tool import UNGRANTED
from schemas import ids
from schemas.plan import Cause, Plan, Step

if TYPE_CHECKING:
    from actions.setup import Setup

AUTOMATIC = 2
"""Times that the plan of a run may change without a person."""
_CAUSES: Mapping[str, Cause] = {
    "not_found": "not_found", "denied": "denied", "timeout": "timeout", "rate": "rate", "conflict": "conflict",
    "invalid": "invalid", "schema": "invalid", "bad_argument": "invalid", "missing_input": "guard",
    "revoked": "revoked",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a replanner is asked: the state as it stands, which step ended badly, and why, as our own word.

    ``version`` is the one that the new plan will have: the uids of new steps come from it. ``step`` is None for a cause
    that lies in no step. What the other side said about the failure is not here, and must not reach a model.
    """

    state: ProposalState
    cause: Cause
    step: Step | None
    version: int
    now: datetime

    @property
    def plan(self) -> Plan:
        assert self.state.plan is not None
        return self.state.plan

    def uid(self, step: str) -> str:
        """The uid of a new step with this display id."""
        return ids.step_uid(self.state.id, self.version, step)

    def open(self) -> tuple[Step, ...]:
        """The steps that have not begun: kept as they are, changed under a new uid, or left out."""
        return tuple(step for step in self.plan.steps if is_open(step, self.state.steps[step.uid]))

    def free_id(self, taken: int = 0) -> str:
        """A display id that no step of the plan has; ``taken`` further ones were given out already."""
        numbers = [int(step.id[1:]) for step in self.plan.steps]
        return f"s{max(numbers, default=0) + 1 + taken}"


@dataclass(frozen=True, slots=True)
class Way:
    """All steps of the new rest. One with the uid of an open step is that step, and may differ from it in its edges
    alone; a new one has ``Wanted.uid`` of its id. References to finished steps are allowed, to the failed one not."""

    steps: tuple[Step, ...]
    planner: str
    says: str = ""


class Replanner(Protocol):
    async def replan(self, wanted: Wanted, setup: Setup) -> Way | None:
        """Another way on, or None. May be asked again for the same: nothing of it is kept before it is journalled.

        May take its time: the run waits, and what a person does meanwhile goes first. An exception counts as None.
        """
        ...


def is_open(step: Step, live: StepState) -> bool:
    """Has the step not begun, as far as the world is concerned? A wait may be given up, a question asked anew."""
    if live.phase in FINAL or live.phase in IN_DOUBT or live.phase == "returned":
        return False
    return step.effect in UNGRANTED or live.attempts == 0


def wanted(state: ProposalState, now: datetime) -> Wanted | None:
    """What calls for another plan, if anything does; whether it may be made yet is ``is_blocked``'s to say."""
    if state.plan is None or state.phase != "running" or state.revision or state.revised >= AUTOMATIC:
        return None
    for step in state.plan.steps:
        live = state.steps[step.uid]
        ended = live.phase == "failed" or (live.phase == "skipped" and live.code == "missing_input")
        if ended and step.uid not in state.stuck:
            return Wanted(state, _CAUSES.get(live.code, "unknown"), step, state.version + 1, now)
    return None


def is_blocked(state: ProposalState) -> bool:
    """While nobody knows what became of a request, nobody may plan around it."""
    return any(live.phase in IN_DOUBT or live.phase == "returned" for live in state.steps.values())
