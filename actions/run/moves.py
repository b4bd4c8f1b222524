"""The next move of a run: a pure function of its folded state and the time, the same after a crash as before it."""

from __future__ import annotations

from collections.abc import Set
from datetime import datetime, timedelta

from actions import graph, nominal
from actions.grant import Grant
from actions.policy import permit
from actions.proposal.state import ACTIVE, DEATHS, FINAL, IN_DOUBT, ProposalState, StepState
from actions.run import breaker, compensate, doubt, predicate, proven, replan, resolve, waits
from actions.run.move import Await, Move, Record, Replan, Rest, Send, Verify, dumped, record, result
from actions.setup import Setup
from actions.tools.tool import UNGRANTED, is_foreign
from schemas.model import Json
from schemas.plan import Fixed, Guard, Plan, Step
from schemas.value import Integrity, Value

AT_ONCE = 4
"""Calls of one run that may be under way at the same time."""
DEADLY = f"Forewatch itself came to an end more than {DEATHS} times while it did this"
REPLANNING = "replan"
"""Stands among the busy steps while a replanner thinks."""


def next_move(state: ProposalState, now: datetime, setup: Setup, busy: Set[str] = frozenset()) -> Move:
    """What to begin now, beside what ``busy`` (uids) says is under way: the step on the longest path first.

    A step that waits holds up only those that depend on it. Of the effects at one provider account, one at a time.
    """
    if state.plan is None or state.phase not in ACTIVE:
        return Rest()
    wanted = replan.wanted(state, now) if setup.replanner else None
    if wanted and not busy and not replan.is_blocked(state):
        return Rest() if state.experience.stopped else Replan(wanted)
    rests: list[datetime] = []
    ready = set() if wanted or state.revision or state.paused_at else _ready(state, state.plan)
    for step in [*graph.by_urgency(state.plan), *_crossed(state)]:
        if step.uid in busy:
            continue
        move = _step(state, state.plan, step, ready, now, setup)
        if not isinstance(move, Rest | Record) and not _has_room(state, step, move, busy):
            continue
        if not isinstance(move, Rest):
            return move
        rests += [move.until] if move.until else []
    closing = None if busy else _closing(state, state.plan, now, setup)
    return closing or Rest(min(rests, default=None))


def _has_room(state: ProposalState, step: Step, move: Move, busy: Set[str]) -> bool:
    if len(busy) >= AT_ONCE:
        return False
    if not isinstance(move, Send) or step.effect in UNGRANTED:
        return True
    under_way = [other for uid in busy if (other := state.planned(uid)) is not None]
    return not any(other.effect not in UNGRANTED and _account(other) == _account(step) for other in under_way)


def _account(step: Step) -> tuple[str, str]:
    """The provider account that a step touches, as far as a plan tells: the tool's family and the account it names."""
    named = [a.value.v for a in step.args.values() if isinstance(a, Fixed) and a.value.type == "AccountId"]
    return step.tool.partition(".")[0], str(named[0]) if named else ""


def _step(state: ProposalState, plan: Plan, step: Step, ready: set[str], now: datetime, setup: Setup) -> Move:
    live = state.steps[step.uid]
    if live.phase in ("sent", "unknown") and not (step.effect_class == "pure" and state.phase != "stopping"):
        return doubt.move(state, step, live, now, setup)
    if live.phase == "returned":
        if state.experience.stopped and is_foreign(step.tool):
            return Rest()
        return Rest(live.retry_at) if live.retry_at and now < live.retry_at else Verify(step)
    if live.phase in FINAL or live.phase == "asked" or state.phase == "stopping" or step.uid not in ready:
        return Rest()
    if live.phase == "gated":
        return _released(state, step, live, now, setup)
    if step.when and not _holds(state, plan, step.when):
        return _skip(state, step, now, "guard", f"not needed: {step.when.field} of {step.when.step} says so")
    if step.effect == "wait":
        return _wait(state, plan, step, live, now)
    return _prepare(state, plan, step, live, now, setup)


def _crossed(state: ProposalState) -> list[Step]:
    """Steps that are out of the plan while nobody knows what became of their request."""
    return [step for uid, step in state.dropped.items() if state.steps[uid].phase in (*IN_DOUBT, "returned")]


def _ready(state: ProposalState, plan: Plan) -> set[str]:
    """An ``unverified`` step is not done (law L9), so what comes after it does not start."""
    over = {uid: live.phase in ("ok", "skipped") for uid, live in state.steps.items()}
    return {step.uid for step in graph.ready(plan, over)}


def _is_blocked(state: ProposalState, plan: Plan, step: Step) -> bool:
    before = graph.ancestors(plan, step)
    return any(state.steps[plan.step(name).uid].phase in ("failed", "unverified") for name in before)


def _holds(state: ProposalState, plan: Plan, guard: Guard) -> bool:
    value = state.steps[plan.step(guard.step).uid].out.get(guard.field)
    return predicate.holds(guard.op, value.v if value else None, guard.value)


def _skip(state: ProposalState, step: Step, now: datetime, reason: str, says: str) -> Record:
    return record(state, "step.skipped", now, {"step": step.uid, "reason": reason, "says": says})


def _wait_for_event(state: ProposalState, plan: Plan, step: Step, live: StepState, now: datetime) -> Move:
    if live.awaits is None:
        try:
            args = resolve.resolve(plan, step, _results(state), None)
        except resolve.Unresolved as missing:
            return _skip(state, step, now, "missing_input", f"{missing} was never made")
        begun = waits.begun(state, plan, step, args, now)
        if isinstance(begun, str):
            return Record((result(state, step, now, "failed", code="bad_argument", message=begun, via="engine"),))
        return Record((begun,)) if begun.body["cursor"] is not None else Await(step, begun)
    if live.wake is None or now < live.wake:
        return Rest(live.wake)
    if live.awaits.on_timeout == "fail":
        message = "what it waited for did not come"
        return Record((result(state, step, now, "failed", code="timeout", message=message, via="engine"),))
    return record(state, "wait.fired", now, {"step": step.uid, "out": dumped(waits.timed_out(step))})


def _wait(state: ProposalState, plan: Plan, step: Step, live: StepState, now: datetime) -> Move:
    if waits.is_for_event(step):
        return _wait_for_event(state, plan, step, live, now)
    if live.wake is None:
        until = _args(state, plan, step).get("until")
        if until is None or nominal.fault("DateTime", until.v):
            message = "there is no instant to wait for"
            return Record((result(state, step, now, "failed", code="bad_argument", message=message, via="engine"),))
        return record(state, "wait.started", now, {"step": step.uid, "wake": until.v})
    if now < live.wake:
        return Rest(live.wake)
    woke = Value(v=now.isoformat(), type="DateTime", sources=(step.uid,), integrity=Integrity.SYSTEM, how="tool")
    return record(state, "wait.fired", now, {"step": step.uid, "out": dumped({"woke_at": woke})})


def _prepare(state: ProposalState, plan: Plan, step: Step, live: StepState, now: datetime, setup: Setup) -> Move:
    if live.retry_at and now < live.retry_at:
        return Rest(live.retry_at)
    if live.tries > step.retry.max:
        message = live.message or (DEADLY if live.deaths >= DEATHS else "it could not be done")
        code = "rate" if live.code == "rate" else "retries"
        return Record((result(state, step, now, "failed", code=code, message=message, via="engine"),))
    if live.tries and state.retries >= setup.settings.retries_per_run:
        message = f"the run has tried again {state.retries} times in all; at last: {live.message or 'not done'}"
        return Record((result(state, step, now, "failed", code="retries", message=message, via="engine"),))
    try:
        args = resolve.resolve(plan, step, _results(state), setup.tools.manifest(step.tool), live.kept)
    except resolve.Unresolved as missing:
        return _skip(state, step, now, "missing_input", f"{missing} was never made")
    return _permitted(state, step, args, live, now, setup)


def _permitted(
    state: ProposalState, step: Step, args: dict[str, Value], live: StepState, now: datetime, setup: Setup
) -> Move:
    match permit.permit(state, step, args, now, setup):
        case permit.Denied(reasons):
            message, code = "; ".join(reasons), "denied" if setup.tools.manifest(step.tool) else "revoked"
            return Record((result(state, step, now, "failed", code=code, message=message, via="policy"),))
        case permit.Halted():
            return Rest()
        case permit.Fill(granted):
            return _issued(state, granted, now)
        case permit.Ask() as ask:
            return record(state, "step.gated", now, _gate(step, args, ask))
        case permit.Granted(granted_id, binding):
            held = _held(state, step, live, now) or _deferred(state, step, args, live, now)
            return held or Send(step, args, binding, granted_id, live.attempts + 1)


def _released(state: ProposalState, step: Step, live: StepState, now: datetime, setup: Setup) -> Move:
    """What waits for its confirmation is asked about no more once the person has allowed just this ahead."""
    assert live.gate is not None
    found = permit.allowed_ahead(state, step, live.gate.args, now, setup)
    if found is None:
        return Rest()
    says = f"allowed ahead by permission {found.permission}"
    body: dict[str, Json] = {"step": step.uid, "digest": live.gate.digest, "grant": found.id, "says": says}
    released = record(state, "step.released", now, body | {"permission": found.permission}).drafts
    if found.id in state.grants:  # a crash kept the two apart
        return Record(released)
    return Record((*_issued(state, found, now).drafts, *released))


def _gate(step: Step, args: dict[str, Value], ask: permit.Ask) -> dict[str, Json]:
    body: dict[str, Json] = {"step": step.uid, "digest": ask.binding, "args": {**dumped(args)}}
    late: dict[str, Json] = {"expired_at": ask.expired_at.isoformat()} if ask.expired_at else {}
    return body | {"reasons": list(ask.reasons), "diff": [dict(line) for line in ask.diff]} | late


def _issued(state: ProposalState, granted: Grant, now: datetime) -> Record:
    return record(state, "grant.issued", now, {"grant": granted.model_dump(mode="json")})


def _deferred(state: ProposalState, step: Step, args: dict[str, Value], live: StepState, now: datetime) -> Move | None:
    """While its destination does not answer, the run says so once and waits."""
    known = state.experience.breakers.get(breaker.place(step.tool, args))
    until = breaker.left_alone(known, step, now)
    if known is None or until is None:
        return None
    if until == known.until and live.deferred != until:
        return Record((breaker.deferred(state, step, args, until, now),))
    return Rest(until)


def _held(state: ProposalState, step: Step, live: StepState, now: datetime) -> Move | None:
    """The hold window with Stop, once, before the first send: the cheapest undo there is."""
    if step.hold_s <= 0 or live.attempts:
        return None
    if live.wake is None:
        until = now + timedelta(seconds=step.hold_s)
        return record(state, "step.held", now, {"step": step.uid, "until": until.isoformat()})
    return Rest(live.wake) if now < live.wake else None


def _args(state: ProposalState, plan: Plan, step: Step) -> dict[str, Value]:
    try:
        return resolve.resolve(plan, step, _results(state), None)
    except resolve.Unresolved:
        return {}


def _results(state: ProposalState) -> resolve.Results:
    return {uid: live.out for uid, live in state.steps.items() if live.phase == "ok"}


def _closing(state: ProposalState, plan: Plan, now: datetime, setup: Setup) -> Move | None:
    phases = {step.uid: state.steps[step.uid].phase for step in plan.steps}
    if _crossed(state):
        return None
    if state.phase == "stopping":
        if any(phase in IN_DOUBT or phase == "returned" for phase in phases.values()):
            return None
        undoing = compensate.drafts(state, now, setup) if state.undo else []
        return Record(tuple(undoing)) if undoing else _stopped(state, plan, now, setup)
    unfinished = [s for s in plan.steps if phases[s.uid] not in FINAL and not _is_blocked(state, plan, s)]
    if unfinished:
        return None
    return _undone(state, plan, now) if state.phase == "undoing" else _end(state, plan, now)


def _stopped(state: ProposalState, plan: Plan, now: datetime, setup: Setup) -> Move:
    body: dict[str, Json] = {"reason": state.stop_reason, "says": state.says, "unseen": _unseen(state, plan)}
    if state.undo:
        body["left"] = compensate.left(state, now, setup)
    return record(state, "run.stopped", now, body)


def _undone(state: ProposalState, plan: Plan, now: datetime) -> Move:
    """An undo that failed leaves its step, and those before it that waited for it, as they are."""
    left = [*state.left]
    for step in plan.steps:
        live = state.steps[step.uid]
        if step.undoes and live.phase != "ok":
            why = f"{step.id} ({step.tool}) did not undo it: {live.message or live.phase}"
            left.append({"step": step.undoes, "id": plan.step(step.undoes).id, "why": why})
    body: dict[str, Json] = {"reason": state.stop_reason, "says": state.says, "unseen": _unseen(state, plan)}
    return record(state, "run.stopped", now, body | {"left": [*left]})


def _unseen(state: ProposalState, plan: Plan) -> list[Json]:
    return [step.uid for step in plan.steps if state.steps[step.uid].phase == "unverified"]


def _end(state: ProposalState, plan: Plan, now: datetime) -> Move:
    unseen = _unseen(state, plan)
    bad = next((s for s in plan.steps if state.steps[s.uid].phase in ("failed", "unverified")), None)
    if bad is None:
        says = proven.unproven(state, plan)
        reason = "unproven" if says else "done"
        return record(state, "run.done", now, {"reason": reason, "says": says, "unseen": unseen})
    live = state.steps[bad.uid]
    reason = "unverified" if live.phase == "unverified" else live.code
    says = f"{bad.id} ({bad.tool}): {live.message or reason}"
    return record(state, "run.failed", now, {"reason": reason, "says": says, "step": bad.uid, "unseen": unseen})
