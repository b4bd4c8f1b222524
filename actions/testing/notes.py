"""MemoryNotes: a ``MemoryPort`` over a dict, for tests; passes the same contract as the index of a home."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class MemoryNotes:
    """``says``: the sentences by what finds them; ``notes``: what plans kept, by key."""

    says: dict[str, str] = field(default_factory=dict)
    notes: dict[str, tuple[str, str]] = field(default_factory=dict)

    async def recall(self, words: str, limit: int) -> list[str]:
        wanted = words.casefold().split()
        return [line for text, line in self.says.items() if any(word in text.casefold() for word in wanted)][:limit]

    async def keep(self, key: str, memory: str, text: str) -> None:
        self.notes.setdefault(key, (memory, text))

    async def kept(self, key: str) -> str | None:
        found = self.notes.get(key)
        return found[1] if found else None
