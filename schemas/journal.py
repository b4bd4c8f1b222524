"""JournalEntry: the append-only, hash-chained account of every proposal and its run.

One stream per proposal: its run's entries follow its own. ``seq`` counts from 1 in the stream; ``hash`` covers the
entry and ``prev_hash``, so an edited, dropped or reordered entry is found by ``forewatch audit verify``.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from schemas import ids
from schemas.model import Instant, Json, Model

EntryType = Literal[
    "proposal.drafted", "proposal.offered", "proposal.refreshed", "proposal.edited", "proposal.snoozed",
    "proposal.joined", "proposal.reduced", "proposal.rematched",
    "proposal.woken", "proposal.rejected", "proposal.expired", "proposal.retracted", "proposal.needs_input",
    "grant.issued", "grant.revoked", "command.refused",
    "run.started", "run.paused", "run.resumed", "run.stopping", "run.undoing", "run.stopped", "run.done",
    "run.failed",
    "plan.revised", "plan.accepted", "plan.stuck",
    "step.gated", "step.confirmed", "step.released", "step.held", "step.intent", "step.result", "step.lookup",
    "step.verified", "step.skipped", "step.deferred", "breaker.opened", "breaker.closed",
    "human.asked", "human.answered", "wait.started", "wait.fired",
    "memory.noted", "memory.kept", "memory.corrected", "memory.forgotten",
    "value.endorsed", "step.wrong", "permission.allowed", "permission.revoked", "acting.stopped", "acting.resumed",
    "autonomy.granted",
    "proposal.planning", "model.asked", "model.answered", "model.failed",
    "epoch.claimed", "note", "erased",
]  # fmt: skip
"""``erased`` stands where an entry was whose content the person had erased: it keeps the place, the time and the hash.
``plan.revised`` puts another rest of the plan in force, ``plan.accepted`` is the person's approval of one that needs
it, ``plan.stuck`` says that there is no other way on. ``step.released``: it waited for a confirmation, and need not any
more, for the person has allowed it ahead meanwhile. A grant is used by the ``step.intent`` that names it: one entry,
so that no crash can part the two."""

GENESIS = "0" * 64


class JournalEntry(Model):
    id: str
    owner: str
    stream: str
    """The proposal's id."""
    seq: int = Field(ge=1)
    epoch: int = Field(ge=0)
    """Which process generation wrote it; an entry of an older epoch after a newer one is fenced off."""
    type: EntryType
    at: Instant
    actor: str
    """``rule:<id>``, ``person:<who>``, ``executor``, ``clock``."""
    cause: str = ""
    """Id of the trigger, retraction, command or entry that led to it."""
    body: dict[str, Json] = {}
    prev_hash: str = GENESIS
    hash: str = ""

    def computed_hash(self) -> str:
        """sha256 over every other field, ``prev_hash`` included."""
        return ids.digest_of_json(self.__pydantic_serializer__.to_json(self, exclude={"hash"}))
