"""Plan: a DAG of steps, each a call of a tool. Risk comes from tool manifests and policy, never from a model."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import Field

from schemas import ids
from schemas.goal import Goal
from schemas.kept import Kept
from schemas.model import Instant, Json, Model
from schemas.value import Value

Effect = Literal["read", "write_self", "notify", "wait", "outbound", "payment", "delete", "share", "credential"]
EffectClass = Literal["pure", "keyed", "reconcile", "at_most_once"]
"""What a crash between intent and result means: call again; call again with the same key; look it up; ask."""
Gate = Literal["none", "plan", "second"]
"""none: no approval needed; plan: covered by the plan's approval; second: its own confirmation at call time."""
Cause = Literal[
    "not_found", "denied", "timeout", "rate", "invalid", "conflict", "unknown", "guard", "revoked", "edited",
]  # fmt: skip
"""Why the rest of a running plan is planned anew. Our own words: what the other side said never reaches a planner."""


class Fixed(Model):
    """An argument fixed when the plan was made."""

    kind: Literal["fixed"] = "fixed"
    value: Value


class Ref(Model):
    """An argument that is a field of an earlier step's result."""

    kind: Literal["ref"] = "ref"
    step: str
    field: str


class Template(Model):
    """Text with ``{0}``, ``{1}`` ... filled from ``parts``."""

    kind: Literal["template"] = "template"
    text: str = Field(max_length=4000)
    parts: tuple[Annotated[Fixed | Ref, Field(discriminator="kind")], ...] = ()


Argument = Annotated[Fixed | Ref | Template, Field(discriminator="kind")]


Op = Literal["is", "is_not", "present", "contains", "below", "above", "at_least", "at_most"]
OPS: tuple[Op, ...] = get_args(Op)


class Guard(Model):
    """The step runs only if this holds of an earlier result; else it is skipped."""

    step: str
    field: str
    op: Op = "is"
    value: Json = None


class Repeat(Model):
    """A question that is asked again until its answer says so. ``on_end``: what the step is when it never does."""

    field: str
    op: Op = "is"
    value: Json = None
    every_s: float = Field(ge=1)
    at_most: int = Field(ge=1, le=1000)
    on_end: Literal["fail", "go_on"] = "fail"


class Retry(Model):
    max: int = Field(default=3, ge=0, le=20)
    base_s: float = 1.0
    cap_s: float = 60.0


class Undo(Model):
    """How a step is compensated: a tool call of its own, within ``window_s`` of the result."""

    tool: str
    args: dict[str, Argument] = {}
    window_s: float | None = None


class Step(Model):
    """``id`` is for display (s1, s2, ...), ``uid`` is stable for life. Effect, class, timeout, retry, gate and undo
    are copied from the tool's manifest and the policy when the plan is made."""

    uid: str
    id: str = Field(pattern=r"^s[0-9]{1,2}$")
    tool: str
    tool_version: str
    manifest: str
    """sha256 of the manifest the plan was made with."""
    args: dict[str, Argument] = {}
    depends_on: tuple[str, ...] = ()
    when: Guard | None = None
    repeat: Repeat | None = None
    """Of steps that change nothing: a polled value."""
    why: str = Field(default="", max_length=200)
    evidence: tuple[str, ...] = ()
    effect: Effect
    effect_class: EffectClass
    timeout_s: float = 30.0
    settle_s: float = 0.0
    hold_s: float = 0.0
    retry: Retry = Retry()
    gate: Gate = "plan"
    reasons: tuple[str, ...] = ()
    """Why the gate is what it is, in words for the person."""
    undo: Undo | None = None
    undoes: str = ""
    """The uid of the step that this one takes back."""
    reversible: str = "no"
    """``yes``, ``no`` or ``until <ISO instant or duration>``."""


class Plan(Model):
    """``version`` counts edits and replans from 1. ``digest()`` is what an approval binds to."""

    proposal: str
    run: str
    version: int = 1
    parent: int | None = None
    planner: str
    """``playbook:<id>@<sha>``, ``reminder``, ``model:<name>`` or ``person``."""
    policy: str
    """Version of the policy that set the gates."""
    steps: tuple[Step, ...]
    risk: Literal["none", "low", "medium", "high"] = "low"
    reasons: tuple[str, ...] = ()
    trifecta: bool = False
    """It joins private data, text from outside and a way out: each step that leaves is confirmed by itself."""
    expires_at: Instant | None = None
    goal: Goal | None = None
    """What the run is for, beside its steps: without it a run that is over says nothing of more."""

    def digest(self) -> str:
        return _DIGESTS.of(self)

    def step(self, step: str) -> Step:
        """By display id or uid; KeyError for an unknown one."""
        for found in self.steps:
            if step in (found.id, found.uid):
                return found
        raise KeyError(step)


def _digest(plan: Plan) -> str:
    """A plan without a goal has the digest that it had before plans knew goals."""
    without = {"goal"} if plan.goal is None else None
    return ids.digest_of_json(plan.__pydantic_serializer__.to_json(plan, exclude=without))


_DIGESTS: Kept[Plan, str] = Kept(_digest)
