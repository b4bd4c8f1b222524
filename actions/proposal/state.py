"""The state of one proposal and its run, as folded from its journal stream. Read it; only the fold writes it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from actions.grant import Grant
from actions.policy.experience import Experience
from schemas.model import Json
from schemas.plan import Cause, Op, Plan, Step
from schemas.trigger import Trigger
from schemas.value import Value

if TYPE_CHECKING:
    from actions.planning.rounds import Planning

Phase = Literal[
    "drafted", "needs_input", "offered", "snoozed", "rejected", "expired", "retracted",
    "running", "stopping", "undoing", "stopped", "done", "failed",
]  # fmt: skip
"""Approval and the start of the run are one entry's work, so there is no phase between them."""
OPEN: frozenset[Phase] = frozenset({"drafted", "needs_input", "offered", "snoozed"})
"""Waiting for the person: may still be answered, refreshed, retracted or expire."""
ACTIVE: frozenset[Phase] = frozenset({"running", "stopping", "undoing"})
"""The executor has work with it."""

StepPhase = Literal[
    "pending", "held", "gated", "sent", "unknown", "asked", "returned", "waiting", "ok", "unverified", "failed",
    "skipped",
]  # fmt: skip
"""sent: an intent without a result; unknown: a result that nobody can tell; returned: the tool says ok, unseen yet."""
FINAL: frozenset[StepPhase] = frozenset({"ok", "unverified", "failed", "skipped"})
IN_DOUBT: frozenset[StepPhase] = frozenset({"sent", "unknown", "asked"})
DEATHS = 20
"""A step at which our process has died this often may be what kills it: from then on each death counts as a try."""


@dataclass(slots=True)
class GrantState:
    grant: Grant
    used_by: str = ""
    """Id of the first intent that spent it; later attempts of that very call go on under it."""
    revoked: str = ""


@dataclass(slots=True)
class GateState:
    """A step that waits for its own confirmation. ``digest`` is the binding that a confirm must name."""

    digest: str
    args: dict[str, Value]
    reasons: tuple[str, ...]
    diff: list[dict[str, str]]
    at: datetime
    expired_at: datetime | None = None
    """When the approval that the person had given was good no longer, if that is why it is asked."""


@dataclass(slots=True)
class LookState:
    """The newest look-up of the newest attempt."""

    attempt: int
    at: datetime
    found: bool = False
    out: dict[str, Json] = field(default_factory=dict)
    error: str = ""
    failures: int = 0
    retry_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Trait:
    """One thing that an event must have: a field, a comparison, a value."""

    field: str
    op: Op
    value: Json


@dataclass(frozen=True, slots=True)
class Awaits:
    """The event that a step waits for. ``cursor``: where among the owner's events it may lie at the earliest."""

    kind: str
    tests: tuple[Trait, ...]
    cursor: int | None
    on_timeout: str


@dataclass(slots=True)
class StepState:
    uid: str
    phase: StepPhase = "pending"
    attempts: int = 0
    deaths: int = 0
    """Of these attempts, those that ended with our own process, so that nobody heard the answer."""
    key: str = ""
    args: dict[str, Value] = field(default_factory=dict)
    """The arguments of the newest intent."""
    binding: str = ""
    grant: str = ""
    doubt: bool = False
    """An attempt before the newest one was never resolved."""
    first_sent: datetime | None = None
    """Of the newest attempt and the unresolved ones before it."""
    last_sent: datetime | None = None
    retry_at: datetime | None = None
    wake: datetime | None = None
    """When a wait or a hold ends."""
    deferred: datetime | None = None
    """It waits because its destination (``place``) does not answer; told once for each pause."""
    place: str = ""
    cursor: int | None = None
    """Where the owner's events ended when it was first sent, if anything after it waits for an event."""
    awaits: Awaits | None = None
    rounds: int = 0
    """Answers of a repeated question that did not say what was waited for."""
    gate: GateState | None = None
    kept: tuple[str, ...] = ()
    """Identifiers from outside that the person chose to leave in what is sent, in canonical spelling."""
    look: LookState | None = None
    checks: int = 0
    """Times that the verifier did not see the effect."""
    question: str = ""
    """Digest of the question that the person was asked."""
    asked: str = ""
    out: dict[str, Value] = field(default_factory=dict)
    done_at: datetime | None = None
    """When it was known to be done."""
    receipt: dict[str, Json] = field(default_factory=dict)
    code: str = ""
    message: str = ""
    via: str = ""

    @property
    def tries(self) -> int:
        """Attempts that the step has to answer for, while none is under way: a power cut is no fault of a step's."""
        return self.attempts - min(self.deaths + (self.phase == "sent"), DEATHS)


@dataclass(slots=True)
class Revision:
    """A newer version of a running plan that the person has to approve first; ``reasons`` say why it must be asked."""

    version: int
    cause: Cause
    reasons: tuple[str, ...]
    diff: list[dict[str, str]]
    at: datetime


@dataclass(slots=True)
class Question:
    """A fact that the plan needs and nobody gave: ``found`` is a value that is not trusted enough to use unasked."""

    slot: str
    type: str
    text: str
    found: Value | None = None


@dataclass(slots=True)
class Answered:
    """The answer that closed the question of approval: who, where and when."""

    verb: str
    who: str
    channel: str
    at: datetime


@dataclass(slots=True)
class Reason:
    """Why a proposal is there: the newest trigger of one rule and key. ``ended_at``: when it was withdrawn."""

    trigger: Trigger
    since: datetime
    expires_at: datetime | None = None
    ended_at: datetime | None = None
    code: str = ""
    """Why it was withdrawn: of the retraction, or expired, joined (another proposal tells it), parted."""
    says: str = ""


@dataclass(slots=True)
class ProposalState:
    id: str
    owner: str
    trigger: Trigger
    phase: Phase = "drafted"
    triggers: set[str] = field(default_factory=set)
    """Every trigger that this proposal stands or stood for; ``trigger`` is the one that leads."""
    reasons: dict[tuple[str, str], Reason] = field(default_factory=dict)
    """By rule and key, those that were withdrawn included."""
    matter: str | None = None
    plan: Plan | None = None
    version: int = 0
    """Of the newest plan there ever was."""
    slots: dict[str, Value] = field(default_factory=dict)
    """Values that the person gave for the playbook's slots."""
    questions: list[Question] = field(default_factory=list)
    surface: Literal["now", "digest"] = "digest"
    surface_reason: str = ""
    offered_at: datetime | None = None
    snoozed_until: datetime | None = None
    acknowledged: Literal["", "clears", "changes"] = ""
    """Snoozed without a time: until the situation is over, or until its facts are others."""
    priority: dict[str, Json] = field(default_factory=dict)
    """Of the newest surfacing: urgency, value, certainty and their product, the score."""
    expires_at: datetime | None = None
    answered: Answered | None = None
    approval: str = ""
    """Digest of the plan that was approved, as long as that approval stands."""
    grants: dict[str, GrantState] = field(default_factory=dict)
    steps: dict[str, StepState] = field(default_factory=dict)
    """By uid: those of the plan, and those that a revision has taken out of it."""
    dropped: dict[str, Step] = field(default_factory=dict)
    """Steps that a revision has taken out, failed ones too; an intent that crossed it is still looked after."""
    revision: Revision | None = None
    """What must be approved before anything new begins."""
    retries: int = 0
    """Calls that were tried again (not to clear up a doubt), less those that went well since."""
    revised: int = 0
    """Times that the plan was revised without a person."""
    stuck: set[str] = field(default_factory=set)
    """Steps whose end leads nowhere else: no other way was found."""
    reason: str = ""
    """Why it ended, as a code; ``says`` is the line for the person."""
    says: str = ""
    stop_reason: str = ""
    paused_at: datetime | None = None
    undo: str = ""
    """Id of the command that asked for what was done to be undone, until it is."""
    undo_by: Answered | None = None
    left: list[dict[str, Json]] = field(default_factory=list)
    """What was done and stays, with the reasons: {step, id, why}."""

    unseen: list[str] = field(default_factory=list)
    """Steps that ended ``unverified``."""
    created_at: datetime | None = None
    updated_at: datetime | None = None
    seq: int = 0
    planning: Planning | None = None
    """A model is asked for a plan; meanwhile there is nothing to answer."""
    experience: Experience = field(default_factory=Experience, repr=False, compare=False)
    """The owner's, shared by all proposals of a book."""

    @property
    def about(self) -> str:
        """The name of whom it is about, as the rule found it; empty if it found none."""
        found = self.trigger.values.get("party.name")
        return str(found.v) if found is not None and found.v else ""

    @property
    def key(self) -> tuple[str, str]:
        return self.trigger.rule, self.trigger.key

    @property
    def title(self) -> str:
        return self.trigger.title

    @property
    def digest(self) -> str:
        return self.plan.digest() if self.plan else ""

    @property
    def ended(self) -> int:
        """How many steps of the plan have come to an end, whichever."""
        return sum(self.steps[step.uid].phase in FINAL for step in self.plan.steps) if self.plan else 0

    def standing(self) -> list[Reason]:
        """The reasons that were not withdrawn, the first ones first."""
        return [reason for reason in self.reasons.values() if reason.ended_at is None]

    def told(self, trigger: Trigger) -> Trigger:
        """What the proposal knows of the same rule and key."""
        reason = self.reasons.get((trigger.rule, trigger.key))
        return reason.trigger if reason else self.trigger

    def planned(self, uid: str) -> Step | None:
        """The step of this uid, in the plan or taken out of it by a revision."""
        steps = self.plan.steps if self.plan else ()
        return next((step for step in steps if step.uid == uid), None) or self.dropped.get(uid)

    def step(self, step: str) -> StepState:
        """By uid or display id; raises KeyError for an unknown one."""
        if step in self.steps:
            return self.steps[step]
        if self.plan is None:
            raise KeyError(step)
        uid = next((s.uid for s in self.plan.steps if s.id == step), step)
        return self.steps[uid]
