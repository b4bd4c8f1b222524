"""Trigger, Retraction, Suppression and Merge: what rules say, each with its reason (laws L5, L7)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from schemas.event import Trust
from schemas.fact import Span
from schemas.goal import GoalName
from schemas.model import Instant, Json, Model
from schemas.value import Value

Urgency = Literal["low", "normal", "high", "critical"]

Reason = Literal[
    # fired
    "matched", "lead_reached", "absent", "anomalous", "overlapping", "unreachable", "changed", "new_value", "crossed",
    "fell_silent", "followed", "reached", "spiked", "dropped",
    # suppressed
    "unless", "cooldown", "missed_skip", "missed_collapsed", "stale", "settled", "already_open",
    "inhibited", "too_many",
    # retracted, beside unless
    "resolved", "cancelled", "moved", "removed", "paid", "joined", "rule_changed", "rule_removed",
    # scheduled
    "scheduled", "pending", "grouped", "quiet",
    # skipped: the rule matched, and there was nothing to say
    "no_date", "no_value", "no_history", "irregular", "usual", "below_floor", "not_timed", "unchanged", "outdated",
    "not_reached", "too_late",
    "other_direction", "known_value", "not_crossed",
    # matters: joined or parted by a key that things share, by likeness, by the person's word, or otherwise grouped anew
    "same_matter", "similar", "told", "regrouped",
    # not matched
    "kind_differs", "match_false", "where_false", "missing_field", "withdrawn", "disabled",
]  # fmt: skip
"""Why a rule did what it did. Stable words, since statistics rely on them; docs/reference/rules.md explains each."""


class Evidence(Model):
    """One source behind a trigger; ``quote`` is plain text from the source."""

    event: str
    account: str = ""
    kind: str
    title: str = Field(default="", max_length=500)
    occurred_at: Instant
    trust: Trust = "outside"
    quote: str = Field(default="", max_length=300)
    span: Span | None = None


class ConditionValue(Model):
    """One condition as it was evaluated: the expression, what it read, what it wanted."""

    condition: str
    value: Json = None
    wanted: Json = None
    holds: bool


class Explanation(Model):
    """Why a rule did what it did with an event (or a timer)."""

    rule: str
    revision: str
    event: str = ""
    key: str = ""
    outcome: Literal["fired", "suppressed", "retracted", "scheduled", "not_matched", "skipped", "merged", "parted"]
    reason: Reason
    values: tuple[ConditionValue, ...] = ()
    nearest: str = ""
    """The nearest change that would have fired it, in words."""
    at: Instant


class Trigger(Model):
    """A rule that fired for a key. ``title`` and ``goal`` are rendered from the rule's own words and typed values."""

    type: Literal["trigger"] = "trigger"
    id: str
    owner: str
    rule: str
    revision: str
    key: str
    occurrence: str
    matter: str | None = None
    wide: str | None = None
    """The matter with what is only similar, where that has another name: what is shown together."""
    fired_at: Instant
    title: str = Field(max_length=300)
    goal: str = Field(default="", max_length=500)
    asks: str = Field(default="", max_length=500)
    """The goal as the rule's author wrote it, its places not filled in: what a model may be told of it."""
    urgency: Urgency = "normal"
    certainty: float = Field(default=1.0, ge=0, le=1)
    playbook: str | None = None
    reaches: GoalName | None = None
    """What must be seen at the end, where the rule says so itself; else the playbook says."""
    deadline_at: Instant | None = None
    expires_at: Instant | None = None
    evidence: tuple[Evidence, ...] = ()
    values: dict[str, Value] = {}
    """Typed values for the plan, by dotted name: ``fact.due``, ``fact.invoice.amount``, ``party.name``, ``title``."""
    explanation: Explanation
    late: bool = False
    """The timer was missed (we were stopped) and the rule says to fire once all the same."""
    shadow: bool = False
    """Of a rule on trial: kept, and never proposed."""
    follows: str | None = None
    """The earlier trigger of this key that still stands: the same situation, now more urgent or changed again."""


class Retraction(Model):
    """The withdrawal of a trigger: paid, cancelled, moved, resolved at the source."""

    type: Literal["retraction"] = "retraction"
    id: str
    owner: str
    trigger: str
    rule: str
    key: str
    matter: str | None = None
    at: Instant
    reason: Reason
    """unless, resolved, cancelled, moved, removed, paid (the matter was), joined (another trigger tells it),
    rule_changed or rule_removed."""
    says: str = Field(default="", max_length=300)
    """One line for the person."""
    evidence: tuple[Evidence, ...] = ()


class Suppression(Model):
    """A firing that did not happen, and why; kept so that "why did you not tell me" has an answer."""

    type: Literal["suppression"] = "suppression"
    id: str
    owner: str
    rule: str
    key: str
    at: Instant
    explanation: Explanation


class Merge(Model):
    """Two matters are one, or (``undone``) no longer; ``explanation`` says by what, each likeness with its weight."""

    type: Literal["merge"] = "merge"
    id: str
    owner: str
    matter: str
    """The name under which it goes on."""
    other: str
    """The name of what joined it, or left it."""
    members: tuple[str, ...] = ()
    """The matters that ``other`` held, guesses left out."""
    undone: bool = False
    score: float = Field(default=1.0, ge=0, le=1)
    """1 for what is no guess."""
    at: Instant
    events: tuple[str, ...] = ()
    explanation: Explanation


Signal = Annotated[Trigger | Retraction | Suppression | Merge, Field(discriminator="type")]
"""What the topic ``triggers`` carries."""
SIGNALS: TypeAdapter[Signal] = TypeAdapter(Signal)
