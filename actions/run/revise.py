"""Revise: another rest for a running plan, checked, judged and compared with what was approved (pure)."""

from __future__ import annotations

from collections.abc import Set
from datetime import datetime

from actions.journal import EXECUTOR, Draft
from actions.planning import planner, validate
from actions.proposal import reapprove
from actions.proposal.compare import changes
from actions.proposal.state import ProposalState
from actions.run.replan import Wanted, Way, is_blocked, is_open, wanted
from actions.setup import Setup
from schemas import ids
from schemas.model import Json
from schemas.plan import Cause, Plan, Step


class Unsound(Exception):
    """The proposed rest breaks a rule of revisions or of plans; the message says which."""


def answered(now_state: ProposalState, asked: Wanted, way: Way | None, now: datetime, setup: Setup) -> list[Draft]:
    """What a replanner's answer makes of the run: another plan, a dead end, or nothing if the run has moved on."""
    still = wanted(now_state, now)
    if still is None or still.version != asked.version or still.step != asked.step or is_blocked(now_state):
        return []
    if way is None:
        return [_stuck(asked, now, "there is no other way on")]
    try:
        return revise(now_state, way, asked.cause, asked.step, now, setup)
    except Unsound as fault:
        return [_stuck(asked, now, f"the other way does not hold: {fault}")]


def revise(
    state: ProposalState,
    way: Way,
    cause: Cause,
    step: Step | None,
    now: datetime,
    setup: Setup,
    *,
    actor: str = EXECUTOR,
    because: str = "",
    replaced: Set[str] = frozenset(),
) -> list[Draft]:
    """The revision and the grants that outlive it; Unsound says why the rest may not be like this.

    ``actor`` and ``because`` (a command's id) are a person's, where one asked for it. ``replaced`` are the steps over
    which the new plan does without; by default the one that was the cause.
    """
    old = state.plan
    assert old is not None
    gone = replaced or ({step.uid} if step and not is_open(step, state.steps[step.uid]) else frozenset())
    new = _assembled(state, old, way, gone, setup)
    _check(state, old, new, way, setup)
    needs = reapprove.reasons(state, old, new, setup)
    body: dict[str, Json] = {
        "version": new.version,
        "parent": old.version,
        "cause": cause,
        "step": step.uid if step else "",
        "why": way.says,
        "diff": changes(old, new),
        "needs": [*needs],
        "automatic": actor == EXECUTOR,
        "plan": new.model_dump(mode="json"),
    }
    drafts = [Draft(state.id, "plan.revised", now, actor, because, body)]
    return drafts if needs else [*drafts, *reapprove.carried(state, old, new, now, setup, actor, because)]


def _assembled(state: ProposalState, old: Plan, way: Way, gone: Set[str], setup: Setup) -> Plan:
    """Finished steps as they are; of the rest, everything that risk rests on comes from the manifests and the policy,
    and a kept step's gate never gets weaker."""
    begun = {s.uid: s for s in old.steps if not is_open(s, state.steps[s.uid]) and s.uid not in gone}
    rest = tuple(planner.by_manifest(step, setup) for step in way.steps)
    update = {
        "version": state.version + 1,
        "parent": old.version,
        "planner": way.planner,
        "policy": setup.policy.version,
        "steps": (*begun.values(), *rest),
    }
    judged = planner.judged(old.model_copy(update=update), setup)
    before = {step.uid: step for step in old.steps}
    steps = tuple(begun.get(step.uid) or _not_weaker(step, before.get(step.uid)) for step in judged.steps)
    return judged.model_copy(update={"steps": steps})


def _not_weaker(step: Step, kept: Step | None) -> Step:
    weaker = kept is not None and reapprove.is_weaker(step.gate, kept.gate)
    return step.model_copy(update={"gate": kept.gate}) if kept and weaker else step


def _check(state: ProposalState, old: Plan, new: Plan, way: Way, setup: Setup) -> None:
    before = {step.uid: step for step in old.steps}
    for step in way.steps:
        kept = before.get(step.uid)
        if kept is not None and (not is_open(kept, state.steps[kept.uid]) or _content(kept) != _content(step)):
            raise Unsound(f"{step.id} was changed under its old uid")
        if kept is None and (step.uid in state.steps or step.uid != ids.step_uid(state.id, new.version, step.id)):
            raise Unsound(f"{step.id} has a uid that is not its own")
    rest = {step.uid for step in way.steps}
    begun = {at for at, step in enumerate(new.steps) if step.uid not in rest}
    faults = validate.validate(new, setup.tools.manifest, setup.policy, setup.tools.names(), begun=begun)
    if faults:
        raise Unsound(str(faults[0]))


def _content(step: Step) -> dict[str, Json]:
    """A step without its edges and without what the policy and the manifest say of it."""
    kept = {"uid", "id", "tool", "args", "when", "repeat", "undoes"}
    return step.model_dump(mode="json", include=kept)


def _stuck(asked: Wanted, now: datetime, says: str) -> Draft:
    body: dict[str, Json] = {"step": asked.step.uid if asked.step else "", "cause": asked.cause, "says": says}
    return Draft(asked.state.id, "plan.stuck", now, EXECUTOR, "", body)
