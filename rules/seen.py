"""Which events were taken in already, so that a second delivery changes nothing (law L2)."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from rules.state import RuleState

PREFIX = "seen/"
CAP = 200_000
"""Ids kept per owner; beyond it the buckets of the oldest months go, whole."""


class Identified(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def occurred_at(self) -> datetime: ...


class Seen:
    """Ids in buckets of a month (of ``occurred_at``, which all deliveries share) and a last hex digit.

    Of a UUID the last 12 digits are kept: 48 bits, so that 200,000 ids collide with a chance of 1 in 10,000.
    """

    def __init__(self, state: RuleState) -> None:
        self._state = state
        self._buckets = {name: str(value) for name, value in state.items(PREFIX)}
        self._ids = {short for ids in self._buckets.values() for short in ids.split()}

    def add(self, event: Identified) -> bool:
        """False if the event was seen before."""
        short = event.id[-12:] if len(event.id) == 36 else event.id
        if short in self._ids:
            return False
        self._ids.add(short)
        name = f"{PREFIX}{event.occurred_at.year:04d}-{event.occurred_at.month:02d}/{short[-1:]}"
        bucket = self._buckets.get(name)
        self._buckets[name] = bucket = short if bucket is None else f"{bucket} {short}"
        self._state.put(name, bucket)
        if len(self._ids) > CAP:
            self._forget_oldest(name)
        return True

    def _forget_oldest(self, current: str) -> None:
        month = min(name for name in self._buckets if name != current)[: len(PREFIX) + 7]
        for name in [name for name in self._buckets if name.startswith(month)]:
            self._ids.difference_update(self._buckets.pop(name).split())
            self._state.delete(name)
