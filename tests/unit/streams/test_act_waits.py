"""Runs that wait, on the log: events find their waits, over restarts, and a slow call holds up no other run."""

from __future__ import annotations

import asyncio
import gc
import random
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

import pytest

from actions.planning.playbook import Slot
from actions.policy.experience import STREAM
from actions.proposal.book import Book
from actions.proposal.state import ProposalState
from actions.run.executor import Executor
from actions.setup import Setup
from actions.testing.bank import BankTool, Ledger, manifest
from actions.testing.household import OWNER, START, playbook, trigger
from actions.tools.tool import Registry
from actions.tools.wait import all_waits
from schemas import ids
from schemas.clock import ManualClock
from schemas.command import Command
from schemas.errors import Fenced
from schemas.event import Event
from schemas.journal import JournalEntry
from schemas.model import Json
from schemas.trigger import Trigger
from schemas.value import Integrity, Value
from streams import topics
from streams.act import ActAgent, ActDeps
from streams.codec import decode, encode
from streams.hearing import AT_ONCE
from streams.testing import MemoryLog
from streams.work import Batch, Entry, Output

PAY = {"payee": {"slot": "payee"}, "amount": {"slot": "amount"}}
STEPS: list[Mapping[str, object]] = [
    {"id": "s1", "tool": "bank.note", "args": PAY},
    {"id": "s2", "tool": "wait.event", "after": ["s1"],
     "args": {"kind": "calendar.changed", "match.title": {"text": "{title}"}, "days": 5}},
]  # fmt: skip
HANGS: list[Mapping[str, object]] = [{"id": "s1", "tool": "bank.note", "args": PAY}]


WHEN = {"type": "DateTime", "from": ["when"]}
TIMED: list[Mapping[str, object]] = [
    {"id": "s1", "tool": "wait.until", "args": {"until": {"slot": "when"}}},
    {"id": "s2", "tool": "bank.note", "args": PAY, "after": ["s1"]},
]


class Watched(dict[str, ProposalState]):
    """A book's proposals that notes which of them anybody looks at; to go through all of them is to look at all."""

    def __init__(self, proposals: Mapping[str, ProposalState]) -> None:
        super().__init__(proposals)
        self.seen: set[str] = set()

    def __getitem__(self, name: str) -> ProposalState:
        self.seen.add(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self.seen |= {name} & self.keys()
        return super().get(name, default)

    def __iter__(self) -> Iterator[str]:
        self.seen |= super().keys()
        return super().__iter__()

    def values(self) -> Any:
        self.seen |= super().keys()
        return super().values()

    def items(self) -> Any:
        self.seen |= super().keys()
        return super().items()


class Idle:
    """A model that is configured and has nothing to plan."""

    async def advance(self, proposal: str) -> None:
        raise AssertionError("nothing is planned here")


class CountedLog(MemoryLog):
    def __init__(self) -> None:
        super().__init__()
        self.reads: list[tuple[str, int]] = []
        self.writes = 0

    async def append(self, outputs: Sequence[Output], then: Sequence[Output] = ()) -> list[int]:
        self.writes += 1
        return await super().append(outputs, then)

    async def read(self, topic: str, partition: int, offset: int, limit: int) -> list[Entry]:
        self.reads.append((topic, offset))
        return await super().read(topic, partition, offset, limit)


class Stage:
    def __init__(self, steps: Sequence[Mapping[str, object]] = STEPS) -> None:
        self.log = CountedLog()
        self.clock = ManualClock(START)
        self.ledger = Ledger(self.clock)
        note = BankTool(manifest("bank.note", "keyed", effect="write_self"), self.ledger)
        pay = playbook("small", steps)
        pay = pay.model_copy(update={"slots": {**pay.slots, "when": Slot.model_validate(WHEN)}})
        self.setup = Setup({"pay": pay}, Registry([note, *all_waits()]))
        self.note = note
        self.said = 0
        self.act = self.agent()

    def agent(self) -> ActAgent:
        self.said += 1
        return ActAgent(
            ActDeps(
                self.log, self.setup,
                lambda port, book: Executor(port, book, self.setup, self.clock, random.Random(1)),
                self.clock, f"process {self.said}", lambda port, book: Idle(),
            )
        )  # fmt: skip

    async def restart(self) -> None:
        await self.act.close()
        self.act = self.agent()
        await self.act.assigned(0)

    def fired(self, number: int) -> Trigger:
        """What it waits for in time is due as many hours after the start."""
        when = Value(v=(START + timedelta(hours=number)).isoformat(), type="DateTime", integrity=Integrity.KNOWN)
        made = trigger(
            number, key=f"k{number}", title=f"Meeting {number}", id=ids.trigger_id("r", "1", f"k{number}", str(number))
        )
        return made.model_copy(update={"values": {**made.values, "when": when}, "deadline_at": None})

    def book(self) -> Book:
        return next(book for book in self.act.books() if book.owner == OWNER)

    def watch(self) -> Watched:
        found = self.book().proposals = Watched(self.book().proposals)
        return found

    async def take(self, topic: str, said: Trigger | Command) -> None:
        await self.act.handle(Batch(topic, 0, [self.said], [None], [encode(said)]))
        self.said += 1

    async def say_all(self, commands: Sequence[Command]) -> None:
        """Into the log, and taken in their turn."""
        outputs = [Output(topics.COMMANDS, OWNER.encode(), encode(one), 0) for one in commands]
        offsets = await self.log.append(outputs)
        await self.act.handle(Batch(topics.COMMANDS, 0, offsets, [None] * len(offsets), [o.value for o in outputs]))

    def entries(self) -> list[JournalEntry]:
        return [decode(JournalEntry, entry.value or b"") for entry in self.log.entries(topics.JOURNAL)]

    async def begin(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            await self.take(topics.TRIGGERS, self.fired(number))
            state = self.state(number)
            await self.take(topics.COMMANDS, self.command("approve", state.id, state.digest))

    def command(self, verb: str, proposal: str, digest: str, **args: Json) -> Command:
        return Command(
            id=ids.command_id(proposal, verb, str(self.said)), owner=OWNER, who=OWNER, channel="cli",
            verb=verb, proposal=proposal, digest=digest, args=args, at=self.clock.now(),
        )  # type: ignore[arg-type]  # a verb  # fmt: skip

    def state(self, number: int) -> ProposalState:
        found = self.book().by_trigger(self.fired(number).id)
        assert found is not None
        return found

    def phases(self, number: int) -> list[str]:
        state = self.state(number)
        assert state.plan is not None
        return [state.steps[step.uid].phase for step in state.plan.steps]

    async def arrive(self, number: int, kind: str = "calendar.changed") -> None:
        event = Event(
            id=f"e{number}{kind}", owner=OWNER, account="a", source="x", kind=kind, subject="s", version="1",
            occurred_at=START, observed_at=START, title=f"Meeting {number}",
        )  # fmt: skip
        await self.log.append([Output(topics.EVENTS, OWNER.encode(), encode(event), 0)])


def test_an_event_ends_the_one_wait_that_it_is_for_and_nobody_reads_events_for_nothing() -> None:
    async def scenario() -> None:
        stage = Stage()
        await stage.act.assigned(0)
        for number in range(50):
            await stage.arrive(number)
        await stage.act.step()
        assert all(topic != topics.EVENTS for topic, _ in stage.log.reads)
        await stage.begin(range(5))
        await stage.act.step()
        assert [stage.phases(number) for number in range(5)] == [["ok", "waiting"]] * 5
        assert min(offset for topic, offset in stage.log.reads if topic == topics.EVENTS) >= 50
        await stage.arrive(3)
        await stage.arrive(2, "calendar.cancelled")
        await stage.act.step()
        assert [stage.phases(number)[1] for number in range(5)] == ["waiting", "waiting", "waiting", "ok", "waiting"]
        assert stage.state(3).phase == "done"

    asyncio.run(scenario())


def test_what_comes_while_nobody_is_there_is_found_at_the_next_start() -> None:
    async def scenario() -> None:
        stage = Stage()
        await stage.act.assigned(0)
        await stage.begin(range(3))
        await stage.act.step()
        await stage.act.revoked(0)
        await stage.arrive(1)
        await stage.restart()
        await stage.act.step()
        assert [stage.phases(number)[1] for number in range(3)] == ["waiting", "ok", "waiting"]
        stage.clock.advance_to(START + timedelta(days=6))
        await stage.act.step()
        assert {stage.state(number).phase for number in range(3)} == {"done"}
        assert len(stage.ledger.landed()) == 3

    asyncio.run(scenario())


def test_a_call_that_hangs_holds_up_no_other_run() -> None:
    async def scenario() -> None:
        stage = Stage(HANGS)
        stage.note._script = iter(["hang"])
        await stage.act.assigned(0)
        await stage.begin([1])
        await stage.act.begin()
        while not stage.note.calls:
            await asyncio.sleep(0)
        await stage.begin([2])
        while stage.state(2).phase != "done":
            await stage.act.begin()
            await asyncio.sleep(0)
        assert stage.phases(1) == ["sent"]
        await stage.act.close()
        assert stage.phases(1) == ["sent"]

    asyncio.run(scenario())


def test_what_made_a_run_break_comes_out_where_it_is_looked_after() -> None:
    async def scenario() -> None:
        stage = Stage(HANGS)
        await stage.act.assigned(0)
        await stage.begin([1])
        other = stage.agent()
        await other.assigned(0)
        with pytest.raises(Fenced, match="has taken over"):
            await stage.act.step()

    asyncio.run(scenario())


def test_a_wake_looks_at_no_other_run_that_waits() -> None:
    async def scenario() -> None:
        stage = Stage(TIMED)
        await stage.act.assigned(0)
        await stage.begin(range(1, 41))
        await stage.act.step()
        assert [stage.phases(number)[0] for number in range(1, 41)] == ["waiting"] * 40
        watched, idle = stage.watch(), stage.log.writes
        assert not await stage.act.step()
        assert stage.act.next_wake() == START + timedelta(hours=1)
        assert (watched.seen, stage.log.writes) == (set(), idle)
        stage.clock.advance_to(START + timedelta(hours=7))
        await stage.act.step()
        woken = {stage.state(number).id for number in range(1, 8)}
        assert watched.seen == woken
        assert [stage.state(number).phase for number in (7, 8)] == ["done", "running"]
        assert stage.log.writes - idle <= 5 * len(woken)

    asyncio.run(scenario())


def test_a_run_that_waits_holds_no_task_and_no_lock() -> None:
    async def scenario() -> None:
        stage = Stage(TIMED)
        await stage.act.assigned(0)
        before = _held()
        await stage.begin(range(1, 41))
        await stage.act.step()
        assert stage.phases(40) == ["waiting", "pending"]
        plans = [plan for number in range(1, 41) if (plan := stage.state(number).plan)]
        assert len(plans) == 40
        assert len({id(plan.steps[0].retry) for plan in plans}) == 1
        assert _held() == before
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(scenario())


def _held() -> int:
    gc.collect()
    return sum(isinstance(found, asyncio.Lock | asyncio.Event) for found in gc.get_objects())


def test_a_start_reads_the_newest_commands_and_not_all_that_were_ever_given() -> None:
    async def scenario() -> None:
        stage = Stage(TIMED)
        await stage.act.assigned(0)
        await stage.say_all([stage.command("reject", f"nowhere {number}", "") for number in range(3 * AT_ONCE)])
        await stage.restart()
        stage.log.reads.clear()
        await stage.restart()
        told = [offset for topic, offset in stage.log.reads if topic == topics.COMMANDS]
        assert min(told) >= 2 * AT_ONCE
        assert not stage.book().experience.stopped

    asyncio.run(scenario())


@pytest.mark.parametrize("behind", [0, 1, AT_ONCE, 2 * AT_ONCE + 1])
def test_a_stop_that_nobody_was_there_to_hear_holds_at_the_start_whatever_was_said_after_it(behind: int) -> None:
    async def scenario() -> None:
        stage = Stage(TIMED)
        await stage.act.assigned(0)
        await stage.say_all([stage.command("reject", f"nowhere {number}", "") for number in range(AT_ONCE)])
        stop = stage.command("stop_everything", STREAM, "")
        later = [stage.command("reject", f"later {number}", "") for number in range(behind)]
        await stage.log.append([Output(topics.COMMANDS, OWNER.encode(), encode(one), 0) for one in (stop, *later)])
        await stage.restart()
        assert stage.book().experience.stopped
        told = [entry for entry in stage.entries() if entry.cause == stop.id]
        await stage.restart()
        assert [entry for entry in stage.entries() if entry.cause == stop.id] == told
        assert not any(stage.book().has_seen(one.id) for one in later)

    asyncio.run(scenario())
