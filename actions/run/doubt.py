"""An intent without a known outcome: the effect class decides whether to call again, look it up, or ask.

pure           call again, like a step that was never tried (``actions/run/moves.py``); a run that stops lets it be
keyed          call again with the same key and the journalled arguments, while the key lives; then look up, or ask
reconcile      look up; found: done; not found: wait until nothing can land any more, look again; then it did nothing
at_most_once   wait until nothing can land any more, then ask the person; never repeated by itself
"""

from __future__ import annotations

from datetime import datetime, timedelta

from actions import words
from actions.journal import Draft
from actions.policy import permit
from actions.proposal.answer_run import question_digest
from actions.proposal.state import LookState, ProposalState, StepState
from actions.run.move import LookUp, Move, Record, Rest, Send, dumped, record, result
from actions.run.resolve import label
from actions.setup import Setup
from actions.tools.tool import UNGRANTED, Manifest
from schemas.model import Json
from schemas.plan import Step

KEY_MARGIN = 0.8
"""Of the life of a key: after that, the other side may have forgotten it by the time our call lands."""
LOOK_UPS = 5
"""Failed look-ups before the person is asked."""


def move(state: ProposalState, step: Step, live: StepState, now: datetime, setup: Setup) -> Move:
    if live.retry_at and now < live.retry_at:
        return Rest(live.retry_at)
    manifest = setup.tools.manifest(step.tool)
    if step.effect_class == "pure":
        return Record(
            (result(state, step, now, "failed", code="stopped", message="the run was stopped", via="engine"),)
        )
    if step.effect_class == "keyed" and manifest and _may_repeat(state, step, live, manifest, now, setup):
        return Send(step, live.args, live.binding, live.grant, live.attempts + 1)
    if manifest and manifest.look_up and step.effect_class != "at_most_once":
        return _look(state, step, live, manifest, now)
    if state.paused_at and step.effect_class == "keyed":
        return Rest()  # its own key will tell, once calls may be made again
    return _ask(state, step, live, manifest, now)


def _may_repeat(
    state: ProposalState, step: Step, live: StepState, manifest: Manifest, now: datetime, setup: Setup
) -> bool:
    if live.first_sent is None or manifest.key_ttl_s is None or live.tries > step.retry.max:
        return False
    alive = now - live.first_sent < timedelta(seconds=manifest.key_ttl_s * KEY_MARGIN)
    return alive and permit.still(state, step, live.args, live.binding, now, setup)


def settled_at(step: Step, live: StepState, manifest: Manifest | None) -> datetime:
    """From when on the newest request can no longer land."""
    settle_s = max(step.settle_s, manifest.settle_s if manifest else 0.0)
    assert live.last_sent is not None
    return live.last_sent + timedelta(seconds=settle_s)


def _look(state: ProposalState, step: Step, live: StepState, manifest: Manifest, now: datetime) -> Move:
    look, settled = live.look, settled_at(step, live, manifest)
    if look is None:
        return LookUp(step)
    if look.found:
        return Record((_found(state, step, look, manifest, now),))
    if look.error:
        return _look_again(state, step, live, look, manifest, now)
    if look.at >= settled:
        return Record((result(state, step, now, "not_sent", code="not_found", via="look_up"),))
    return LookUp(step) if now >= settled else Rest(settled)


def _look_again(
    state: ProposalState, step: Step, live: StepState, look: LookState, manifest: Manifest, now: datetime
) -> Move:
    if look.failures >= LOOK_UPS:
        return _ask(state, step, live, manifest, now)
    if look.retry_at and now < look.retry_at:
        return Rest(look.retry_at)
    return LookUp(step)


def _found(state: ProposalState, step: Step, look: LookState, manifest: Manifest, now: datetime) -> Draft:
    out = dumped(label(look.out, step, state.steps[step.uid].args.values(), manifest))
    return result(state, step, now, "ok", via="look_up", out=out, verify=step.effect not in UNGRANTED)


def _ask(state: ProposalState, step: Step, live: StepState, manifest: Manifest | None, now: datetime) -> Move:
    """Not before the request can no longer land: else it lands after the person said that it did not happen."""
    settled = settled_at(step, live, manifest)
    if now < settled:
        return Rest(settled)
    what = words.says(manifest, step.tool, live.args)
    body: dict[str, Json] = {
        "step": step.uid,
        "attempt": live.attempts,
        "digest": question_digest(step, live.attempts),
        "question": f"I tried this and got no clear answer: {what}. Did it happen?",
        "args": dumped(live.args),
    }
    return record(state, "human.asked", now, body)
