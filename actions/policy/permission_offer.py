"""Offering a permission: the command that allows ahead what the person has approved again and again.

Nothing is allowed by this. Which cap and which end, only the person can say (law L3).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from urllib.parse import urlsplit

from actions.plain import clean
from actions.policy import permit
from actions.policy.destination import amount_of, canonical
from actions.policy.permission import Permission, Standing
from actions.policy.standing import destination_type
from actions.proposal.state import GateState, ProposalState
from actions.setup import Setup
from actions.tools.tool import Manifest
from schemas.errors import Refused
from schemas.plan import Step
from schemas.value import Value

AFTER = 3
"""Acts in a row that the person approved and that went well."""
_HOST = re.compile(r"(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::[0-9]+)?")


def offer(state: ProposalState, step: Step, setup: Setup) -> str:
    """The command, for a step that waits for its confirmation; empty where it was not earned, was taken away or stands
    already, or where the step would be asked about all the same."""
    gate, manifest = state.steps[step.uid].gate, setup.tools.manifest(step.tool)
    to = _destination(gate.args, manifest) if gate and manifest else None
    if gate is None or to is None:
        return ""
    allowed = Permission(
        id="offered", tool=step.tool, type=to.type, to=canonical(to), cap=amount_of(gate.args), times=100, period="day",
        expires_at=gate.at + timedelta(days=1), by=state.owner, made_at=gate.at,
    )  # fmt: skip
    row = state.experience.rows.get((allowed.tool, allowed.type, allowed.to), 0)
    if row < AFTER or not _reads_as_it_is(allowed) or _is_settled(state, allowed):
        return ""
    if not _would_pass(state, step, gate, allowed, setup):
        return ""
    cap = f" --cap 'AMOUNT {allowed.cap.currency}'" if allowed.cap else ""
    command = f"forewatch permissions allow {allowed.tool} {shlex.quote(allowed.to)}{cap} --for 90d"
    return command if clean(command, len(command)) == command else ""


def _destination(args: Mapping[str, Value], manifest: Manifest) -> Value | None:
    try:
        type_ = destination_type(manifest)
    except Refused:
        return None
    return next((value for value in args.values() if value.type == type_ and value.v), None)


def _reads_as_it_is(allowed: Permission) -> bool:
    """Whoever reads the destination knows where it goes, and a command line takes it for nothing else: no letters of
    other scripts, no host before the real one, no option."""
    to = allowed.to
    if not to.isascii() or not to.isprintable() or " " in to or "\\" in to or to.startswith("-"):
        return False
    return allowed.type != "Url" or _HOST.fullmatch(urlsplit(to).netloc) is not None


def _is_settled(state: ProposalState, wanted: Permission) -> bool:
    """The person has said already what holds there, or a bad outcome has."""
    about = (
        one
        for one in state.experience.permissions.values()
        if (one.permission.tool, one.permission.type, one.permission.to) == (wanted.tool, wanted.type, wanted.to)
    )
    return any(one.lost or one.stands(wanted.made_at) for one in about)


def _would_pass(state: ProposalState, step: Step, gate: GateState, allowed: Permission, setup: Setup) -> bool:
    experience = replace(state.experience, permissions={allowed.id: Standing(allowed)})
    found = permit.permit(replace(state, experience=experience), step, gate.args, gate.at, setup)
    return isinstance(found, permit.Fill) and found.grant.permission == allowed.id
