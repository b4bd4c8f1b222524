"""May a step be sent with these exact arguments now: the policy's word and a valid grant, or what to ask for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from actions import grant
from actions.grant import Consent, Grant
from actions.policy import circumstances, track
from actions.policy.circumstances import Circumstances
from actions.policy.permission import Permission
from actions.policy.policy import Verdict, gate
from actions.proposal.approve import expires_at
from actions.proposal.state import GrantState, ProposalState
from actions.run import resolve
from actions.run.resolve import is_exact
from actions.setup import Setup
from actions.tools.tool import SELF_EFFECTS, UNGRANTED, Manifest
from schemas.plan import Plan, Step
from schemas.value import Value


@dataclass(frozen=True, slots=True)
class Granted:
    """``grant`` is empty where none is needed."""

    grant: str
    binding: str


@dataclass(frozen=True, slots=True)
class Fill:
    """The approved plan covers this: it said that the argument comes from its own result, and it stays at home."""

    grant: Grant


@dataclass(frozen=True, slots=True)
class Ask:
    """The person must confirm; ``reasons`` and ``diff`` say why, and ``expired_at`` when what they had approved was
    good no longer."""

    binding: str
    reasons: tuple[str, ...]
    diff: list[dict[str, str]]
    expired_at: datetime | None


@dataclass(frozen=True, slots=True)
class Denied:
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Halted:
    """Everything is stopped: nothing is begun until the person says that it may go on."""


Permit = Granted | Fill | Ask | Denied | Halted


def permit(state: ProposalState, step: Step, args: dict[str, Value], now: datetime, setup: Setup) -> Permit:
    if state.experience.stopped:
        return Halted()
    plan, manifest = state.plan, setup.tools.manifest(step.tool)
    if plan is None or manifest is None:
        return Denied(setup.policy.judge(None, args).reasons)
    scene = circumstances.of(state, step, args, manifest, removed(state, step, setup), now, setup.settings.zone)
    verdict = setup.policy.judge(manifest, args, scene)
    if verdict.kind == "deny":
        return Denied(verdict.reasons)
    bound_to = grant.binding(plan, step, args, manifest, setup.policy.version)
    if _is_free(step, manifest, verdict):
        return Granted("", bound_to)
    allowed = _allowed_ahead(plan, step, manifest, verdict, scene, setup)
    second = verdict.kind == "confirm" or (step.gate == "second" and allowed is None)
    found = valid(state, step, bound_to, now, second=second, allowed=allowed)
    if found:
        return Granted(found.grant.id, bound_to)
    if not second and allowed is not None:
        return Fill(grant.issue(plan, step, args, bound_to, _ahead(allowed, plan, step, now, setup)))
    if not second and _is_covered(state, plan, step, now, setup):
        return Fill(grant.issue(plan, step, args, bound_to, _covering(state, plan, step, now, setup)))
    return _ask(state, step, args, bound_to, verdict, now)


def allowed_ahead(
    state: ProposalState, step: Step, args: dict[str, Value], now: datetime, setup: Setup
) -> Grant | None:
    """The grant by a standing permission, issued already or not, where nothing else is lacking for these arguments."""
    match permit(state, step, args, now, setup):
        case Fill(found):
            pass
        case Granted(name) if name:
            found = state.grants[name].grant
        case _:
            return None
    return found if found.level == "standing" else None


def removed(state: ProposalState, step: Step, setup: Setup) -> resolve.Removed:
    """What was taken out of the arguments, so that the person sees it; nothing for arguments that came from elsewhere
    (those of an earlier attempt)."""
    assert state.plan is not None
    results = {uid: live.out for uid, live in state.steps.items() if live.phase == "ok"}
    manifest, kept = setup.tools.manifest(step.tool), state.steps[step.uid].kept
    try:
        return resolve.resolved(state.plan, step, results, manifest, kept)[1]
    except resolve.Unresolved:
        return ()


def _allowed_ahead(
    plan: Plan, step: Step, manifest: Manifest, verdict: Verdict, scene: Circumstances, setup: Setup
) -> Permission | None:
    """The permission that stands in for the confirmation, where nothing but the kind of effect asks for one. A gate
    that somebody tightened beyond the policy is kept."""
    if scene.permission is None or verdict.kind != "allow":
        return None
    asked = gate(manifest, setup.policy.judge(manifest, resolve.foreseen(plan, step, setup.tools.manifest)))
    return scene.permission if step.gate == asked else None


def _ahead(allowed: Permission, plan: Plan, step: Step, now: datetime, setup: Setup) -> Consent:
    expires = min(allowed.expires_at, expires_at(plan, step, now, setup))
    cause = f"{allowed.id}/{now.isoformat()}"  # one that has expired is followed by another one, not by itself
    return Consent("standing", allowed.by, allowed.channel, cause, now, expires, permission=allowed.id)


def valid(
    state: ProposalState, step: Step, bound_to: str, now: datetime, *, second: bool, allowed: Permission | None = None
) -> GrantState | None:
    """The grant for exactly this: not revoked, not expired, not spent on anything else; one that rests on a
    permission only as long as that very permission still covers the step."""
    return next(
        (
            held
            for held in state.grants.values()
            if held.grant.step == step.uid
            and held.grant.binding == bound_to
            and not held.revoked
            and held.grant.expires_at > now
            and (held.grant.level == "second" or not second)
            and (held.grant.by != track.BY or is_earned(state))
            and (held.grant.level != "standing" or (allowed is not None and held.grant.permission == allowed.id))
        ),
        None,
    )


def still(state: ProposalState, step: Step, args: dict[str, Value], bound_to: str, now: datetime, setup: Setup) -> bool:
    """Does what was permitted for an earlier attempt still hold for the very same arguments?"""
    if state.phase not in ("running", "undoing") or state.paused_at or state.revision or step.uid in state.dropped:
        return False
    again = permit(state, step, args, now, setup)
    return isinstance(again, Granted) and again.binding == bound_to


def is_earned(state: ProposalState) -> bool:
    """Does the pattern of this run still have the level at which it may begin by itself?"""
    known = state.experience.tracks.get(track.pattern(state))
    return known is not None and known.level != "ask"


def _is_free(step: Step, manifest: Manifest, verdict: Verdict) -> bool:
    return manifest.effect in UNGRANTED and verdict.kind == "allow" and step.gate == "none"


def _is_covered(state: ProposalState, plan: Plan, step: Step, now: datetime, setup: Setup) -> bool:
    """Only for arguments that nobody could know at approval, of effects that stay with the owner."""
    if is_exact(step) or step.effect not in SELF_EFFECTS or state.answered is None:
        return False
    if state.answered.who == track.BY and not is_earned(state):
        return False
    return state.approval == plan.digest() and expires_at(plan, step, state.answered.at, setup) > now


def _covering(state: ProposalState, plan: Plan, step: Step, now: datetime, setup: Setup) -> Consent:
    """The person's approval of the plan, for an argument that the plan said it would fill."""
    by = state.answered
    assert by is not None
    expires = expires_at(plan, step, by.at, setup)
    return Consent("filled", by.who.removeprefix("person:"), by.channel, state.approval, now, expires)


def _ask(
    state: ProposalState, step: Step, args: dict[str, Value], bound_to: str, verdict: Verdict, now: datetime
) -> Ask:
    before = [held.grant for held in state.grants.values() if held.grant.step == step.uid]
    diff = grant.differences(before[-1].args, args) if before else []
    lost = _lost(before, bound_to, diff)
    is_late = before and not lost and before[-1].expires_at <= now
    return Ask(bound_to, (*verdict.reasons, *lost), diff, before[-1].expires_at if is_late else None)


def _lost(before: list[Grant], bound_to: str, diff: list[dict[str, str]]) -> list[str]:
    """Why an approval that was given does not do, however old it is."""
    if not before:
        return []
    if diff:
        return ["the arguments are not those you approved"]
    if before[-1].binding != bound_to:
        return ["the plan, the tool or the policy has changed since you approved"]
    return []
