"""Memories: what an owner's own acts taught, by scope; ``actions/memory/lessons.py`` says what each entry changes.

A fold of the journal, rebuilt at will and never stored as truth. What is forgotten leaves it; the acts behind it stay
in the journal and count no more, later ones start anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from actions.plain import clean
from actions.proposal.state import ProposalState
from schemas import ids
from schemas.journal import JournalEntry
from schemas.memory import Basis, Code, Kind, Memory, Scope
from schemas.trigger import Trigger
from schemas.value import Integrity, Value

STREAM = "memory"
"""Of what the person tells the memory itself; proposals have streams of their own."""
SUGGESTED_AFTER = 2
"""Equal values in a row, before one is suggested."""
IN_A_ROW = 3
"""Approvals unchanged, or interruptions ignored, before anything follows."""
KEPT = 20
"""Acts and events that a memory names; its support counts them all."""
OF_ITS_OCCASION = frozenset({"Money", "Date", "DateTime", "MessageId", "EventId", "FilePath"})
"""Types whose value belongs to one bill or one appointment: none becomes a default."""
_ENTITY = ("party.address", "payload.merchant", "party.domain", "party.name")
_KINDS: dict[Code, Kind] = {"default": "preference", "unchanged": "conclusion", "ignored": "conclusion", "note": "note"}
_BY: dict[Code, int] = {"unchanged": IN_A_ROW, "ignored": IN_A_ROW}


def entity_of(trigger: Trigger) -> tuple[str, Integrity]:
    """The other side, as it is compared, and how far its name may be trusted; empty where there is none."""
    found = (trigger.values.get(name) for name in _ENTITY)
    value = next((value for value in found if value is not None and value.v), None)
    return (clean(str(value.v), 320).casefold(), value.integrity) if value else ("", Integrity.SYSTEM)


def memory_id(owner: str, code: Code, scope: Scope, nonce: str = "") -> str:
    """One memory a scope; notes have one each."""
    return ids.memory_id(owner, code, scope.rule, scope.entity, scope.tool, scope.arg, scope.key, nonce)


class Memories:
    """``revision`` grows with every change, for those who keep an index of it."""

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.revision = 0
        self.ever: set[str] = set()
        """Ids of all that were ever kept, the forgotten ones too."""
        self._all: dict[str, Memory] = {}
        self._givers: dict[str, set[str]] = {}
        """Of a default for anybody: who it was given for so far. One entity twice is a habit with that one."""

    def __iter__(self) -> Iterator[Memory]:
        """Those that say something, the newest first; a row of one or two says nothing yet."""
        told = (memory for memory in self._all.values() if memory.support >= self._needed(memory))
        return iter(sorted(told, key=lambda memory: (memory.last, memory.id), reverse=True))

    def get(self, memory: str) -> Memory | None:
        return self._all.get(memory)

    def find(self, code: Code, scope: Scope) -> Memory | None:
        """Of exactly this scope, if it says something."""
        found = self._all.get(memory_id(self.owner, code, scope))
        return found if found and found.support >= self._needed(found) else None

    def never(self, trigger: Trigger) -> Memory | None:
        """The person's "never again" that covers this: for the key, the rule about this other side, or the rule."""
        return self._first("never", self._scopes(trigger, Scope(rule=trigger.rule, key=trigger.key)))

    def ignored(self, trigger: Trigger) -> Memory | None:
        """The last ones of this rule about this other side interrupted, and nobody answered."""
        return self._first("ignored", self._scopes(trigger)[:1])

    def default(self, trigger: Trigger, places: Iterable[tuple[str, str]]) -> Memory | None:
        """The best default for one of these (tool, argument) places: for this other side before anybody, confirmed
        before suggested; None if all there is was noted only."""
        found = [
            memory
            for tool, arg in places
            for scope in self._scopes(trigger)
            if (memory := self.find("default", scope.model_copy(update={"tool": tool, "arg": arg})))
            and memory.standing != "noted"
        ]
        return min(found, key=lambda m: (not m.scope.entity, m.standing != "confirmed", m.id), default=None)

    # -- how it changes

    def keep(self, memory: Memory) -> None:
        self._all[memory.id] = memory
        self.ever.add(memory.id)
        self.revision += 1

    def drop(self, memory: str) -> Memory | None:
        self._givers.pop(memory, None)
        self.revision += 1
        return self._all.pop(memory, None)

    def count(
        self, code: Code, scope: Scope, entry: JournalEntry, state: ProposalState, value: Value | None = None
    ) -> Memory:
        """One more act of this scope. Another value, or another set of tools, starts the row anew."""
        known = self._all.get(memory_id(self.owner, code, scope))
        if known and code in ("default", "unchanged") and not _same(known.value, value):
            known = None
            self._givers.pop(memory_id(self.owner, code, scope), None)
        memory = _grown(known, entry, state) if known else self._new(code, scope, entry, state)
        memory = memory.model_copy(update={"value": value if value is not None else memory.value})
        self.keep(memory)
        return memory

    def give(self, tool: str, arg: str, value: Value, entry: JournalEntry, state: ProposalState) -> None:
        """The person gave a value for a slot or an argument: once for this other side, once for anybody."""
        if value.type in OF_ITS_OCCASION:
            return
        entity, _ = entity_of(state.trigger)
        plain = value.model_copy(update={"sources": (), "span": None})
        scope = Scope(rule=state.trigger.rule, tool=tool, arg=arg)
        self._suggest(self.count("default", scope.model_copy(update={"entity": entity}), entry, state, plain))
        if not entity:
            return
        anybody = memory_id(self.owner, "default", scope)
        known = self._all.get(anybody)
        givers = self._givers.get(anybody, set()) if known and _same(known.value, plain) else set()
        if entity not in givers:
            self._suggest(self.count("default", scope, entry, state, plain))
            self._givers[anybody] = givers | {entity}

    def _suggest(self, memory: Memory) -> None:
        if memory.standing == "noted" and memory.support >= SUGGESTED_AFTER:
            self.keep(memory.model_copy(update={"standing": "suggested"}))

    def end_row(self, code: Code, state: ProposalState) -> None:
        self.drop(memory_id(self.owner, code, self._scopes(state.trigger)[0]))

    def _new(self, code: Code, scope: Scope, entry: JournalEntry, state: ProposalState) -> Memory:
        _, integrity = entity_of(state.trigger)
        return Memory(
            id=memory_id(self.owner, code, scope),
            kind=_KINDS.get(code, "decision"),
            code=code,
            scope=scope,
            first=entry.at,
            last=entry.at,
            basis=(basis(entry),),
            events=events(state.trigger),
            by="forewatch" if code in _BY else "person",
            entity_integrity=integrity if scope.entity else Integrity.SYSTEM,
            standing="confirmed" if code == "never" else "noted",
        )

    def _scopes(self, trigger: Trigger, *others: Scope) -> list[Scope]:
        """The rule about this other side, then the rule about anybody."""
        entity, _ = entity_of(trigger)
        scopes = [Scope(rule=trigger.rule, entity=entity), Scope(rule=trigger.rule)]
        return list(dict.fromkeys((*others, *scopes)))

    def _first(self, code: Code, scopes: Iterable[Scope]) -> Memory | None:
        return next((found for scope in scopes if (found := self.find(code, scope))), None)

    def _needed(self, memory: Memory) -> int:
        """A default for anybody that was given for one other side only is that one's."""
        if memory.code == "default" and memory.id in self._givers and memory.standing != "confirmed":
            return SUGGESTED_AFTER
        return _BY.get(memory.code, 1)


def basis(entry: JournalEntry) -> Basis:
    return Basis(entry=entry.id, stream=entry.stream, at=entry.at)


def events(trigger: Trigger) -> tuple[str, ...]:
    return tuple(dict.fromkeys(evidence.event for evidence in trigger.evidence))[-KEPT:]


def _grown(known: Memory, entry: JournalEntry, state: ProposalState) -> Memory:
    found = dict.fromkeys((*known.events, *events(state.trigger)))
    return known.model_copy(
        update={
            "support": known.support + 1,
            "last": entry.at,
            "basis": (*known.basis, basis(entry))[-KEPT:],
            "events": tuple(found)[-KEPT:],
        }
    )


def _same(known: Value | None, given: Value | None) -> bool:
    return known is not None and given is not None and (known.type, known.v) == (given.type, given.v)
