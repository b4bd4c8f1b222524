"""RuleState: everything the engine remembers of one owner, as small JSON entries with dirty tracking.

Learned values are by far the most of it, and are kept as rows (rules/columns.py), which nobody outside can see.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from datetime import datetime
from heapq import heapify, heappop, heappush

from rules.columns import Columns
from schemas.model import Json

TIMER = "timer/"
"""Entries under this prefix are ``{"due": ISO instant, ...}`` and are found by ``due``."""

ROWS = "base/"
"""Entries ``base/RULE/KEY``, a key in 32 hexadecimal digits, whose value is a text of ``Columns``, are kept as rows."""

_KEY = 16


class RuleState:
    """A mapping of names to JSON. Values are replaced, never changed in place.

    The engine is its only writer. Loading what ``take_changes`` gave, in order, gives an equal state.
    """

    def __init__(self) -> None:
        self._entries: dict[str, Json] = {}
        self._rows: dict[str, Columns] = {}
        """By rule; what is here is not among ``_entries``."""
        self._dirty: dict[str, None] = {}
        self._timers: list[tuple[datetime, str]] = []
        self.index: object | None = None
        """What the engine derives from the entries to find them quickly; None after a load."""

    def get(self, name: str) -> Json | None:
        found = self._entries.get(name)
        return self._row(name) if found is None and name.startswith(ROWS) else found

    def put(self, name: str, value: Json) -> None:
        self._keep(name, value)
        self._dirty[name] = None
        if name.startswith(TIMER):
            heappush(self._timers, (_due(value), name))

    def delete(self, name: str) -> None:
        if self._drop(name):
            self._dirty[name] = None

    def learn(self, rule: str, key: bytes, day: int, value: float) -> array[float]:
        """Adds a value to the entry ``base/RULE/KEY``, and gives those that were known before it, oldest first."""
        columns = self._rows.get(rule)
        if columns is None:
            columns = self._rows[rule] = Columns()
        earlier = columns.learn(key, day, value)
        if not earlier:
            self._entries.pop(f"{ROWS}{rule}/{key.hex()}", None)
        return earlier

    def items(self, prefix: str = "") -> Iterator[tuple[str, Json]]:
        """The entries whose name starts so, by name."""
        found = {name: value for name, value in self._entries.items() if name.startswith(prefix)}
        if ROWS.startswith(prefix) or prefix.startswith(ROWS):
            found |= {name: text for name, text in self._texts() if name.startswith(prefix)}
        for name in sorted(found):
            yield name, found[name]

    def take_changes(self) -> dict[str, Json | None]:
        """What changed since the last call; None: the entry is gone. Names come in a stable order."""
        learned = {
            f"{ROWS}{rule}/{key.hex()}": text
            for rule, columns in self._rows.items()
            for key, text in columns.take_learned()
        }
        changes = {name: learned.get(name) or self.get(name) for name in sorted(self._dirty.keys() | learned.keys())}
        self._dirty.clear()
        return changes

    def load(self, entries: Mapping[str, Json | None]) -> None:
        """Take entries in from outside (a None removes); nothing of it counts as a change."""
        for name in sorted(entries):  # rows that come in order are put at the end
            value = entries[name]
            if value is None:
                self._drop(name)
            else:
                self._keep(name, value)
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
        return len(self._entries) + sum(map(len, self._rows.values()))

    def _keep(self, name: str, value: Json) -> None:
        place = _place(name)
        if place is not None:
            rule, key = place
            columns = self._rows.setdefault(rule, Columns())
            if isinstance(value, str) and columns.put(key, value):
                self._entries.pop(name, None)
                return
            columns.delete(key)
        self._entries[name] = value

    def _drop(self, name: str) -> bool:
        """Whether there was such an entry."""
        if self._entries.pop(name, None) is not None:
            return True
        place = _place(name)
        return place is not None and place[0] in self._rows and self._rows[place[0]].delete(place[1])

    def _row(self, name: str) -> str | None:
        place = _place(name)
        return self._rows[place[0]].get(place[1]) if place is not None and place[0] in self._rows else None

    def _texts(self) -> Iterator[tuple[str, Json]]:
        for rule, columns in self._rows.items():
            for key, text in columns.items():
                yield f"{ROWS}{rule}/{key.hex()}", text

    def _drop_stale(self) -> None:
        """A timer that was deleted or moved leaves its old place in the heap behind."""
        while self._timers:
            due, name = self._timers[0]
            value = self._entries.get(name)
            if value is not None and _due(value) == due:
                return
            heappop(self._timers)


def _place(name: str) -> tuple[str, bytes] | None:
    """Rule and key of an entry that may be a row."""
    if not name.startswith(ROWS):
        return None
    rule, _, digest = name.removeprefix(ROWS).partition("/")
    try:
        key = bytes.fromhex(digest)
    except ValueError:
        return None
    return (rule, key) if len(key) == _KEY and key.hex() == digest else None


def _due(value: Json) -> datetime:
    return datetime.fromisoformat(value["due"])  # type: ignore[index,arg-type,call-overload]  # by TIMER's contract
