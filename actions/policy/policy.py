"""The policy: what a step may do with these very values: allow, ask again in detail, or never (laws L1, L3, L4).

The eleven rules are in ``actions/policy/rules.py``. A denial of any rule wins; else the first rule that asks decides,
and the reasons of all of them are shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal

from actions.policy.circumstances import Circumstances
from actions.policy.destination import money_in
from actions.policy.provenance import is_outside
from actions.policy.rules import LEAVES, Case, Limits, findings
from actions.run.resolve import foreseen
from actions.tools.tool import UNGRANTED, Manifest
from schemas import ids
from schemas.kept import Kept
from schemas.plan import Effect, Gate, Plan
from schemas.value import Integrity, Value

Risk = Literal["none", "low", "medium", "high"]
_RISKS: tuple[Risk, ...] = ("none", "low", "medium", "high")
_GRAVE: frozenset[Effect] = frozenset({"payment", "delete", "share", "credential"})
NOTHING_KNOWN = Circumstances()


@dataclass(frozen=True, slots=True)
class Verdict:
    """``reasons`` are lines for the person; ``risk`` is what these values make of the step; ``rule`` is the number of
    the rule that decided."""

    kind: Literal["allow", "confirm", "deny"]
    reasons: tuple[str, ...] = ()
    risk: Risk = "none"
    rule: int | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """Pure and versioned: its version is part of every grant, so a stricter policy asks again."""

    large_amount: Decimal = Decimal(500)
    limits: Limits = field(default_factory=Limits)
    revision: int = 2

    @property
    def version(self) -> str:
        return _VERSIONS.of(self)

    def judge(
        self, manifest: Manifest | None, args: Mapping[str, Value], scene: Circumstances = NOTHING_KNOWN
    ) -> Verdict:
        """Values may be foreseen (no ``v`` yet): their labels are judged all the same."""
        if manifest is None:
            return Verdict("deny", ("the tool is not installed or is switched off",), "high", 0)
        risk = self._risk(manifest, args)
        found = findings(Case(manifest, args, scene, self.limits))
        denied = [finding for finding in found if finding.kind == "deny"]
        if denied:
            return Verdict("deny", tuple(finding.reason for finding in denied), "high", denied[0].number)
        if not found:
            return Verdict("allow", (), risk)
        return Verdict("confirm", tuple(f.reason for f in found), _highest(risk, "medium"), found[0].number)

    def _risk(self, manifest: Manifest, args: Mapping[str, Value]) -> Risk:
        if manifest.effect in _GRAVE or (manifest.effect == "outbound" and self._is_large(manifest, args)):
            return "high"
        if manifest.effect == "outbound":
            return "medium"
        return "low" if manifest.effect == "write_self" else "none"

    def _is_large(self, manifest: Manifest, args: Mapping[str, Value]) -> bool:
        amounts = [money_in(value) for name, value in args.items() if manifest.role(name, value) == "amount"]
        return any(money.amount >= self.large_amount for money in amounts if money)


def gate(manifest: Manifest, verdict: Verdict) -> Gate:
    """The approval that a step needs."""
    if verdict.kind != "allow":
        return "second"
    return "none" if manifest.effect in UNGRANTED else "plan"


def highest(risks: list[Risk]) -> Risk:
    return _highest(*risks) if risks else "none"


def _highest(*risks: Risk) -> Risk:
    return max(risks, key=_RISKS.index)


def is_trifecta(plan: Plan, manifests: Callable[[str], Manifest | None]) -> bool:
    """Does the plan join private data, text from outside and a way out (rule 9)? By its labels and manifests alone."""
    known = [(step, manifest) for step in plan.steps if (manifest := manifests(step.tool))]
    values = [value for step, _ in known for value in foreseen(plan, step, manifests).values()]
    reads = [manifest for _, manifest in known if manifest.effect == "read"]
    private = any(value.readers is not None for value in values) or any(not m.permissions.get("hosts") for m in reads)
    outside = any(is_outside(value) for value in values) or any(m.integrity_out == Integrity.UNTRUSTED for m in reads)
    leaves = any(m.effect in LEAVES or m.permissions.get("hosts") for _, m in known)
    return private and outside and leaves


def _version(policy: Policy) -> str:
    return f"{policy.revision}-{ids.digest([str(policy.large_amount), str(policy.limits)])[:8]}"


_VERSIONS: Kept[Policy, str] = Kept(_version)
