"""A person's answers to a run that asks: confirm these exact values, or tell whether an effect happened."""

from __future__ import annotations

from datetime import datetime

from actions import grant
from actions.grant import Consent
from actions.journal import Draft
from actions.policy.identifiers import canonical
from actions.proposal.approve import expires_at
from actions.proposal.edit import person_value
from actions.proposal.state import ProposalState, StepState
from actions.run.move import dumped
from actions.run.resolve import label
from actions.setup import Setup
from actions.tools.tool import Foretells
from schemas import ids
from schemas.command import Command
from schemas.errors import Refused
from schemas.model import Json
from schemas.plan import Plan, Step


def confirm(state: ProposalState, command: Command, now: datetime, setup: Setup) -> list[Draft]:
    """The second confirmation: a grant for what the gate showed, and for nothing else."""
    plan, step, live = _named(state, command)
    manifest = setup.tools.manifest(step.tool)
    if state.phase not in ("running", "undoing") or live.gate is None or manifest is None:
        raise Refused(f"{step.id} does not wait for a confirmation", code="not_gated", remedy="look at the run again")
    if command.digest != live.gate.digest:
        raise Refused(f"{step.id} is not what you saw", code="stale", remedy="look at it again and confirm its digest")
    expires = expires_at(plan, step, now, setup)
    consent = Consent("second", command.who, command.channel, command.id, now, expires)
    granted = grant.issue(plan, step, live.gate.args, live.gate.digest, consent)
    actor = f"person:{command.who}"
    body: dict[str, Json] = {"step": step.uid, "digest": command.digest, "grant": granted.id}
    return [
        Draft(state.id, "grant.issued", now, actor, command.id, {"grant": granted.model_dump(mode="json")}),
        Draft(state.id, "step.confirmed", now, actor, command.id, body),
    ]


def endorse(state: ProposalState, command: Command, now: datetime) -> Draft:
    """Identifiers from outside that the person wants to stay in what is sent; the step then asks again with them."""
    _, step, live = _named(state, command)
    if state.phase not in ("running", "undoing") or live.gate is None:
        raise Refused(f"{step.id} does not wait for a confirmation", code="not_gated", remedy="look at the run again")
    if command.digest != live.gate.digest:
        raise Refused(f"{step.id} is not what you saw", code="stale", remedy="look at it again and answer its digest")
    wanted = command.args.get("identifiers")
    if not isinstance(wanted, list) or not wanted or not all(isinstance(one, str) for one in wanted):
        raise Refused("keep what?", code="bad_argument", remedy='give identifiers as ["https://...", ...]')
    kept = sorted({*live.kept, *(canonical(str(one)) for one in wanted)})
    body: dict[str, Json] = {"step": step.uid, "kept": [*kept], "channel": command.channel}
    return Draft(state.id, "value.endorsed", now, f"person:{command.who}", command.id, body)


def wrong(state: ProposalState, command: Command, now: datetime) -> Draft:
    """The person says that what a step did was not right: the step stays as it is, what it rested on is lost."""
    _, step, live = _named(state, command)
    if not live.attempts:
        raise Refused(f"{step.id} has done nothing yet", code="not_done", remedy="use stop or reject")
    body: dict[str, Json] = {"step": step.uid, "reason": command.args.get("reason", ""), "channel": command.channel}
    return Draft(state.id, "step.wrong", now, f"person:{command.who}", command.id, body)


def question_digest(step: Step, attempt: int) -> str:
    """What an answer names, so that it answers this attempt's question and no later one's."""
    return ids.digest(["did it happen?", step.uid, attempt])


def happened(state: ProposalState, command: Command, now: datetime, setup: Setup) -> list[Draft]:
    """The answer to a question about an unknown outcome."""
    _, step, live = _named(state, command)
    if live.phase != "asked":
        raise Refused(f"nobody asks about {step.id}", code="not_asked", remedy="look at the run again")
    if command.digest != live.question:
        raise Refused("that question is over", code="stale", remedy="look at the run again")
    flag = command.args.get("happened")
    if not isinstance(flag, bool):
        raise Refused("did it happen?", code="bad_argument", remedy="give happened as true or false")
    body: dict[str, Json] = {
        "step": step.uid,
        "attempt": live.attempts,
        "happened": flag,
        "out": _foretold(step, live, setup) | _given(command, step, setup) if flag else {},
        "channel": command.channel,
    }
    return [Draft(state.id, "human.answered", now, f"person:{command.who}", command.id, body)]


def _named(state: ProposalState, command: Command) -> tuple[Plan, Step, StepState]:
    named = str(command.args.get("step", ""))
    if state.plan is None:
        raise Refused("it has no plan yet", code="needs_input", remedy="answer its questions first")
    found = next((step for step in state.plan.steps if named in (step.id, step.uid)), None)
    if found is None:
        has = ", ".join(step.id for step in state.plan.steps)
        raise Refused(f"there is no step {named!r}", code="unknown_step", remedy=f"it has {has}")
    return state.plan, found, state.steps[found.uid]


def _foretold(step: Step, live: StepState, setup: Setup) -> dict[str, Json]:
    """What the effect must have returned, as its key and its arguments say, so that what follows can go on with it."""
    tool = setup.tools.tool(step.tool)
    if not isinstance(tool, Foretells):
        return {}
    out = tool.foretold({name: value.v for name, value in live.args.items()}, live.key)
    return dumped(label(out, step, live.args.values(), tool.manifest))


def _given(command: Command, step: Step, setup: Setup) -> dict[str, Json]:
    """What the person says that the effect returned (a reference number, say)."""
    out = command.args.get("out")
    manifest = setup.tools.manifest(step.tool)
    returns = manifest.returns if manifest else {}
    if not isinstance(out, dict):
        return {}
    unknown = sorted(set(out) - set(returns))
    if unknown:
        raise Refused(
            f"{step.tool} returns no {unknown[0]!r}", code="bad_argument", remedy=f"it has {', '.join(returns)}"
        )
    typed = {name: person_value(name, returns[name], value, command) for name, value in out.items()}
    return {name: value.model_dump(mode="json") for name, value in typed.items()}
