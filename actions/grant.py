"""Grants: an approval is the hash of exactly what will be done, for one step, once, until it expires (law L3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from actions.nominal import display
from actions.tools.tool import Manifest
from schemas import ids
from schemas.model import Instant, Model
from schemas.plan import Plan, Step
from schemas.value import Value

Level = Literal["plan", "filled", "second", "standing"]
"""plan: the person approved these exact arguments with the plan; filled: the person approved the plan, and it filled
this argument from its own earlier results (only for effects that stay with the owner); second: confirmed at call
time, with the values and where they came from in view; standing: allowed ahead by a permission of the person's, which
must stand at every look."""

Arguments = Mapping[str, Value]


class Grant(Model):
    """``binding`` is what it is good for; ``args`` are kept to show a difference to a person."""

    id: str
    proposal: str
    run: str
    step: str
    """The step's uid."""
    binding: str
    args: dict[str, Value]
    level: Level
    by: str
    channel: str = ""
    permission: str = ""
    """Id of the standing permission that it rests on."""
    issued_at: Instant
    expires_at: Instant


def binding(plan: Plan, step: Step, args: Arguments, manifest: Manifest, policy_version: str) -> str:
    """sha256 over plan revision and digest, step, exact arguments with their labels, tool and policy version."""
    return ids.digest(
        {
            "plan": plan.digest(),
            "version": plan.version,
            "run": plan.run,
            "step": step.uid,
            "args": _labelled(args),
            "tool": [manifest.name, manifest.version, manifest.sha()],
            "policy": policy_version,
        }
    )


@dataclass(frozen=True, slots=True)
class Consent:
    """Who allowed it, where, and for how long. ``cause`` is the command or plan digest that it rests on."""

    level: Level
    by: str
    channel: str
    cause: str
    at: datetime
    expires_at: datetime
    permission: str = ""


def issue(plan: Plan, step: Step, args: Arguments, bound_to: str, consent: Consent) -> Grant:
    """The id comes from what was allowed and by what: the same answer never gives two grants."""
    return Grant(
        id=ids.content_hash(plan.proposal, bound_to, consent.level, consent.cause)[:32],
        proposal=plan.proposal,
        run=plan.run,
        step=step.uid,
        binding=bound_to,
        args=dict(args),
        level=consent.level,
        by=consent.by,
        channel=consent.channel,
        permission=consent.permission,
        issued_at=consent.at,
        expires_at=consent.expires_at,
    )


def differences(granted: Arguments, wanted: Arguments) -> list[dict[str, str]]:
    """What changed between two sets of arguments, for the person: one entry an argument."""
    changed = []
    for name in sorted({*granted, *wanted}):
        before, after = granted.get(name), wanted.get(name)
        if before != after:
            changed.append({"arg": name, "before": _shown(before), "after": _shown(after)})
    return changed


def _shown(value: Value | None) -> str:
    return f"{display(value.type, value.v)} ({value.integrity.value})" if value else "(none)"


def _labelled(args: Arguments) -> dict[str, object]:
    return {name: value.model_dump(mode="json") for name, value in sorted(args.items())}
