import asyncio
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from actions.run.executor import Executor
from forewatch.settings import Settings
from forewatch.wiring import build_setup
from rules.engine import Engine
from rules.ruleset import RuleSet
from schemas.account import AccountState, CursorState
from schemas.clock import ManualClock
from schemas.command import Command
from schemas.deadletter import DeadLetter
from schemas.event import Event
from schemas.record import PollDue
from streams import topics
from streams.accounts import accounts, cursors
from streams.act import ActAgent, ActDeps
from streams.codec import decode, encode
from streams.evaluate import EvaluateAgent
from streams.testing import MemoryLog, batch_of
from streams.ticker import Ticker, TickerDeps
from streams.work import Entry, Output

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ZONE = ZoneInfo("Europe/Berlin")


class Stage:
    def __init__(self, home: Path) -> None:
        self.log = MemoryLog()
        self.clock = ManualClock(NOW)
        setup = build_setup(Settings(home=home, timezone="Europe/Berlin"), self.clock)
        self.act = ActAgent(
            ActDeps(
                self.log, setup, lambda port, book: Executor(port, book, setup, self.clock, random.Random(1)),
                self.clock, "test",
            )
        )  # fmt: skip
        self.evaluate = EvaluateAgent(self.log, lambda owner: Engine(RuleSet.of([], zone=ZONE), owner, ZONE))
        self.cursors = cursors(self.log)
        self.ticker = Ticker(
            TickerDeps(self.log, accounts(self.log), self.cursors, self.evaluate, self.act, ("me",), ZONE, self.clock)
        )

    async def start(self) -> None:
        await self.evaluate.assigned(0)
        await self.act.assigned(0)

    async def add_account(self) -> None:
        state = AccountState(id="a", owner="me", connector="x", created_at=NOW, poll_every_s=60)
        await self.log.append([accounts(self.log).output(state)])

    async def evaluate_all(self) -> None:
        found = self.log.entries(topics.EVENTS)
        if found:
            result = await self.evaluate.handle(batch_of(found))
            await self.log.append(result.outputs, result.state)

    def written(self, topic: str, model: Any) -> list[Any]:
        return [decode(model, entry.value or b"") for entry in self.log.entries(topic)]


def test_a_poll_is_asked_for_once_until_it_is_done(tmp_path: Path) -> None:
    async def scenario() -> None:
        stage = Stage(tmp_path)
        await stage.start()
        await stage.add_account()
        for _ in range(3):
            await stage.ticker.step()
        assert len(stage.written(topics.POLLS, PollDue)) == 1
        await stage.log.append([stage.cursors.output(CursorState(account="a", polled_at=NOW))])
        await stage.ticker.step()
        assert stage.ticker.next_due() == NOW + timedelta(seconds=60)
        stage.clock.advance_to(NOW + timedelta(seconds=60))
        await stage.ticker.step()
        assert len(stage.written(topics.POLLS, PollDue)) == 2

    asyncio.run(scenario())


def test_each_day_is_announced_once_also_after_a_stop(tmp_path: Path) -> None:
    async def scenario() -> None:
        stage = Stage(tmp_path)
        await stage.start()
        await stage.ticker.step()
        await stage.evaluate_all()
        stage.clock.advance_to(NOW + timedelta(days=3))
        for _ in range(2):
            await stage.ticker.step()
            await stage.evaluate_all()
        days = [event.version for event in stage.written(topics.EVENTS, Event) if event.kind == "clock.day"]
        assert days == ["2026-03-01", "2026-03-02", "2026-03-03", "2026-03-04"]

    asyncio.run(scenario())


def test_a_worker_that_does_not_own_the_first_partition_leaves_polls_to_the_one_that_does(tmp_path: Path) -> None:
    async def scenario() -> None:
        stage = Stage(tmp_path)
        await stage.add_account()
        await stage.ticker.step()
        assert stage.log.entries(topics.POLLS) == []

    asyncio.run(scenario())


def test_what_is_no_signal_or_command_is_a_dead_letter(tmp_path: Path) -> None:
    async def scenario() -> None:
        stage = Stage(tmp_path)
        await stage.start()
        result = await stage.act.handle(batch_of([Entry(topics.COMMANDS, 0, 0, b"me", b"{}")]))
        again = await stage.act.handle(batch_of([Entry(topics.TRIGGERS, 0, 0, b"me", b'{"type":"surprise"}')]))
        letters = [decode(DeadLetter, o.value or b"") for o in (*result.outputs, *again.outputs)]
        assert [letter.topic for letter in letters] == [topics.COMMANDS, topics.TRIGGERS]

    asyncio.run(scenario())


def test_a_command_for_an_unknown_proposal_is_refused_once_however_often_it_comes(tmp_path: Path) -> None:
    async def scenario() -> None:
        stage = Stage(tmp_path)
        await stage.start()
        command = Command(id="c1", owner="me", who="nora", channel="test", verb="approve", proposal="nowhere", at=NOW)
        answer = stage.act.answered("c1")
        entry = Entry(topics.COMMANDS, 0, 0, b"me", encode(command))
        await stage.act.handle(batch_of([entry]))
        (refused,) = await answer
        assert (refused.type, refused.body["code"]) == ("command.refused", "unknown_proposal")
        before = len(stage.log.entries(topics.JOURNAL))
        again = stage.act.answered("c1")
        await stage.act.handle(batch_of([entry]))
        assert await again == [refused]
        assert len(stage.log.entries(topics.JOURNAL)) == before

    asyncio.run(scenario())


def test_a_fold_follows_its_topic_and_forgets_tombstones() -> None:
    async def scenario() -> None:
        log = MemoryLog()
        fold = cursors(log)
        await log.append([fold.output(CursorState(account="a", failures=1))])
        await fold.refresh()
        await log.append([fold.output(CursorState(account="a", failures=2)), Output(topics.CURSORS, b"b", None)])
        await fold.refresh()
        assert [state.failures for state in fold] == [2]
        await log.append([Output(topics.CURSORS, b"a", None)])
        await fold.refresh()
        assert list(fold) == []

    asyncio.run(scenario())


def test_a_ticker_that_is_ended_just_when_it_is_woken_ends(tmp_path: Path) -> None:
    """At a start it is woken again and again: a cancellation that is lost there keeps the process for ever."""

    async def scenario(turns: int) -> None:
        stage = Stage(tmp_path)
        running = asyncio.ensure_future(stage.ticker.run())
        await rested()
        stage.ticker.wake()
        for _ in range(turns):
            await asyncio.sleep(0)
        running.cancel()
        _, left = await asyncio.wait([running], timeout=1)
        assert not left, f"{turns} turns of the loop after the wake-up"

    for turns in range(6):
        asyncio.run(scenario(turns))


async def rested() -> None:
    """Everything that can happen without time passing has happened."""
    for _ in range(50):
        await asyncio.sleep(0)
