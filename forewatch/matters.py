"""Matters as the log tells them, and a person's word on two events, which is an event of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, get_args

from rules.grouping import Edge
from rules.matter import Matters
from rules.state import RuleState
from rules.thing import Thing
from schemas import ids
from schemas.errors import NotFound, Refused
from schemas.event import Event
from schemas.payloads import MatterPayload
from streams import topics
from streams.codec import decode_event, encode
from streams.work import Log, Output, read_entries

Word = Literal["matter.joined", "matter.split"]


@dataclass(frozen=True, slots=True)
class Matter:
    """``name`` is the one that its proposals go by. Guesses among ``ties`` have a score below 1."""

    name: str
    things: tuple[Thing, ...]
    ties: tuple[Edge, ...]

    def document(self) -> dict[str, Any]:
        return {
            "matter": self.name,
            "things": [
                {"event": t.event, "kind": t.kind, "at": t.at.isoformat(), "account": t.account, "title": t.title,
                 "amounts": t.amounts, "named": t.name}
                for t in self.things
            ],
            "ties": [
                {"how": e.tie.how, "score": e.tie.score, "names": list(e.names), "events": list(e.events),
                 "parts": [part._asdict() for part in e.tie.parts]}
                for e in self.ties
            ],
        }  # fmt: skip


async def known(log: Log, owner: str) -> tuple[list[Matter], Matters]:
    """All matters of two things or more, by name: what the rules of a service on this log know of them."""
    matters = Matters(RuleState())
    async for event in _events(log, owner):
        payload = event.payload
        if event.kind in get_args(Word):
            matters.tell(payload.first, payload.second, event.id, same=event.kind == "matter.joined")
            continue
        if event.kind == "clock.day":
            matters.forget_old(payload.day)
        matters.take(event)
    return [Matter(name, tuple(things), tuple(ties)) for name, things, ties in matters.all()], matters


async def told(log: Log, owner: str, wanted: tuple[str, str], word: Word, now: datetime) -> Event:
    """The event that says so, not yet in the log. NotFound for an event that is unknown or not one; Refused where the
    word can change nothing."""
    first, second = [await _find(log, owner, each) for each in wanted]
    if first.matter is None or second.matter is None:
        bare = first if first.matter is None else second
        raise Refused(
            f"{bare.id[:8]} ({bare.kind}) belongs to no matter", code="no_matter", remedy="choose another event"
        )
    if first.matter == second.matter:
        remedy = "nothing can part them" if word == "matter.split" else "nothing is to be done"
        message = f"both are named {first.matter} by their source"
        raise Refused(message, code="same_name", remedy=remedy)
    return Event(
        id=ids.event_id("forewatch", word, f"{first.id}/{second.id}", now.isoformat()),
        owner=owner,
        account="forewatch",
        source="forewatch",
        kind=word,
        subject=f"matter:{'/'.join(sorted((first.id, second.id)))}",
        version=now.isoformat(),
        occurred_at=now,
        observed_at=now,
        title=f"{first.title} / {second.title}"[:500],
        trust="self",
        payload=MatterPayload(
            first_event=first.id, second_event=second.id, first=first.matter, second=second.matter
        ),
    )  # fmt: skip


def output(event: Event) -> Output:
    return Output(topics.EVENTS, event.owner.encode(), encode(event))


async def _find(log: Log, owner: str, wanted: str) -> Any:
    found = {event.id: event async for event in _events(log, owner) if event.id.startswith(wanted)}
    if len(found) != 1:
        what = f"{len(found)} events start with" if found else "there is no event"
        raise NotFound(f"{what} {wanted!r}", remedy="see 'forewatch events tail' or 'forewatch matters list'")
    return found.popitem()[1]


async def _events(log: Log, owner: str) -> AsyncIterator[Any]:
    """In the order of the log."""
    for partition in range(log.partitions(topics.EVENTS)):
        async for entry in read_entries(log, topics.EVENTS, partition):
            if entry.value is not None and (event := decode_event(entry.value)).owner == owner:
                yield event
