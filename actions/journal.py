"""What the journal takes and gives: drafts in, sealed and chained entries out, through a port that its carrier owns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from pydantic_core import to_json

from schemas import ids
from schemas.journal import GENESIS, EntryType, JournalEntry
from schemas.model import Json

UNADDRESSED = "unaddressed"
"""The stream of refusals of commands that name no proposal we know."""
STANDING = "standing"
"""The stream of what holds for all proposals of an owner: permissions, pauses, and the stop of everything."""
EXECUTOR = "executor"
"""The actor of what a run does by itself."""


@dataclass(frozen=True, slots=True)
class Draft:
    """An entry before it has its place: the port adds owner, seq, epoch and hashes. ``at`` is the decider's now."""

    stream: str
    type: EntryType
    at: datetime
    actor: str
    cause: str = ""
    body: dict[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Tip:
    """The end of one stream: what the next entry continues."""

    seq: int = 0
    epoch: int = 0
    hash: str = GENESIS


class JournalPort(Protocol):
    async def append(self, drafts: Sequence[Draft]) -> list[JournalEntry]:
        """All of the drafts become durable, or none: one atomic write, in order.

        When it returns, the entries are durable *and* applied to the owner's Book. Raises Fenced once a newer
        generation has taken over; the caller must then stop at once and touch nothing more. Nothing is written, and
        nothing returned, for an intent once everything is stopped (``actions/policy/standing.py``).
        """
        ...

    async def position(self) -> int:
        """Where the owner's events end now: what comes later lies at this place or after it."""
        ...


def seal(drafts: Sequence[Draft], *, owner: str, epoch: int, tip: Callable[[str], Tip]) -> list[JournalEntry]:
    """The entries that continue each stream's ``tip`` (the book's), and one another."""
    tips: dict[str, Tip] = {}
    sealed = []
    for draft in drafts:
        entry = _entry(draft, owner, epoch, tips.get(draft.stream) or tip(draft.stream))
        tips[draft.stream] = Tip(entry.seq, epoch, entry.hash)
        sealed.append(entry)
    return sealed


def _entry(draft: Draft, owner: str, epoch: int, tip: Tip) -> JournalEntry:
    seq = tip.seq + 1
    told = {
        "id": ids.entry_id(draft.stream, seq),
        "owner": owner,
        "stream": draft.stream,
        "seq": seq,
        "epoch": epoch,
        "type": draft.type,
        "at": draft.at,
        "actor": draft.actor,
        "cause": draft.cause,
        "body": draft.body,
        "prev_hash": tip.hash,
    }
    entry = JournalEntry.model_validate_json(to_json(told))  # as the log will give it back; faster than the objects
    return entry.model_copy(update={"hash": entry.computed_hash()})
