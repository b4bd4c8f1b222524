"""The policy: what a step may do with these very values: allow, ask again in detail, or never (laws L1, L3, L4).

The rules of acting.md 2.2 that this release's tools can meet, judged on resolved, labelled values:
 0 the tool is there and switched on (a changed manifest changes the grant's binding, so it asks again)
 1 the grant's binding equals the arguments (``actions/moves.py``, which asks again with the difference)
 2 a command, a path with folders, or an identity from outside text: never
 3 a destination, amount, URL, target or file name from outside text: confirm, with where it came from
 5 outside text sent to somebody else: confirm after a preview
 6 text that its readers may not share: confirm; secrets: never
 7 a question that leaves the house and carries outside or private words: confirm
 8 payment, deletion, sending, sharing, credentials: a second confirmation
 9 no batch approval for an egress: follows from 8, as no standing rules exist yet
Rule 4 (same-origin ids) and 10 (rates) wait for the tools that need them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from actions.nominal import Sink, display
from actions.plain import clean
from actions.tools.tool import SELF_EFFECTS, UNGRANTED, Arg, Manifest
from schemas import ids
from schemas.money import Money
from schemas.plan import Effect, Gate
from schemas.value import Integrity, Value

Risk = Literal["none", "low", "medium", "high"]
_RISKS: tuple[Risk, ...] = ("none", "low", "medium", "high")
_STRICT: frozenset[Effect] = frozenset({"outbound", "payment", "delete", "share", "credential"})
_GRAVE: frozenset[Effect] = frozenset({"payment", "delete", "share", "credential"})
_STEP_UP: frozenset[Sink] = frozenset({"destination", "amount", "url", "target", "path"})
_NAMES: dict[str, str] = {
    "Email": "mail address", "Iban": "account number", "Money": "amount", "Url": "web address",
    "FileName": "file name", "FilePath": "file path", "MessageId": "message", "EventId": "appointment",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Verdict:
    """``reasons`` are lines for the person; ``risk`` is what these values make of the step."""

    kind: Literal["allow", "confirm", "deny"]
    reasons: tuple[str, ...] = ()
    risk: Risk = "none"


@dataclass(frozen=True, slots=True)
class Policy:
    """Pure and versioned: its version is part of every grant, so a stricter policy asks again."""

    large_amount: Decimal = Decimal(500)
    revision: int = 1

    @property
    def version(self) -> str:
        return f"{self.revision}-{ids.digest(str(self.large_amount))[:8]}"

    def judge(self, manifest: Manifest | None, args: Mapping[str, Value]) -> Verdict:
        """Values may be foreseen (no ``v`` yet): their labels are judged all the same."""
        if manifest is None:
            return Verdict("deny", ("the tool is not installed or is switched off",), "high")
        risk = self._risk(manifest, args)
        denied = _denials(manifest, args)
        if denied:
            return Verdict("deny", tuple(denied), "high")
        reasons = [*_step_ups(manifest, args), *_egress(manifest, args)]
        if not reasons:
            return Verdict("allow", (), risk)
        return Verdict("confirm", tuple(reasons), _highest(risk, "medium"))

    def _risk(self, manifest: Manifest, args: Mapping[str, Value]) -> Risk:
        if manifest.effect in _GRAVE or (manifest.effect == "outbound" and self._is_large(manifest, args)):
            return "high"
        if manifest.effect == "outbound":
            return "medium"
        return "low" if manifest.effect == "write_self" else "none"

    def _is_large(self, manifest: Manifest, args: Mapping[str, Value]) -> bool:
        amounts = [v.v for name, v in args.items() if _role(manifest, name, v) == "amount" and v.v is not None]
        return any(abs(Money.model_validate(amount).amount) >= self.large_amount for amount in amounts)


def gate(manifest: Manifest, verdict: Verdict) -> Gate:
    """The approval that a step needs."""
    if verdict.kind != "allow":
        return "second"
    return "none" if manifest.effect in UNGRANTED else "plan"


def highest(risks: list[Risk]) -> Risk:
    return _highest(*risks) if risks else "none"


def _highest(*risks: Risk) -> Risk:
    return max(risks, key=_RISKS.index)


def _role(manifest: Manifest, name: str, value: Value) -> Sink:
    arg = manifest.arg(name) or Arg(type=value.type)
    return arg.role


def _is_outside(value: Value) -> bool:
    return value.integrity == Integrity.UNTRUSTED and value.how != "endorsed"


def _denials(manifest: Manifest, args: Mapping[str, Value]) -> list[str]:
    found = []
    for name, value in args.items():
        role = _role(manifest, name, value)
        if role in ("command", "identity") or (role == "path" and value.type != "FileName"):
            if _is_outside(value):
                found.append(f"{name} decides what is run or touched, and {_origin(value)}")
        elif value.readers == () and manifest.effect not in SELF_EFFECTS:
            found.append(f"{name} is a secret and would leave this machine")
    return found


def _step_ups(manifest: Manifest, args: Mapping[str, Value]) -> list[str]:
    """Rule 3; a grave or outward effect is strict for its content too (rule 5)."""
    found = []
    for name, value in args.items():
        role = _role(manifest, name, value)
        if not _is_outside(value):
            continue
        if role in _STEP_UP:
            found.append(f"the {_NAMES.get(value.type, name)} {_quoted(value)} {_origin(value)}")
        elif role == "content" and manifest.effect in _STRICT:
            found.append(f"{name} contains text from outside and would leave this machine")
        elif role == "query" and manifest.permissions.get("hosts"):
            found.append(f"{name} contains text from outside and would be sent to {manifest.permissions['hosts'][0]}")
    return found


def _egress(manifest: Manifest, args: Mapping[str, Value]) -> list[str]:
    if manifest.effect not in _STRICT:
        return []
    found = [f"this is a {manifest.effect} and needs its own confirmation"]
    to = {str(v.v) for name, v in args.items() if _role(manifest, name, v) == "destination"}
    for name, value in args.items():
        if value.readers is not None and not to <= set(value.readers):
            found.append(f"{name} was not meant for {', '.join(sorted(to)) or 'others'}")
    return found


def _quoted(value: Value) -> str:
    return f"“{clean(display(value.type, value.v), 80)}”" if value.v is not None else "(known only later)"


def _origin(value: Value) -> str:
    """Where an untrusted value came from, with the words around it."""
    where = f" ({clean(value.sources[0], 60)})" if value.sources else ""
    if value.span:
        return f"comes from outside text{where}: “{clean(value.span.quote, 120)}”"
    return f"comes from outside text{where}"
