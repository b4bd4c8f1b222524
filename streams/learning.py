"""Learning: what rules that come into use now would know if they had been in use before."""

from __future__ import annotations

from collections.abc import AsyncIterator
from zoneinfo import ZoneInfo

from rules.replay import Replay, Stops
from rules.ruleset import RuleSet
from rules.state import RuleState
from schemas.event import Event
from streams import topics
from streams.codec import decode_event
from streams.work import Log

MOST_EVENTS = 500_000
"""The newest records of the partition that are played."""
_READ_AT_ONCE = 1000


async def learn(log: Log, partition: int, offset: int, rules: RuleSet, *, owner: str, zone: ZoneInfo) -> RuleState:
    """The state of these rules after the owner's events up to ``offset``, and including it. What they say is dropped.

    Reads twice: first for when the service was stopped, since a timer that was due then fires later.
    """
    stops = Stops()
    async for events in _events(log, partition, offset, owner):
        stops.see(events)
    played = Replay(rules, owner, zone, stops)
    async for events in _events(log, partition, offset, owner):
        played.play(events)
    return played.state


async def _events(log: Log, partition: int, last: int, owner: str) -> AsyncIterator[list[Event]]:
    place = max(0, last + 1 - MOST_EVENTS)
    while place <= last:
        entries = await log.read(topics.EVENTS, partition, place, min(_READ_AT_ONCE, last + 1 - place))
        if not entries:
            return
        found = [decode_event(entry.value) for entry in entries if entry.value is not None and entry.offset <= last]
        yield [event for event in found if event.owner == owner]
        place = entries[-1].offset + 1
