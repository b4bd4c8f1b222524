"""Matters: which events belong together, as a fold of what was seen; the same whatever the order of arrival.

Each event names a matter of its own (``Event.matter``). Names become one matter by *ties* (rules/kinship.py). Ties are
taken in the order of their strength over all things that are connected, so that the result is a function of the set of
things, not of their order. What rules see is the matter by ties that are no guess; the *wide* matter, by likeness too,
only says what is shown together (decision 0016).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from itertools import chain
from typing import Any, TypeVar

import msgspec

from rules.case import digest
from rules.grouping import Edge, Groups, Told, by_name, pair, plain
from rules.kinship import Tie, tie_of
from rules.state import RuleState
from rules.thing import Thing, thing_of

PREFIX = "matter/"
_Before = Mapping[str, tuple[str, str]]
"""By name the matter and the wide matter that it belonged to."""
_THING, _TOLD, _ORDER = f"{PREFIX}thing/", f"{PREFIX}told/", f"{PREFIX}order"
MOST = 4000
"""Things that are remembered of one owner; the oldest go first."""
_TOO_COMMON = 100
"""A number or amount that more things share tells nothing about them."""
_KINDS = ("invoice:", "booking:", "parcel:", "calendar:")
"""Which of its names a matter goes by: the first of these, else one of a source's own, a thread, a bank row."""


@dataclass(frozen=True, slots=True)
class Turn:
    """An edge that joined two wide matters, or no longer does. ``other``: the one that came, or left."""

    edge: Edge
    matter: str
    other: str
    members: tuple[str, ...]
    """The matters of ``other``, guesses left out."""
    is_known: bool
    """Whether a thing named it: one that only another thing names says nothing by itself."""


@dataclass(slots=True)
class Change:
    """What taking something in did. ``moved``: matters of which a part, or all, goes by another name now."""

    moved: set[str] = field(default_factory=set)
    joined: list[Turn] = field(default_factory=list)
    parted: list[Turn] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.moved or self.joined or self.parted)


class Matters:
    """Writes go through to the state; everything else is made again from its entries."""

    def __init__(self, state: RuleState) -> None:
        self._state = state
        self._things: dict[str, Thing] = {}
        self._by_name: dict[str, dict[str, None]] = {}
        self._by_block: dict[tuple[str, str], dict[str, None]] = {}
        self._ties: dict[str, dict[str, Tie]] = {}
        self._told: dict[str, dict[str, Told]] = {}
        self._strong: dict[str, str] = {}
        self._wide: dict[str, str] = {}
        self._used: dict[str, dict[tuple[str, str], Edge]] = {}
        for _, entry in state.items(_TOLD):
            self._remember(msgspec.convert(entry, Told))
        things = [msgspec.convert(entry, Thing) for _, entry in state.items(_THING)]
        for thing in sorted(things, key=lambda thing: thing.order):
            self._add(thing)
        for thing in things:
            if thing.names and not self._is_connected(thing):
                self._name_alone(thing)
        connected = filter(self._is_connected, things)
        self._settle({name for thing in connected for name in (thing.name, *thing.names)} | set(self._told))

    # --- what others ask -----------------------------------------------------------------------------------------

    def of(self, name: str) -> str:
        """The matter that the name belongs to, as rules see it."""
        return self._strong.get(name, name)

    def wide(self, name: str) -> str:
        """The matter with what is only similar: what is shown together."""
        return self._wide.get(name, name)

    def things(self, name: str) -> list[Thing]:
        """All that is known of the matter of this name, guesses left out; in the order of arrival."""
        names = self._members(self.of(name))
        subjects = dict.fromkeys(chain.from_iterable(self._by_name.get(each, ()) for each in names))
        found = (self._things[subject] for subject in subjects if self.of(self._things[subject].name) == self.of(name))
        return sorted(found, key=lambda thing: thing.order)

    def all(self) -> Iterator[tuple[str, list[Thing], list[Edge]]]:
        """Every wide matter of two things or more with the ties that hold it, by name."""
        groups: dict[str, list[Thing]] = {}
        for thing in sorted(self._things.values(), key=lambda thing: thing.order):
            groups.setdefault(self.wide(thing.name), []).append(thing)
        for name, things in sorted(groups.items()):
            if len(things) > 1:
                edges = {e.names: e for t in things for e in self._used.get(t.name, {}).values()}
                yield name, things, sorted(edges.values(), key=lambda edge: edge.order)

    # --- what comes in -------------------------------------------------------------------------------------------

    def take(self, event: Any) -> Change | None:
        """Remember the event's thing, in place of an earlier version of it. None: no name stands for another now."""
        earlier = self._things.get(event.subject)
        if event.kind == "mail.removed" or (event.matter is None and earlier is None):
            return None
        thing = thing_of(event, earlier.order if earlier is not None else self._last + 1)
        if thing is None and earlier is None:
            return None
        if thing is not None and earlier is not None and msgspec.structs.replace(thing, event=earlier.event) == earlier:
            self._put(thing)
            return None
        return self._replace(earlier, thing)

    def tell(self, first: str, second: str, event: str, *, same: bool) -> Change:
        """The person's word on two names, for good; a later word on the same two counts."""
        names = (first, second) if first < second else (second, first)
        told = Told(*names, same, event)
        self._state.put(f"{_TOLD}{digest(' '.join(names))}", msgspec.to_builtins(told))
        self._remember(told)
        return self._settle(set(names))

    def forget_old(self, today: date) -> Change:
        """Once a day: what ended long ago, and what is too much."""
        day = today.toordinal()
        leaving = [thing for thing in self._things.values() if thing.until < day]
        surplus = len(self._things) - len(leaving) - MOST
        if surplus > 0:
            staying = [thing for thing in self._things.values() if thing.until >= day]
            leaving += sorted(staying, key=lambda thing: (thing.until, thing.order))[:surplus]
        touched: set[str] = set()
        for thing in leaving:
            touched |= self._group(thing)
            self._remove(thing)
            self._state.delete(f"{_THING}{digest(thing.subject)}")
        if not self._things:
            self._state.delete(_ORDER)
        return Change(moved=self._settle(touched).moved)  # what is forgotten was not parted

    def _replace(self, earlier: Thing | None, thing: Thing | None) -> Change | None:
        touched: set[str] = set()
        if earlier is not None:
            touched |= self._group(earlier)
            self._remove(earlier)
        if thing is None:
            assert earlier is not None
            self._state.delete(f"{_THING}{digest(earlier.subject)}")
        else:
            self._add(thing)
            self._put(thing)
            if not (touched or self._is_connected(thing)):
                return self._name_alone(thing) if thing.names else None
            touched |= {thing.name, *thing.names}
        return self._settle(touched) or None

    def _is_connected(self, thing: Thing) -> bool:
        names = (thing.name, *thing.names)
        return thing.subject in self._ties or any(n in self._told or len(self._by_name[n]) > 1 for n in names)

    def _name_alone(self, thing: Thing) -> Change:
        """What no other thing is connected with: its names are one matter, and that is all. There may be cases of
        events that were no things, under any of them."""
        change, names = Change(), (thing.name, *thing.names)
        standing = min(names, key=self._preference)
        for name in names:
            _note(self._strong, name, standing)
            _note(self._wide, name, standing)
        for name in thing.names:
            edge = Edge(pair(thing.name, name), by_name(name), (thing.event,))
            for end in edge.names:
                self._used.setdefault(end, {})[edge.names] = edge
            if (other := thing.name if name == standing else name) not in change.moved:
                change.moved.add(other)
                change.joined.append(Turn(edge, standing, other, (other,), is_known=False))
        return change

    def _put(self, thing: Thing) -> None:
        self._things[thing.subject] = thing
        self._state.put(f"{_THING}{digest(thing.subject)}", msgspec.to_builtins(thing))
        if thing.order > self._last:
            self._state.put(_ORDER, thing.order)

    @property
    def _last(self) -> int:
        """How many things were seen."""
        last = self._state.get(_ORDER)
        return last if isinstance(last, int) else 0

    def _remember(self, told: Told) -> None:
        for one, other in (told.names, told.names[::-1]):
            self._told.setdefault(one, {})[other] = told

    # --- the graph -----------------------------------------------------------------------------------------------

    def _add(self, thing: Thing) -> None:
        self._things[thing.subject] = thing
        ties: dict[str, Tie] = {}
        for block in _sought(thing):
            others = self._by_block.get(block, ())
            for subject in others if len(others) <= _TOO_COMMON else ():
                if subject not in ties and (tie := tie_of(thing, self._things[subject])) is not None:
                    ties[subject] = tie
        for block in _blocks(thing):
            self._by_block.setdefault(block, {})[thing.subject] = None
        for subject, tie in ties.items():
            self._ties.setdefault(subject, {})[thing.subject] = tie
        if ties:
            self._ties[thing.subject] = ties
        for name in (thing.name, *thing.names):
            self._by_name.setdefault(name, {})[thing.subject] = None

    def _remove(self, thing: Thing) -> None:
        del self._things[thing.subject]
        for other in self._ties.pop(thing.subject, ()):
            del self._ties[other][thing.subject]
        for block in set(_blocks(thing)):
            _drop(self._by_block, block, thing.subject)
        for name in (thing.name, *thing.names):
            _drop(self._by_name, name, thing.subject)

    def _group(self, thing: Thing) -> set[str]:
        """The names with which it is one, by likeness too."""
        return set(chain.from_iterable(self._connected({thing.name, *thing.names})))

    def _members(self, strong: str) -> set[str]:
        return {name for name in self._reach({strong}) if self.of(name) == strong} | {strong}

    def _connected(self, names: Iterable[str]) -> Iterator[set[str]]:
        left = set(names)
        for name in sorted(names):
            if name in left:
                found = self._reach({name})
                left -= found
                yield found

    def _reach(self, names: set[str]) -> set[str]:
        """All names that any chain of ties leads to, whether it may join or not."""
        found, todo = set(names), list(names)
        while todo:
            name = todo.pop()
            near = set(self._told.get(name, ()))
            for subject in self._by_name.get(name, ()):
                near |= {self._things[subject].name, *self._things[subject].names}
                near |= {self._things[other].name for other in self._ties.get(subject, ())}
            todo += near - found
            found |= near
        return found

    def _edges(self, names: Iterable[str]) -> list[Edge]:
        best: dict[tuple[str, str], Edge] = {}
        for edge in self._all_edges(names):
            known = best.get(edge.names)
            if known is None or edge.order < known.order:
                best[edge.names] = edge
        return sorted(best.values(), key=lambda edge: edge.order)

    def _all_edges(self, names: Iterable[str]) -> Iterator[Edge]:
        for name in names:
            for told in self._told.get(name, {}).values():
                if told.same:
                    yield Edge(told.names, plain("told", "you said so"), (told.event,))
            things = [self._things[subject] for subject in self._by_name.get(name, ())]
            is_thread = name.startswith("thread:")
            if is_thread and len({thing.bill for thing in things if thing.bill}) > 1:
                things = [thing for thing in things if thing.name == name]  # one conversation about several bills
            for thing in things:
                if thing.name != name:
                    events = tuple(other.event for other in things[:8])
                    yield Edge(pair(thing.name, name), by_name(name), events)
                for other, tie in self._ties.get(thing.subject, {}).items():
                    second = self._things[other]
                    yield Edge(pair(thing.name, second.name), tie, tuple(sorted((thing.event, second.event))))

    def _settle(self, touched: set[str]) -> Change:
        """Make the matters of all that is connected with these names anew."""
        names = set(chain.from_iterable(connected := list(self._connected(touched))))
        before = {name: (self.of(name), self.wide(name)) for name in names}
        earlier = {pair: edge for name in names for pair, edge in self._used.pop(name, {}).items()}
        used = [edge for group in connected for edge in self._regroup(group)]
        for edge in used:
            for name in edge.names:
                self._used.setdefault(name, {})[edge.names] = edge
        after = {name: (self.of(name), self.wide(name)) for name in names}
        return Change(
            moved={strong for name, (strong, _) in before.items() if after[name][0] != strong},
            joined=list(self._turns(used, after, before)),
            parted=list(self._turns(earlier.values(), before, after)),
        )

    def _regroup(self, names: set[str]) -> list[Edge]:
        """The edges that were used."""
        groups = Groups(names, self._told, {name: self._own(name) for name in names})
        used: list[Edge] = []
        edges = self._edges(names)
        for guess in (False, True):
            used += [edge for edge in edges if (edge.tie.how == "similar") is guess and groups.join(edge)]
            for group in groups.all():
                standing = min(group, key=self._preference)
                for name in group:
                    _note(self._wide if guess else self._strong, name, standing)
        return used

    def _turns(self, edges: Iterable[Edge], one: _Before, several: _Before) -> Iterator[Turn]:
        """For each wide matter of ``several`` that is under another name in ``one``: the edge that ties it there."""
        groups: dict[str, set[str]] = {}
        for name, (_, wide) in several.items():
            groups.setdefault(wide, set()).add(name)
        whole = {name: wide for name, (_, wide) in one.items()}
        ordered = sorted(edges, key=lambda edge: edge.order)
        for other, group in sorted(groups.items()):
            matter = whole[min(group)]
            if other == matter or whole.get(other, other) == other:
                continue
            edge = next((edge for edge in ordered if len(group.intersection(edge.names)) == 1), None)
            if edge is not None:
                members = {several[name][0] for name in group}
                is_known = any(self._own(name) for name in group)
                yield Turn(edge, matter, other, tuple(sorted(members)), is_known)

    def _own(self, name: str) -> list[Thing]:
        return [self._things[s] for s in self._by_name.get(name, ()) if self._things[s].name == name]

    def _preference(self, name: str) -> tuple[int, int, str]:
        """The name that a person would give it; of equal ones the first that was seen."""
        kind = next((number for number, prefix in enumerate(_KINDS) if name.startswith(prefix)), len(_KINDS))
        kind += name.startswith("thread:") + 2 * name.startswith("bank:")
        orders = [thing.order for thing in self._own(name)]
        return kind, min(orders, default=1 << 60), name


def _blocks(thing: Thing) -> Iterator[tuple[str, str]]:
    """Under what it is found by others: only things that share an amount or a number can be tied."""
    kind = "bank" if thing.family == "bank" else "other"
    yield from ((kind, shared) for shared in (*thing.amounts, *thing.numbers))
    if kind == "bank":
        yield from (("reference", shared) for shared in thing.references)


def _sought(thing: Thing) -> Iterator[tuple[str, str]]:
    """Under what it looks for others; a bank row looks for rows only by their references."""
    yield from (("other", shared) for shared in (*thing.amounts, *thing.numbers))
    if thing.family == "bank":
        yield from (("reference", shared) for shared in thing.references)
    else:
        yield from (("bank", shared) for shared in (*thing.amounts, *thing.numbers))


Key = TypeVar("Key")


def _drop(index: dict[Key, dict[str, None]], key: Key, subject: str) -> None:
    del index[key][subject]
    if not index[key]:
        del index[key]


def _note(names: dict[str, str], name: str, standing: str) -> None:
    if name == standing:
        names.pop(name, None)
    else:
        names[name] = standing
