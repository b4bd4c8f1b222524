"""The evaluate agent: folds the event stream of each owner through the rules into triggers.

Time comes in through events alone (ticks are events too), and so do other rules (``rules.changed``): a replay from zero
gives the same triggers. The state of a partition's owners lives in memory; what a batch changed is written once, as one
unit, with the batch's last offset as its watermark: a batch that comes again after a crash is recognised and changes
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime

import msgspec

from rules.changeover import change_over, difference
from rules.engine import Engine
from rules.replay import Signals
from rules.state import RuleState
from schemas.event import Event
from schemas.model import Json
from schemas.trigger import Signal
from streams import topics
from streams.codec import decode_event, encode
from streams.learning import learn
from streams.rulebook import CHANGED, RuleBook
from streams.work import Batch, Log, Output, Result, read_entries

_MARK = "\x1f"
WATERMARK = f"{_MARK}watermark"
"""Key of the entry that holds the last offset whose effects the state contains."""
NOW = f"{_MARK}now"
"""Entry of each owner: the latest instant its rules have seen; time never goes backwards."""
DAY = f"{_MARK}day"
"""Entry of each owner: the last local day that was announced."""
RULES = f"{_MARK}rules"
"""Entry of each owner: the digest of the rules in use; before the first, those that the agent was given."""


@dataclass(slots=True)
class _Partition:
    watermark: int = -1
    states: dict[str, RuleState] = field(default_factory=dict)
    engines: dict[str, Engine] = field(default_factory=dict)


class EvaluateAgent:
    """Handler of topic ``events``. ``engine`` gives the rules of an owner until a ``rules.changed`` names others."""

    def __init__(self, log: Log, engine: Callable[[str], Engine]) -> None:
        self._log = log
        self._engine = engine
        self._book = RuleBook(log)
        self._partitions: dict[int, _Partition] = {}
        self.on_change: Callable[[], None] = lambda: None
        """Called after each batch: the next timer may have moved."""

    async def assigned(self, partition: int) -> None:
        newest: dict[str, bytes | None] = {}
        async for entry in read_entries(self._log, topics.RULE_STATE, partition):
            newest[(entry.key or b"").decode()] = entry.value
        entries: dict[str, dict[str, Json]] = {}
        loaded = _Partition()
        for key, value in newest.items():
            if value is None:
                continue
            if key == WATERMARK:
                loaded.watermark = msgspec.json.decode(value)
                continue
            owner, _, name = key.partition(_MARK)
            entries.setdefault(owner, {})[name] = msgspec.json.decode(value)
        for owner, found in entries.items():
            loaded.states[owner] = RuleState()
            loaded.states[owner].load(found)
            await self._use_known_rules(loaded, owner)
        self._partitions[partition] = loaded

    async def revoked(self, partition: int) -> None:
        self._partitions.pop(partition, None)

    async def handle(self, batch: Batch) -> Result:
        held = self._partitions[batch.partition]
        result = Result()
        touched: dict[str, RuleState] = {}
        for offset, value in zip(batch.offsets, batch.values, strict=True):
            if offset <= held.watermark or value is None:
                continue
            event = decode_event(value)
            touched[event.owner] = self._state(held, event.owner)
            result.outputs += await self._take_in(held, event, batch.partition, offset)
        if touched:
            held.watermark = batch.offsets[-1]
            result.state = list(_changes(batch.partition, touched, held.watermark))
        return result

    async def delivered(self, batch: Batch) -> None:
        self.on_change()

    async def _take_in(self, held: _Partition, event: Event, partition: int, offset: int) -> list[Output]:
        state = self._state(held, event.owner)
        signals = self._evaluate(held, event, state)
        if event.kind == CHANGED:
            signals += await self._change_rules(held, event, state, partition, offset)
        return [Output(topics.TRIGGERS, event.owner.encode(), encode(signal)) for signal in signals]

    def _evaluate(self, held: _Partition, event: Event, state: RuleState) -> list[Signal]:
        seen = state.get(NOW)
        now = event.observed_at
        if isinstance(seen, str):
            now = max(now, datetime.fromisoformat(seen))
        state.put(NOW, now.astimezone(UTC).isoformat())
        if event.kind == "clock.day":
            state.put(DAY, event.version)
        return self._engine_of(held, event.owner).evaluate(event, state, now).told

    async def _change_rules(
        self, held: _Partition, event: Event, state: RuleState, partition: int, offset: int
    ) -> Signals:
        """The rules that the event names are in use from the next event on."""
        engine = self._engine_of(held, event.owner)
        assert event.payload is not None
        assert event.payload.type == "rules"
        new = await self._book.rules(event.payload.digest, engine.zone, engine.rules)
        begun = difference(engine.rules, new).begun
        learned = RuleState()
        if begun:
            learned = await learn(
                self._log, partition, offset, new.with_inhibitors(begun), owner=event.owner, zone=engine.zone
            )
        now = datetime.fromisoformat(str(state.get(NOW)))
        signals = change_over(event, now, state, engine.rules, new, learned, owner=event.owner).signals
        state.put(RULES, event.payload.digest)
        held.engines[event.owner] = Engine(new, event.owner, engine.zone)
        return signals

    async def _use_known_rules(self, held: _Partition, owner: str) -> None:
        digest = held.states[owner].get(RULES)
        if isinstance(digest, str):
            given = self._engine(owner)
            rules = await self._book.rules(digest, given.zone, given.rules)
            held.engines[owner] = Engine(rules, owner, given.zone)

    def _engine_of(self, held: _Partition, owner: str) -> Engine:
        if owner not in held.engines:
            held.engines[owner] = self._engine(owner)
        return held.engines[owner]

    def _state(self, held: _Partition, owner: str) -> RuleState:
        if owner not in held.states:
            held.states[owner] = RuleState()
        return held.states[owner]

    def last_day(self, owner: str) -> date | None:
        """The last local day that this owner's rules were told of; None before the first."""
        for held in self._partitions.values():
            if owner in held.states and isinstance(day := held.states[owner].get(DAY), str):
                return date.fromisoformat(day)
        return None

    def owns(self, partition: int) -> bool:
        return partition in self._partitions

    def next_timer(self) -> tuple[str, datetime] | None:
        """The owner whose timer is due first, and when."""
        due = [
            (timer, owner)
            for held in self._partitions.values()
            for owner, state in held.states.items()
            if (timer := state.next_timer()) is not None
        ]
        if not due:
            return None
        timer, owner = min(due)
        return owner, timer


async def rebuilt(log: Log, partition: int, engine: Callable[[str], Engine]) -> list[Output]:
    """The whole state of a partition made again from the events in the log, as the records that set it.

    What the rules say on the way has been said before, and is dropped.
    """
    agent = EvaluateAgent(log, engine)
    held = agent._partitions[partition] = _Partition()
    async for entry in read_entries(log, topics.EVENTS, partition):
        if entry.value is not None:
            await agent._take_in(held, decode_event(entry.value), partition, entry.offset)
    return list(_changes(partition, held.states, await log.end(topics.EVENTS, partition) - 1))


def _changes(partition: int, touched: dict[str, RuleState], watermark: int) -> Iterator[Output]:
    for owner, state in sorted(touched.items()):
        for name, value in sorted(state.take_changes().items()):
            encoded = None if value is None else msgspec.json.encode(value)
            yield Output(topics.RULE_STATE, f"{owner}{_MARK}{name}".encode(), encoded, partition)
    yield Output(topics.RULE_STATE, WATERMARK.encode(), str(watermark).encode(), partition)
