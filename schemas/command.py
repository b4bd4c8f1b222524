"""Command: a person's answer, with the hash of what they saw when they answered."""

from __future__ import annotations

from typing import Literal

from schemas.model import Instant, Json, Model

Verb = Literal[
    "approve", "edit", "reject", "snooze", "never", "answer", "confirm", "stop", "endorse", "wrong",
    "pause", "resume", "abort", "retry",
    "remember", "keep", "correct", "forget",
    "stop_everything", "resume_everything", "allow", "revoke",
    "do",
]  # fmt: skip
"""The third line is told to the memory: ``proposal`` is then the word ``memory``; the fourth holds for all proposals:
``proposal`` is then the word ``standing``; the last is a goal of the person's own: ``proposal`` is then ``goal``."""


class Command(Model):
    """``digest`` is what the person saw: the plan's for approve and edit, the gate's for confirm, the question's for
    an answer about a step.

    ``args``: edit {"step", "args": {name: value}}; snooze {"until"}, an instant, "clears" or "changes";
    reject {"reason"}; never {"reason", "scope"}, the scope "key" (this matter), "entity" (this other side) or "rule";
    confirm {"step"}; answer {"step", "happened", "out"} to a question about an unknown outcome, or answer {"slots":
    {name: value}} to a proposal that needs input; stop {"reason"}; pause {"reason"}; abort
    {"undo", "reason"}; retry {"step"}; remember {"text", "rule", "entity", "events"};
    keep {"memory"}; do {"goal", "by", "another"}, a day or nothing, and whether a second proposal for the same words is
    wanted; correct {"memory", "text" or "value"}; forget {"memory"};
    endorse {"step", "identifiers"}: what was taken out of a gated step's text stays in, and it asks again;
    wrong {"step", "reason"}: what a step did was not right, so what it rested on is lost; stop_everything {"reason"};
    allow {"tool", "to", "cap", "cap_period", "times", "period", "expires_at"}; revoke {"id"}.
    """

    id: str
    owner: str
    who: str
    channel: str
    verb: Verb
    proposal: str
    digest: str = ""
    args: dict[str, Json] = {}
    at: Instant
