"""Wakes: when which run is to be looked at next; cheap however many runs wait."""

from __future__ import annotations

import heapq
from datetime import datetime
from typing import NamedTuple


class Place(NamedTuple):
    """Where a run lives: its partition, its owner, its proposal."""

    partition: int
    owner: str
    proposal: str


class Wakes:
    """A heap with lazy removal: an instant that a later ``set`` has replaced is passed over."""

    def __init__(self) -> None:
        self._at: dict[Place, datetime] = {}
        self._heap: list[tuple[datetime, Place]] = []

    def set(self, place: Place, at: datetime | None) -> None:
        """Look at the run then; None: not before something happens to it."""
        if at is None:
            self._at.pop(place, None)
            return
        if self._at.get(place) != at:
            self._at[place] = at
            heapq.heappush(self._heap, (at, place))

    def sooner(self, place: Place, at: datetime | None) -> None:
        """Keeps what was set meanwhile, if that is earlier."""
        known = self._at.get(place)
        if at is not None and (known is None or at < known):
            self.set(place, at)

    def next(self) -> datetime | None:
        while self._heap and self._at.get(self._heap[0][1]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def due(self, now: datetime, limit: int) -> list[Place]:
        """The first ones whose time has come; they are not due any more."""
        found: list[Place] = []
        while len(found) < limit and (at := self.next()) is not None and at <= now:
            place = heapq.heappop(self._heap)[1]
            del self._at[place]
            found.append(place)
        return found

    def forget(self, partition: int) -> None:
        self._at = {place: at for place, at in self._at.items() if place.partition != partition}
