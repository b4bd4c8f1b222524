"""Goal: what a plan is for, and what must be seen for it to count as reached. A plan that is over has not reached its
goal because its steps are done: a letter that was sent renews nothing."""

from __future__ import annotations

from typing import Literal

from schemas.model import Json, Model

GoalName = Literal["bill-paid", "document-renewed", "reply-sent", "refund-received", "contract-ended"]


class Proof(Model):
    """A step that ended ``ok`` and shows the goal: a call of one of ``tools``, with these fixed ``args``.

    ``field`` of its result equals ``value``, or holds a word of ``any_of`` and none of ``none_of`` (case does not
    count). ``signed``: it ran under a confirmation of the person's for exactly this step.
    """

    tools: tuple[str, ...]
    args: dict[str, str] = {}
    field: str = ""
    value: Json = None
    any_of: tuple[str, ...] = ()
    none_of: tuple[str, ...] = ()
    signed: bool = False


class Goal(Model):
    """``says`` and ``by`` complete "not proven that ... (by ...)". One proof is enough."""

    name: GoalName
    says: str
    by: str
    proofs: tuple[Proof, ...]
