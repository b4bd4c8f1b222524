"""RuleState: everything the engine remembers of one owner, as small JSON entries with dirty tracking."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from heapq import heapify, heappop, heappush

from schemas.model import Json

TIMER = "timer/"
"""Entries under this prefix are ``{"due": ISO instant, ...}`` and are found by ``due``."""


class RuleState:
    """A mapping of names to JSON. Values are replaced, never changed in place.

    The engine is its only writer. Loading what ``take_changes`` gave, in order, gives an equal state.
    """

    def __init__(self) -> None:
        self._entries: dict[str, Json] = {}
        self._dirty: dict[str, None] = {}
        self._timers: list[tuple[datetime, str]] = []
        self.index: object | None = None
        """What the engine derives from the entries to find them quickly; None after a load."""

    def get(self, name: str) -> Json | None:
        return self._entries.get(name)

    def put(self, name: str, value: Json) -> None:
        self._entries[name] = value
        self._dirty[name] = None
        if name.startswith(TIMER):
            heappush(self._timers, (_due(value), name))

    def delete(self, name: str) -> None:
        if self._entries.pop(name, None) is not None:
            self._dirty[name] = None

    def items(self, prefix: str = "") -> Iterator[tuple[str, Json]]:
        """The entries whose name starts so, by name."""
        for name in sorted(name for name in self._entries if name.startswith(prefix)):
            yield name, self._entries[name]

    def take_changes(self) -> dict[str, Json | None]:
        """What changed since the last call; None: the entry is gone. Names come in a stable order."""
        changes = {name: self._entries.get(name) for name in sorted(self._dirty)}
        self._dirty.clear()
        return changes

    def load(self, entries: Mapping[str, Json | None]) -> None:
        """Take entries in from outside (a None removes); nothing of it counts as a change."""
        for name, value in entries.items():
            if value is None:
                self._entries.pop(name, None)
            else:
                self._entries[name] = value
        self._timers = [(_due(value), name) for name, value in self._entries.items() if name.startswith(TIMER)]
        heapify(self._timers)
        self.index = None

    def next_timer(self) -> datetime | None:
        """When the earliest timer is due."""
        self._drop_stale()
        return self._timers[0][0] if self._timers else None

    def due_timers(self, now: datetime) -> list[tuple[datetime, str]]:
        """The timers that are due, earliest first, then by name; they stay until they are deleted."""
        due: list[tuple[datetime, str]] = []
        while (first := self.next_timer()) is not None and first <= now:
            item = heappop(self._timers)
            if not due or due[-1] != item:
                due.append(item)
        for item in due:
            heappush(self._timers, item)
        return due

    def __len__(self) -> int:
        return len(self._entries)

    def _drop_stale(self) -> None:
        """A timer that was deleted or moved leaves its old place in the heap behind."""
        while self._timers:
            due, name = self._timers[0]
            value = self._entries.get(name)
            if value is not None and _due(value) == due:
                return
            heappop(self._timers)


def _due(value: Json) -> datetime:
    return datetime.fromisoformat(value["due"])  # type: ignore[index,arg-type,call-overload]  # by TIMER's contract
