"""Command: a person's answer, with the hash of what they saw when they answered."""

from __future__ import annotations

from typing import Literal

from schemas.model import Instant, Json, Model

Verb = Literal["approve", "edit", "reject", "snooze", "never", "answer", "confirm", "stop"]


class Command(Model):
    """``digest`` is what the person saw: the plan's for approve and edit, the gate's for confirm, the question's for
    an answer about a step.

    ``args``: edit {"step", "args": {name: value}}; snooze {"until"}, an instant, "clears" or "changes";
    reject {"reason"}; never {"reason"}; confirm {"step"}; answer {"step", "happened", "out"} to a question about an
    unknown outcome, or answer {"slots": {name: value}} to a proposal that needs input; stop {"reason"}.
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
