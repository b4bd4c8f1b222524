"""Waits for events: what a step waits for, as a subscription in the journal, and an index from an event to its waits.

A subscription reads the owner's events from the place where they ended when the step that causes the reply was about to
be sent, so a reply that comes before the wait begins is not lost. Nothing is held while it waits: the state is the
journal's, and a wait that is over by its deadline says so.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

from actions import graph, nominal
from actions.journal import EXECUTOR, Draft
from actions.proposal.state import Awaits, ProposalState, StepState, Trait
from actions.run import predicate
from schemas.event import KINDS, Event
from schemas.model import Json
from schemas.plan import OPS, Op, Plan, Step
from schemas.value import Integrity, Value

EVENT, REPLY = "wait.event", "wait.reply"
MATCH = "match."
REPLY_DAYS = 14
MAX_DAYS = 3660
OnTimeout = Literal["go_on", "fail"]


def _parties(event: Event, role: str = "") -> Iterator[Json]:
    for party in event.parties:
        if not role or party.role == role:
            yield from (word for word in (party.address, party.name) if word)


def _money(event: Event, sign: int) -> Iterator[Json]:
    if event.amount is not None:
        yield {"amount": str(event.amount.amount * sign), "currency": event.amount.currency}


def _of_payload(*names: str) -> Callable[[Event], Iterator[Json]]:
    def read(event: Event) -> Iterator[Json]:
        for name in names:
            value = getattr(event.payload, name, None)
            yield from value if isinstance(value, tuple) else [value] if value not in (None, "") else []

    return read


FIELDS: Mapping[str, Callable[[Event], Iterable[Json]]] = {
    "in_reply_to": _of_payload("in_reply_to", "references"),
    "thread": _of_payload("thread"),
    "message_id": _of_payload("message_id"),
    "from": lambda event: _parties(event, "from"),
    "party": _parties,
    "title": lambda event: [event.title],
    "subject": lambda event: [event.subject],
    "matter": lambda event: [event.matter] if event.matter else [],
    "account": lambda event: [event.account],
    "amount": lambda event: _money(event, 1),
    "paid": lambda event: _money(event, -1),
    "iban": _of_payload("counterparty_iban"),
    "purpose": _of_payload("purpose"),
    "reference": _of_payload("end_to_end_id"),
    "uid": _of_payload("uid"),
    "answer": _of_payload("answer"),
    "status": _of_payload("status"),
    "stream": _of_payload("stream"),
}
"""What a wait can ask of an event; ``row.NAME`` is a field of a business system's row."""


def field_fault(argument: str) -> str:
    """What is wrong with an argument ``match.FIELD[.OP]``; "" if nothing."""
    name, op = _named(argument)
    if name not in FIELDS and not name.startswith("row."):
        return f"events have no {name!r}; use one of {', '.join(FIELDS)}, or row.NAME"
    return "" if op in OPS else f"there is no comparison {op!r}; use one of {', '.join(OPS)}"


def _named(argument: str) -> tuple[str, Op]:
    name = argument.removeprefix(MATCH)
    first, _, last = name.rpartition(".")
    if first and first != "row":
        return first, last  # type: ignore[return-value]  # ``field_fault`` tells
    return name, "is"


def is_for_event(step: Step) -> bool:
    return step.tool in (EVENT, REPLY)


def begun(state: ProposalState, plan: Plan, step: Step, args: Mapping[str, Value], now: datetime) -> Draft | str:
    """``wait.started`` without its cursor, if none is known from the steps before; or what is wrong."""
    given = {name: value.v for name, value in args.items()}
    wake, wrong = _deadline(step, given, now)
    kind = "mail.received" if step.tool == REPLY else str(given.get("kind", ""))
    if kind not in KINDS and not kind.startswith("record."):
        wrong = wrong or f"there are no events of kind {kind!r}"
    tests = [Trait("in_reply_to", "is", given.get("message_id"))] if step.tool == REPLY else []
    for name, value in given.items():
        if name.startswith(MATCH):
            wrong = wrong or field_fault(name)
            tests.append(Trait(*_named(name), value))
    if not tests:
        wrong = wrong or "it says nothing of the event that it waits for"
    body: dict[str, Json] = {
        "step": step.uid,
        "wake": wake.isoformat() if wake else None,
        "kind": kind,
        "match": [[test.field, test.op, test.value] for test in tests],
        "on_timeout": "fail" if given.get("on_timeout") == "fail" else "go_on",
        "cursor": cursor(state, plan, step),
    }
    return wrong or Draft(state.id, "wait.started", now, EXECUTOR, "", body)


def _deadline(step: Step, given: Mapping[str, Json], now: datetime) -> tuple[datetime | None, str]:
    until, days = given.get("until"), given.get("days", REPLY_DAYS if step.tool == REPLY else None)
    if isinstance(until, str) and not nominal.fault("DateTime", until):
        return datetime.fromisoformat(until), ""
    if isinstance(days, int | float) and not isinstance(days, bool) and 0 < days <= MAX_DAYS:
        return now + timedelta(days=days), ""
    return None, "a wait for an event needs an end: give until or days"


def cursor(state: ProposalState, plan: Plan, step: Step) -> int | None:
    """Where the owner's events ended when the nearest step before was first sent; None: nothing was sent before."""
    names = set(graph.dependencies(plan, step))
    while names:
        found = [at for name in names if (at := state.steps[plan.step(name).uid].cursor) is not None]
        if found:
            return min(found)
        names = {before for name in names for before in graph.dependencies(plan, plan.step(name))}
    return None


def needs_cursor(plan: Plan, step: Step) -> bool:
    """Does anything after this step wait for an event?"""
    return any(is_for_event(other) and step.id in graph.ancestors(plan, other) for other in plan.steps)


def matches(awaits: Awaits, event: Event) -> bool:
    if event.kind != awaits.kind or event.op != "upsert":
        return False
    return all(_holds(test, event) for test in awaits.tests)


def _holds(test: Trait, event: Event) -> bool:
    return any(predicate.holds(test.op, value, test.value) for value in _read(event, test.field))


def _read(event: Event, name: str) -> Iterable[Json]:
    if name.startswith("row."):
        fields = getattr(event.payload, "fields", {})
        return [fields[name.removeprefix("row.")]] if name.removeprefix("row.") in fields else []
    return FIELDS[name](event)


def arrived(state: ProposalState, uid: str, event: Event, now: datetime) -> list[Draft]:
    """The event that a step waits for has come; nothing if it does not wait (any more)."""
    step, live = state.planned(uid), state.steps.get(uid)
    if step is None or live is None or live.phase != "waiting" or live.awaits is None:
        return []
    out = {name: value.model_dump(mode="json") for name, value in _told(step, event).items()}
    body: dict[str, Json] = {"step": uid, "event": event.id, "out": {**out}}
    return [Draft(state.id, "wait.fired", now, EXECUTOR, event.id, body)]


def timed_out(step: Step) -> dict[str, Value]:
    """The result of a wait that goes on without its event."""
    name = "got_reply" if step.tool == REPLY else "arrived"
    return {name: Value(v=False, type="Bool", sources=(step.uid,), integrity=Integrity.SYSTEM, how="tool")}


def _told(step: Step, event: Event) -> dict[str, Value]:
    """That it came is ours to say; what it says is as far to be trusted as its source."""
    trust = {"self": Integrity.USER, "service": Integrity.KNOWN}.get(event.trust, Integrity.UNTRUSTED)

    def value(v: Json, type_: str, integrity: Integrity = trust) -> Value:
        return Value(v=v, type=type_, sources=(event.id,), integrity=integrity, how="tool")

    found = {
        "got_reply" if step.tool == REPLY else "arrived": value(True, "Bool", Integrity.SYSTEM),
        "event": value(event.id, "Text", Integrity.SYSTEM),
        "at": value(event.occurred_at.isoformat(), "DateTime"),
        "title": value(event.title, "Text"),
    }
    sender = next((party.address for party in event.parties if party.role == "from" and "@" in party.address), None)
    if sender:
        found["sender"] = value(sender, "Email")
    if event.amount is not None:
        found["amount"] = value(event.amount.model_dump(mode="json"), "Money")
    return found


Place = tuple[str, str]
"""Proposal and step uid."""


@dataclass
class WaitIndex:
    """The open waits of one owner, by the first thing that an event must have for them: an event finds its waits
    without a look at the others."""

    waits: dict[Place, Awaits] = field(default_factory=dict)
    fresh: set[Place] = field(default_factory=set)
    """Those that have not been shown the events since their cursor yet."""
    _by_key: dict[tuple[str, str, str], dict[Place, None]] = field(default_factory=dict)
    _fields: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(kind, field) -> how many waits are found by it."""
    _by_proposal: dict[str, set[Place]] = field(default_factory=dict)

    def follow(self, state: ProposalState) -> None:
        """Take in what the newest entry of this proposal has changed."""
        for place in list(self._by_proposal.get(state.id, ())):
            if not _is_open(state, state.steps[place[1]]):
                self._remove(place)
        for uid, live in state.steps.items():
            if live.awaits is not None and (state.id, uid) not in self.waits and _is_open(state, live):
                self._add((state.id, uid), live.awaits)

    def kinds(self) -> set[str]:
        return {kind for kind, _ in self._fields}

    def found_by(self, event: Event, offset: int) -> list[Place]:
        """The waits that this event ends, which lies at ``offset`` of the owner's events."""
        candidates: dict[Place, None] = {}
        for name in [name for kind, name in self._fields if kind == event.kind]:
            for value in [None] if not name else _read(event, name):
                candidates |= self._by_key.get((event.kind, name, _key(value) if name else ""), {})
        return [place for place in candidates if self._is_met(self.waits[place], event, offset)]

    def _is_met(self, awaits: Awaits, event: Event, offset: int) -> bool:
        return (awaits.cursor is None or awaits.cursor <= offset) and matches(awaits, event)

    def _add(self, place: Place, awaits: Awaits) -> None:
        self.waits[place] = awaits
        self.fresh.add(place)
        key = _keyed(awaits)
        self._by_key.setdefault(key, {})[place] = None
        self._fields[key[:2]] += 1
        self._by_proposal.setdefault(place[0], set()).add(place)

    def _remove(self, place: Place) -> None:
        key = _keyed(self.waits.pop(place))
        self.fresh.discard(place)
        self._by_key[key].pop(place)
        self._fields[key[:2]] -= 1
        if not self._fields[key[:2]]:
            del self._fields[key[:2]]
        if not self._by_key[key]:
            del self._by_key[key]
        self._by_proposal[place[0]].discard(place)
        if not self._by_proposal[place[0]]:
            del self._by_proposal[place[0]]


def _is_open(state: ProposalState, live: StepState) -> bool:
    return state.phase in ("running", "undoing") and live.phase == "waiting" and live.uid not in state.dropped


def _keyed(awaits: Awaits) -> tuple[str, str, str]:
    first = next((test for test in awaits.tests if test.op == "is"), None)
    return (awaits.kind, first.field, _key(first.value)) if first else (awaits.kind, "", "")


def _key(value: Json) -> str:
    return json.dumps(predicate.plain(value), sort_keys=True)
