"""Kept: what was worked out of a value that never changes, for the newest few of them, found by identity."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")

NEWEST = 256


class Kept(Generic[K, V]):
    """Comparing or hashing a plan takes longer than what is asked of it; whoever runs it asks again and again."""

    def __init__(self, make: Callable[[K], V]) -> None:
        self._make = make
        self._found: OrderedDict[int, tuple[K, V]] = OrderedDict()

    def of(self, value: K) -> V:
        known = self._found.get(id(value))
        if known is not None and known[0] is value:
            return known[1]
        made = self._make(value)
        self._found[id(value)] = value, made
        self._found.move_to_end(id(value))
        if len(self._found) > NEWEST:
            self._found.popitem(last=False)
        return made
