"""What a look back needs from the log of a home: events, signals, and how the person answered; read only."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from actions.proposal.book import Book
from rules.backtest import Said
from schemas.trigger import SIGNALS, Signal
from streams import topics
from streams.codec import decode_event
from streams.journal import valid_entries
from streams.work import Log, read_entries

if TYPE_CHECKING:
    from schemas.event import Event

_RIGHT = frozenset(("running", "stopping", "undoing", "stopped", "done", "failed"))
"""The person approved it, whatever came of the run."""
_WRONG = frozenset(("rejected", "expired"))


async def read_histories(log: Log) -> dict[str, list[Event]]:
    """Every owner's events in the order of the log."""
    found: dict[str, list[Event]] = defaultdict(list)
    for partition in range(log.partitions(topics.EVENTS)):
        async for entry in read_entries(log, topics.EVENTS, partition):
            if entry.value is not None:
                event = decode_event(entry.value)
                found[event.owner].append(event)
    return dict(found)


async def read_signals(log: Log) -> list[Signal]:
    """Everything that rules have said, in the order of the log."""
    found: list[Signal] = []
    for partition in range(log.partitions(topics.TRIGGERS)):
        async for entry in read_entries(log, topics.TRIGGERS, partition):
            if entry.value is not None:
                found.append(SIGNALS.validate_json(entry.value))
    return found


async def read_answers(log: Log) -> dict[Said, bool]:
    """Of everything that was proposed and settled by the person: was it approved? What is open or withdrawn is left
    out; what nobody answered until it expired counts as not wanted."""
    books: dict[str, Book] = {}
    said: dict[str, list[Said]] = defaultdict(list)
    async for entry in valid_entries(log):
        books.setdefault(entry.owner, Book(entry.owner)).apply(entry)
        trigger: Any = entry.body.get("trigger")
        if isinstance(trigger, dict):
            said[entry.stream].append((trigger["rule"], trigger["key"], trigger["occurrence"]))
    return {
        about: state.phase in _RIGHT
        for book in books.values()
        for state in book.proposals.values()
        if state.phase in _RIGHT | _WRONG
        for about in said[state.id]
    }
