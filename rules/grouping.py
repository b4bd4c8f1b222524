"""Grouping: names that become one by edges, the strongest first, where neither the person nor a second bill forbids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

import msgspec

from rules.kinship import RANKS, How, Part, Tie, may_join
from rules.thing import Thing


class Told(msgspec.Struct, frozen=True):
    """What the person said of two names."""

    first: str
    second: str
    same: bool
    event: str

    @property
    def names(self) -> tuple[str, str]:
        return self.first, self.second


@dataclass(frozen=True, slots=True)
class Edge:
    """A tie between two names, and the events it was found in."""

    names: tuple[str, str]
    tie: Tie
    events: tuple[str, ...]

    @property
    def order(self) -> tuple[Any, ...]:
        return RANKS[self.tie.how], -self.tie.score, self.tie.distance, self.names


class Groups:
    """Names in disjoint groups, which only join where no word of the person and no second bill forbids it."""

    def __init__(
        self, names: Iterable[str], told: Mapping[str, Mapping[str, Told]], things: Mapping[str, list[Thing]]
    ) -> None:
        self._group = {name: {name} for name in names}
        self._told = told
        self._things = things

    def join(self, edge: Edge) -> bool:
        ours, theirs = (self._group[name] for name in edge.names)
        if ours is theirs or not self._may(edge.tie.how, ours, theirs):
            return False
        ours |= theirs
        for name in theirs:
            self._group[name] = ours
        return True

    def _may(self, how: How, ours: set[str], theirs: set[str]) -> bool:
        for name in ours:
            for other, told in self._told.get(name, {}).items():
                if other in theirs and not told.same:
                    return False
        return may_join(how, self._all(ours), self._all(theirs))

    def _all(self, names: Iterable[str]) -> Iterator[Thing]:
        return chain.from_iterable(self._things[name] for name in sorted(names))

    def all(self) -> Iterable[set[str]]:
        return {id(group): group for group in self._group.values()}.values()


def plain(how: How, what: str) -> Tie:
    return Tie(how, 1.0, 0, (Part(how, what),))


def by_name(name: str) -> Tie:
    return plain("thread" if name.startswith("thread:") else "name", name)


def pair(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one < other else (other, one)
