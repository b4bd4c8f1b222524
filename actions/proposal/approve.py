"""Approval: the plan that the person saw becomes grants for its exact arguments, and a run."""

from __future__ import annotations

from datetime import datetime, timedelta

from actions import grant, graph
from actions.grant import Consent, Grant
from actions.journal import Draft
from actions.proposal.state import ProposalState
from actions.run import resolve
from actions.run.waits import REPLY, REPLY_DAYS
from actions.setup import Setup
from schemas.command import Command
from schemas.errors import Refused
from schemas.model import Json
from schemas.plan import Argument, Fixed, Plan, Step


def approve(state: ProposalState, command: Command, now: datetime, setup: Setup, actor: str = "") -> list[Draft]:
    """``actor``: who begins it, if not the person who says so."""
    plan = must_be_seen(state, command)
    actor = actor or f"person:{command.who}"
    drafts = [
        Draft(state.id, "grant.issued", now, actor, command.id, {"grant": granted.model_dump(mode="json")})
        for granted in grants(plan, command, now, setup)
    ]
    body: dict[str, Json] = {
        "run": plan.run,
        "digest": command.digest,
        "version": plan.version,
        "channel": command.channel,
    }
    return [*drafts, Draft(state.id, "run.started", now, actor, command.id, body)]


def must_be_seen(state: ProposalState, command: Command) -> Plan:
    """The plan, if it is the one that the person looked at when answering."""
    if state.planning is not None:
        raise Refused("a plan is still being made", code="planning", remedy="look again in a minute")
    if state.plan is None:
        raise Refused("some facts are missing", code="needs_input", remedy="answer its questions first")
    if command.digest != state.plan.digest():
        message = f"the plan is not the one you saw: it is now version {state.plan.version}"
        raise Refused(message, code="stale", remedy="look at it again and answer with its digest")
    return state.plan


def expires_at(plan: Plan, step: Step, now: datetime, setup: Setup) -> datetime:
    """An approval is good for ``grant_ttl`` after the waits that the person saw before this step; those that count in
    days, and questions that are asked again and again, may follow on one another."""
    names = graph.ancestors(plan, step)
    before = [other for other in plan.steps if other.id in names]
    lasting = sum((_lasts(other) for other in before), timedelta())
    return max([now + lasting, *(end for other in before if (end := _wait_end(other)))]) + setup.settings.grant_ttl


def grants(plan: Plan, command: Command, now: datetime, setup: Setup) -> list[Grant]:
    """For the steps that the plan's approval covers and whose arguments it fixes; the rest is granted at call time."""
    issued = []
    for step in plan.steps:
        manifest = setup.tools.manifest(step.tool)
        if step.gate != "plan" or manifest is None or not resolve.is_exact(step):
            continue
        args = resolve.resolve(plan, step, {}, manifest)
        bound_to = grant.binding(plan, step, args, manifest, setup.policy.version)
        consent = Consent("plan", command.who, command.channel, command.id, now, expires_at(plan, step, now, setup))
        issued.append(grant.issue(plan, step, args, bound_to, consent))
    return issued


def _wait_end(step: Step) -> datetime | None:
    """When a wait until an instant is over."""
    until = _fixed(step.args.get("until")) if step.effect == "wait" else None
    return datetime.fromisoformat(until) if isinstance(until, str) else None


def _lasts(step: Step) -> timedelta:
    """How long a step may take by what the plan says, at the most."""
    if step.repeat:
        return timedelta(seconds=step.repeat.every_s * step.repeat.at_most)
    if step.effect != "wait" or "until" in step.args:
        return timedelta()
    days = _fixed(step.args.get("days"))
    days = REPLY_DAYS if days is None and step.tool == REPLY else days
    return timedelta(days=days) if isinstance(days, int | float) else timedelta()


def _fixed(argument: Argument | None) -> Json:
    return argument.value.v if isinstance(argument, Fixed) else None
