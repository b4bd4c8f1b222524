"""Runs that wait, on the log: events find their waits, over restarts, and a slow call holds up no other run."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence
from datetime import timedelta

import pytest

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
from schemas.model import Json
from schemas.trigger import Trigger
from streams import topics
from streams.act import ActAgent, ActDeps
from streams.codec import encode
from streams.testing import MemoryLog
from streams.work import Batch, Entry, Output

PAY = {"payee": {"slot": "payee"}, "amount": {"slot": "amount"}}
STEPS: list[Mapping[str, object]] = [
    {"id": "s1", "tool": "bank.note", "args": PAY},
    {"id": "s2", "tool": "wait.event", "after": ["s1"],
     "args": {"kind": "calendar.changed", "match.title": {"text": "{title}"}, "days": 5}},
]  # fmt: skip
HANGS: list[Mapping[str, object]] = [{"id": "s1", "tool": "bank.note", "args": PAY}]


class CountedLog(MemoryLog):
    def __init__(self) -> None:
        super().__init__()
        self.reads: list[tuple[str, int]] = []

    async def read(self, topic: str, partition: int, offset: int, limit: int) -> list[Entry]:
        self.reads.append((topic, offset))
        return await super().read(topic, partition, offset, limit)


class Stage:
    def __init__(self, steps: Sequence[Mapping[str, object]] = STEPS) -> None:
        self.log = CountedLog()
        self.clock = ManualClock(START)
        self.ledger = Ledger(self.clock)
        note = BankTool(manifest("bank.note", "keyed", effect="write_self"), self.ledger)
        self.setup = Setup({"pay": playbook("small", steps)}, Registry([note, *all_waits()]))
        self.note = note
        self.said = 0
        self.act = self.agent()

    def agent(self) -> ActAgent:
        self.said += 1
        return ActAgent(
            ActDeps(
                self.log, self.setup,
                lambda port, book: Executor(port, book, self.setup, self.clock, random.Random(1)),
                self.clock, f"process {self.said}",
            )
        )  # fmt: skip

    async def restart(self) -> None:
        await self.act.close()
        self.act = self.agent()
        await self.act.assigned(0)

    def fired(self, number: int) -> Trigger:
        return trigger(
            number, key=f"k{number}", title=f"Meeting {number}", id=ids.trigger_id("r", "1", f"k{number}", str(number))
        )

    async def take(self, topic: str, said: Trigger | Command) -> None:
        await self.act.handle(Batch(topic, 0, [self.said], [None], [encode(said)]))
        self.said += 1

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
        book = next(book for book in self.act.books() if book.owner == OWNER)
        found = book.by_trigger(self.fired(number).id)
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
