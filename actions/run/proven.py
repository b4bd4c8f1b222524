"""Is the goal of a run reached? By what its steps have seen, and by nothing that they only did (pure, law L9)."""

from __future__ import annotations

from actions.proposal.state import ProposalState, StepState
from schemas.goal import Proof
from schemas.plan import Fixed, Plan, Step


def unproven(state: ProposalState, plan: Plan) -> str:
    """What the person is told of a run whose steps are done while nothing shows its goal; "" if something does, or
    if the plan names no goal."""
    goal = plan.goal
    if goal is None or any(_shows(state, proof, step) for proof in goal.proofs for step in plan.steps):
        return ""
    return f"done, goal not proven: nothing shows that {goal.says} ({goal.by})"


def _shows(state: ProposalState, proof: Proof, step: Step) -> bool:
    live = state.steps[step.uid]
    fixed = {name: argument.value.v for name, argument in step.args.items() if isinstance(argument, Fixed)}
    if live.phase != "ok" or step.tool not in proof.tools:
        return False
    if any(fixed.get(name) != value for name, value in proof.args.items()):
        return False
    return _says(live, proof) and (not proof.signed or _is_signed(state, live))


def _says(live: StepState, proof: Proof) -> bool:
    if not proof.field:
        return True
    found = live.out.get(proof.field)
    if found is None:
        return False
    if not proof.any_of:
        return found.v == proof.value
    text = str(found.v).casefold()
    return any(word in text for word in proof.any_of) and not any(word in text for word in proof.none_of)


def _is_signed(state: ProposalState, live: StepState) -> bool:
    granted = state.grants.get(live.grant)
    return granted is not None and granted.grant.level == "second"
