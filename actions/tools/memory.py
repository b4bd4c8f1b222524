"""memory.recall and memory.remember: a plan looks up what is known of the person, and keeps a note for later.

A note becomes a memory by the journal's account of this very step (``actions/memory/lessons.py``), with the labels
its words had; until that is folded, the port keeps it so that it can be read back. Words from outside are refused by
the policy: the argument decides what is remembered, which is a command to whoever plans later (acting.md 2.2).
"""

from __future__ import annotations

from typing import Protocol

from actions.memory.lessons import TOOL, note_text
from actions.memory.remembering import memory_id
from actions.tools.tool import Arg, Args, Manifest, Receipt
from schemas.errors import StepFailed
from schemas.memory import Scope
from schemas.model import Json
from schemas.value import Integrity

MOST = 5
"""Memories that one recall gives."""
_TEN_YEARS_S = 10 * 365 * 86_400.0

RECALL = Manifest(
    name="memory.recall",
    version="1.0.0",
    description="Look up what is remembered of the owner's preferences, decisions and notes.",
    says="Look up what is remembered about {query}",
    args={"query": Arg(type="Query", says="words to look for")},
    returns={"count": "Number", "text": "Text"},
    integrity_out=Integrity.SYSTEM,
    effect="read",
    effect_class="pure",
    reversible="yes",
)
REMEMBER = Manifest(
    name=TOOL,
    version="1.0.0",
    description="Keep a note about the owner for later plans; never words from outside.",
    says="Remember: {text}",
    args={"text": Arg(type="Text", sink="command", says="what to remember, in one sentence")},
    returns={"memory": "Text"},
    integrity_out=Integrity.SYSTEM,
    minted=("memory",),
    effect="write_self",
    effect_class="keyed",
    key_ttl_s=_TEN_YEARS_S,
    look_up=True,
    settle_s=35.0,
    reversible="yes",
    permissions={"files": ("memory",)},
)


class MemoryPort(Protocol):
    async def recall(self, words: str, limit: int) -> list[str]:
        """Sentences without a word from outside, the best first."""
        ...

    async def keep(self, key: str, memory: str, text: str) -> None:
        """Once a key, for ever: a second call changes nothing."""
        ...

    async def kept(self, key: str) -> str | None:
        """The text that is kept of this key."""
        ...


class MemoryRecall:
    manifest = RECALL

    def __init__(self, port: MemoryPort) -> None:
        self._port = port

    async def call(self, args: Args, key: str) -> dict[str, Json]:
        lines = await self._port.recall(str(args["query"]), MOST)
        return {"count": len(lines), "text": "\n".join(lines)}

    async def look_up(self, args: Args, key: str) -> dict[str, Json] | None:
        return None

    async def verify(self, args: Args, key: str, result: Args) -> Receipt | None:
        return None


class MemoryRemember:
    """``forewatch memory forget`` takes it back."""

    manifest = REMEMBER

    def __init__(self, port: MemoryPort, owner: str) -> None:
        self._port = port
        self._owner = owner

    async def call(self, args: Args, key: str) -> dict[str, Json]:
        text = note_text(str(args["text"]))
        if not text:
            raise StepFailed("there is nothing to remember", code="invalid")
        await self._port.keep(key, self._memory(key), text)
        return {"memory": self._memory(key)}

    async def look_up(self, args: Args, key: str) -> dict[str, Json] | None:
        return {"memory": self._memory(key)} if await self._port.kept(key) is not None else None

    async def verify(self, args: Args, key: str, result: Args) -> Receipt | None:
        if await self._port.kept(key) != note_text(str(args["text"])):
            return None
        return Receipt(what="remembered", where=self._memory(key))

    def _memory(self, key: str) -> str:
        return memory_id(self._owner, "note", Scope(), key)
