"""The act agent: carries triggers, retractions and a person's commands into the journal, and drives the open runs.

What an input means is decided in ``actions.proposal.propose.decide`` (pure); what a run does next, in the executor.
Both write through the partition's journal. A redelivered input finds that it has led to an entry before, and
changes nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Protocol

import structlog
from pydantic import ValidationError

from actions.journal import Draft, JournalPort
from actions.policy.experience import STREAM
from actions.policy.standing import is_news_for_all
from actions.proposal.book import Book
from actions.proposal.propose import Input, Tick, decide, next_tick
from actions.proposal.state import ACTIVE
from actions.run import waits
from actions.setup import Setup
from schemas import ids
from schemas.clock import Clock
from schemas.command import Command
from schemas.errors import PoisonError
from schemas.event import Event
from schemas.journal import JournalEntry
from schemas.payloads import RunPayload
from schemas.trigger import SIGNALS, Suppression
from streams import topics
from streams.asks import Asks
from streams.codec import decode, encode
from streams.deadletter import dead_letter
from streams.feed import EventFeed
from streams.hearing import unheard
from streams.journal import PartitionJournal
from streams.wakes import Place, Wakes
from streams.work import Batch, Log, Output, Result

log = structlog.get_logger(__name__)

AT_ONCE = 256
"""Runs that may do something at the same time. One that waits is not among them: it holds no task."""
RUN_KINDS = {"run.started", "run.done", "run.failed", "run.stopped"}


class Runner(Protocol):
    async def advance(self, proposal: str) -> datetime | None:
        """All that can be done now for this run; when to look again, or None."""
        ...

    def poke(self, proposal: str) -> None:
        """Something has happened to the run: whoever is at it looks again before it rests."""
        ...

    def cut(self) -> None:
        """Everything was stopped: give up at once what may be given up."""
        ...


class Asker(Protocol):
    async def advance(self, proposal: str) -> datetime | None:
        """Ask a model for a proposal's plan until there is something to offer; when to look again, or None."""
        ...


@dataclass(frozen=True, slots=True)
class ActDeps:
    """``executor`` makes the executor of one owner; ``process`` is a name that no other process has; ``asker`` makes
    who asks a model for one owner's plans, where a model is configured. ``cut`` is called when everything is stopped:
    it ends the calls of plugins, whoever waits for them."""

    log: Log
    setup: Setup
    executor: Callable[[JournalPort, Book], Runner]
    clock: Clock
    process: str
    asker: Callable[[JournalPort, Book], Asker] | None = None
    cut: Callable[[], None] = lambda: None


class OwnerPort:
    """One owner's JournalPort on the journal of a partition."""

    def __init__(self, journal: PartitionJournal, owner: str) -> None:
        self._journal = journal
        self._owner = owner

    async def append(self, drafts: Sequence[Draft]) -> list[JournalEntry]:
        return await self._journal.append(self._owner, drafts)

    async def position(self) -> int:
        return await self._journal.position()


class ActAgent:
    """Handler of the topics ``triggers`` and ``commands``."""

    def __init__(self, deps: ActDeps) -> None:
        self._deps = deps
        self._journals: dict[int, PartitionJournal] = {}
        self._runners: dict[tuple[int, str], Runner] = {}
        self._feeds: dict[int, EventFeed] = {}
        self._wakes = Wakes()
        self._going: dict[Place, asyncio.Task[None]] = {}
        self._answers: dict[str, asyncio.Future[list[JournalEntry]]] = {}
        self.on_work: Callable[[], None] = lambda: None
        """Called when a run may go on or a timer may have moved."""
        self._asks = Asks(lambda: self.on_work())

    # -- handler

    async def assigned(self, partition: int) -> None:
        journal = PartitionJournal(self._deps.log, partition, self._deps.clock, self._deps.process)
        journal.beside = run_events
        await journal.claim()
        await self._hear_first(journal, partition)
        self._journals[partition] = journal
        self._feeds[partition] = EventFeed(self._deps.log, partition)
        self._look_at_all(journal)
        self.on_work()

    async def _hear_first(self, journal: PartitionJournal, partition: int) -> None:
        """What a person said for everything while nobody was here holds before any run goes on. When these commands
        come again in their turn, they find that they have led to an entry."""
        async for said in unheard(self._deps.log, partition, journal.has_seen):
            if said.proposal == STREAM:
                await self._decide(journal, said.owner, said)

    async def revoked(self, partition: int) -> None:
        await self._asks.cancel(partition)
        self._journals.pop(partition, None)
        self._wakes.forget(partition)
        await self._halt([place for place in self._going if place.partition == partition])
        for key in [key for key in self._runners if key[0] == partition]:
            del self._runners[key]

    async def handle(self, batch: Batch) -> Result:
        result = Result()
        for offset, value in zip(batch.offsets, batch.values, strict=True):
            if value is None:
                continue
            try:
                input = parse(batch.topic, value)
            except PoisonError as error:
                place = f"{batch.partition}:{offset}"
                result.outputs.append(dead_letter(batch.topic, place, error, value, self._deps.clock.now()))
                continue
            if input is not None:
                await self._take(self._journals[batch.partition], input)
        return result

    async def delivered(self, batch: Batch) -> None:
        self.on_work()

    async def _take(self, journal: PartitionJournal, input: Input) -> None:
        assert not isinstance(input, Tick)
        await self._decide(journal, input.owner, input)
        if waiting := self._answers.pop(input.id, None):
            waiting.set_result(journal.caused_by(input.id))

    async def _decide(self, journal: PartitionJournal, owner: str, input: Input) -> list[JournalEntry]:
        drafts = decide(journal.book(owner), input, self._deps.clock.now(), self._deps.setup)
        entries = await journal.append(owner, drafts)
        self._look_at(journal, entries)
        return entries

    def _look_at(self, journal: PartitionJournal, entries: Sequence[JournalEntry]) -> None:
        now = self._deps.clock.now()
        for entry in entries:
            state = journal.book(entry.owner).proposals.get(entry.stream)
            if state is not None and state.phase in ACTIVE:
                self._wakes.set(Place(journal.partition, entry.owner, entry.stream), now)
            if entry.type == "acting.stopped":
                self._cut(journal, entry.owner)
            if is_news_for_all(entry):
                self._asks.wake()
                self._look_at_all(journal)

    def _cut(self, journal: PartitionJournal, owner: str) -> None:
        """The journal admits no beginning any more; what had begun before is given up here."""
        self._asks.cut(journal.book(owner).proposals.keys())
        if runner := self._runners.get((journal.partition, owner)):
            runner.cut()
        self._deps.cut()

    def _look_at_all(self, journal: PartitionJournal) -> None:
        now = self._deps.clock.now()
        for owner, book in journal.books.items():
            for state in book.active():
                self._wakes.set(Place(journal.partition, owner, state.id), now)

    # -- what serve, the demo and the API ask for

    def books(self) -> Iterator[Book]:
        for journal in self._journals.values():
            yield from journal.books.values()

    def port(self, owner: str) -> JournalPort | None:
        """The owner's journal, for what is written beside any input; None where this process has not (yet) got it."""
        journal = next((found for found in self._journals.values() if owner in found.books), None)
        return OwnerPort(journal, owner) if journal else None

    def owns(self, partition: int) -> bool:
        return partition in self._journals

    def answered(self, command: str) -> asyncio.Future[list[JournalEntry]]:
        """The entries that the command with this id leads to. Ask before the command is appended to the log."""
        return self._answers.setdefault(command, asyncio.get_running_loop().create_future())

    def next_wake(self) -> datetime | None:
        """When a proposal or a run next needs time to have passed."""
        times = [t for book in self.books() if (t := next_tick(book)) is not None]
        if len(self._going) < AT_ONCE and (wake := self._wakes.next()) is not None:
            times.append(wake)
        if asks := self._asks.next_wake():
            times.append(asks)
        return min(times, default=None)

    async def step(self) -> bool:
        """Do what is due by now, and see it done: expiries, wake-ups, and each run as far as it goes. True if anything
        happened."""
        moved = False
        while await self.begin() or self._going:
            moved = True
            if self._going:
                await asyncio.wait(self._going.values(), return_when=asyncio.FIRST_COMPLETED)
        return moved

    async def begin(self) -> bool:
        """The same without waiting for what a run does: a slow call of one holds up no other, and no clock. Raises
        what made a run's task fail."""
        self._reap()
        now = self._deps.clock.now()
        moved = False
        self._asks.due(now)
        asked = self._asks.take_ended()
        for partition, journal in list(self._journals.items()):
            for owner, book in list(journal.books.items()):
                due = next_tick(book)
                if (due is not None and due <= now) or any(name in book.proposals for name in asked):
                    await self._decide(journal, owner, Tick())
                    moved = True
                self._ask(partition, journal, book)
            await self._feed(partition, journal)
        for place in self._wakes.due(now, AT_ONCE - len(self._going)):
            moved |= self._go_on(place)
        return moved

    async def _feed(self, partition: int, journal: PartitionJournal) -> None:
        async for book, proposal, uid, event in self._feeds[partition].arrivals(journal.books):
            drafts = waits.arrived(book.proposals[proposal], uid, event, self._deps.clock.now())
            if drafts:
                self._look_at(journal, await journal.append(book.owner, drafts))

    def _ask(self, partition: int, journal: PartitionJournal, book: Book) -> None:
        """A model is asked beside this loop: a slow one holds no run up."""
        if self._deps.asker is None or book.experience.stopped:
            return
        for state in book.planning():
            assert state.planning is not None
            asker = self._deps.asker(OwnerPort(journal, book.owner), book)
            self._asks.go_on(partition, state.id, state.planning.id, partial(asker.advance, state.id))

    def _go_on(self, place: Place) -> bool:
        journal = self._journals.get(place.partition)
        if journal is None:
            return False
        runner = self._runner(place.partition, journal, journal.book(place.owner))
        if place in self._going:
            runner.poke(place.proposal)
            return False
        task = self._going[place] = asyncio.create_task(self._advance(place, runner))
        task.add_done_callback(lambda _: self.on_work())
        return True

    async def _advance(self, place: Place, runner: Runner) -> None:
        self._wakes.sooner(place, await runner.advance(place.proposal))

    def _reap(self) -> None:
        for place in [place for place, task in self._going.items() if task.done()]:
            self._going.pop(place).result()

    async def close(self) -> None:
        """Whatever is under way is given up; the journal tells of it at the next start."""
        await self._asks.cancel()
        await self._halt(list(self._going))

    async def _halt(self, places: Sequence[Place]) -> None:
        tasks = [self._going.pop(place) for place in places]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _runner(self, partition: int, journal: PartitionJournal, book: Book) -> Runner:
        key = (partition, book.owner)
        if key not in self._runners:
            self._runners[key] = self._deps.executor(OwnerPort(journal, book.owner), book)
        return self._runners[key]


def parse(topic: str, value: bytes) -> Input | None:
    """None for what does not concern acting."""
    if topic == topics.COMMANDS:
        return decode(Command, value)
    try:
        signal = SIGNALS.validate_json(value)
    except ValidationError as error:
        raise PoisonError(f"not a signal: {error.errors()[0]['msg']}") from error
    return None if isinstance(signal, Suppression) else signal


def run_events(entry: JournalEntry, book: Book) -> list[Output]:
    """Our own runs are events too, so that rules can watch them.

    A run starts and ends once, so its id makes the event's: a crash may add entries on the way, not events.
    """
    state = book.proposals.get(entry.stream)
    if entry.type not in RUN_KINDS or state is None or state.plan is None:
        return []
    run = state.plan.run
    event = Event(
        id=ids.event_id("forewatch", entry.type, entry.stream, run),
        owner=entry.owner,
        account="forewatch",
        source="forewatch",
        kind=entry.type,
        subject=f"run:{entry.stream}",
        version=run,
        occurred_at=entry.at,
        observed_at=entry.at,
        title=state.title,
        matter=f"run:{entry.stream}",
        trust="service",
        payload=RunPayload(proposal=entry.stream, run=run, status=entry.type.removeprefix("run.")),
    )
    return [Output(topics.EVENTS, entry.owner.encode(), encode(event))]
