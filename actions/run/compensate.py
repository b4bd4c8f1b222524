"""Undoing a run: the steps that take back what was done, last one first; each a step like any other (pure).

Only what is known to be done, says how it is undone, and is still within its time. An undo has its own intent, key and
grant: whoever aborts with ``undo`` allows these very calls, and where the policy asks for more, it is asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from actions import grant, graph
from actions.grant import Consent
from actions.journal import EXECUTOR, Draft
from actions.planning import planner, steps
from actions.proposal import approve
from actions.proposal.state import ProposalState
from actions.run import resolve
from actions.setup import Setup
from actions.tools.tool import UNGRANTED
from schemas import ids
from schemas.model import Json
from schemas.plan import Argument, Fixed, Plan, Ref, Step, Template
from schemas.value import Value


@dataclass(frozen=True, slots=True)
class Left:
    """A step that stays as it is, and why."""

    step: Step
    why: str


def undoable(state: ProposalState, now: datetime, setup: Setup) -> list[Step]:
    """The steps that could be undone now, in the order in which they would be."""
    return [done for done in _done(state) if not _why_not(state, done, now, setup)]


def drafts(state: ProposalState, now: datetime, setup: Setup) -> list[Draft]:
    """The plan of the undoing with its grants; empty if nothing can be undone."""
    assert state.plan is not None
    left = [Left(done, why) for done in _done(state) if (why := _why_not(state, done, now, setup))]
    plan = _plan(state, state.plan, undoable(state, now, setup), setup)
    if plan is None:
        return []
    body: dict[str, Json] = {
        "plan": plan.model_dump(mode="json"),
        "reason": state.stop_reason,
        "says": state.says,
        "left": [{"step": item.step.uid, "id": item.step.id, "why": item.why} for item in left],
    }
    undoing = Draft(state.id, "run.undoing", now, EXECUTOR, state.undo, body)
    return [undoing, *_grants(state, plan, now, setup)]


def left(state: ProposalState, now: datetime, setup: Setup) -> list[Json]:
    """What stays when nothing at all can be undone."""
    return [{"step": s.uid, "id": s.id, "why": why} for s in _done(state) if (why := _why_not(state, s, now, setup))]


def _done(state: ProposalState) -> list[Step]:
    """Effects that are or may be in the world, the last one first; an undo is not undone again."""
    assert state.plan is not None
    had = [s for s in reversed(graph.order(state.plan)) if s.effect not in UNGRANTED and not s.undoes]
    undone = {s.undoes for s in state.plan.steps if s.undoes and state.steps[s.uid].phase == "ok"}
    return [s for s in had if state.steps[s.uid].phase in ("ok", "unverified") and s.uid not in undone]


def _why_not(state: ProposalState, step: Step, now: datetime, setup: Setup) -> str:
    live, undo = state.steps[step.uid], step.undo
    if live.phase == "unverified":
        return "nobody saw whether it happened"
    if undo is None:
        return "it cannot be undone"
    if setup.tools.manifest(undo.tool) is None:
        return f"{undo.tool} is not installed any more"
    if undo.window_s is not None and live.done_at and now > live.done_at + timedelta(seconds=undo.window_s):
        return f"the time to undo it was over after {undo.window_s:g} s"
    if any(ref.field not in live.out for argument in undo.args.values() for ref in resolve.refs(argument)):
        return "it did not say what there is to take back"
    return ""


def _plan(state: ProposalState, old: Plan, undone: list[Step], setup: Setup) -> Plan | None:
    """What is over as it is, then the undos; each after those of the steps that had come after its own."""
    if not undone:
        return None
    version = state.version + 1
    numbers = [int(step.id[1:]) for step in old.steps]
    names = {step.uid: f"s{max(numbers) + 1 + at}" for at, step in enumerate(undone)}
    over = tuple(
        step for step in old.steps if state.steps[step.uid].phase not in ("pending", "held", "gated", "waiting")
    )
    made = []
    for step in undone:
        later = [other for other in undone if step.id in graph.ancestors(old, other)]
        made.append(_undo(state, step, names[step.uid], version, tuple(names[s.uid] for s in later), setup))
    update = {"version": version, "parent": old.version, "policy": setup.policy.version, "steps": (*over, *made)}
    judged = planner.judged(old.model_copy(update=update), setup)
    kept = {step.uid: step for step in over}
    return judged.model_copy(update={"steps": tuple(kept.get(step.uid, step) for step in judged.steps)})


def _undo(state: ProposalState, step: Step, name: str, version: int, after: tuple[str, ...], setup: Setup) -> Step:
    undo, out = step.undo, state.steps[step.uid].out
    assert undo is not None
    manifest = setup.tools.manifest(undo.tool)
    assert manifest is not None
    return Step(
        uid=ids.step_uid(state.id, version, name),
        id=name,
        tool=undo.tool,
        args={arg: _filled(argument, out) for arg, argument in undo.args.items()},
        depends_on=after,
        why=f"undoes {step.id}",
        undoes=step.uid,
        **steps.manifested(manifest) | {"undo": None, "hold_s": 0.0},
    )


def _filled(argument: Argument, out: dict[str, Value]) -> Argument:
    """``self`` is the step that is undone: its results are there, so the arguments are exact."""
    match argument:
        case Ref(field=field):
            return Fixed(value=out[field])
        case Template(parts=parts):
            known = tuple(Fixed(value=out[part.field]) if isinstance(part, Ref) else part for part in parts)
            return argument.model_copy(update={"parts": known})
    return argument


def _grants(state: ProposalState, plan: Plan, now: datetime, setup: Setup) -> list[Draft]:
    by = state.undo_by
    assert by is not None
    found = []
    for step in plan.steps:
        manifest = setup.tools.manifest(step.tool)
        if not step.undoes or step.gate != "plan" or manifest is None or step.uid in state.steps:
            continue
        args = resolve.resolve(plan, step, {}, manifest)
        bound_to = grant.binding(plan, step, args, manifest, setup.policy.version)
        until = approve.expires_at(plan, step, now, setup)
        consent = Consent("plan", by.who.removeprefix("person:"), by.channel, state.undo, now, until)
        granted = grant.issue(plan, step, args, bound_to, consent)
        body: dict[str, Json] = {"grant": granted.model_dump(mode="json")}
        found.append(Draft(state.id, "grant.issued", now, by.who, state.undo, body))
    return found
