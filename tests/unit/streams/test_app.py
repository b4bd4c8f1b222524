"""The worker on the embedded log: starting, delivering, failing, stopping."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from faust.types import TP

from schemas.errors import ConfigError, PoisonError
from streams.app import Worker, create_app
from streams.failure import LogFailed
from streams.lane import Agent
from streams.testing import RecordingHandler
from streams.topics import EVENTS, RECORDS, TRIGGERS
from streams.work import Batch, Output, Result

_started: list[Worker] = []


def worker(url: str, *agents: Agent, partitions: int = 1) -> Worker:
    _started.append(create_app(url, prefix="fw", partitions=partitions, agents=agents))
    return _started[-1]


def run(scenario: Callable[[], Awaitable[None]]) -> None:
    """Stops the workers also when the test fails: Faust outlives a cancelled loop."""

    async def main() -> None:
        try:
            await scenario()
        finally:
            while _started:
                await _started.pop().stop()

    asyncio.run(main())


def records(*values: bytes) -> list[Output]:
    return [Output(RECORDS, b"key", value) for value in values]


def test_what_one_agent_writes_the_next_one_reads(url: str) -> None:
    async def scenario() -> None:
        first, second = RecordingHandler(EVENTS), RecordingHandler()
        app = worker(url, Agent("normalise", RECORDS, first), Agent("evaluate", EVENTS, second))
        await app.start()
        await app.log.append(records(b"a", b"b"))
        await app.drained()
        await app.stop()
        assert second.delivered_values == [b"a", b"b"]

    run(scenario)


def test_partitions_are_assigned_before_anything_is_read_and_given_up_at_the_end(url: str) -> None:
    async def scenario() -> None:
        handler = RecordingHandler()
        app = worker(url, Agent("act", RECORDS, handler), partitions=2)
        await app.start()
        await app.drained()
        await app.stop()
        assert sorted(handler.calls[:2]) == [("assigned", 0), ("assigned", 1)]
        assert sorted(handler.calls[2:]) == [("revoked", 0), ("revoked", 1)]

    run(scenario)


def test_two_agents_of_one_topic_both_get_everything(url: str) -> None:
    async def scenario() -> None:
        evaluate, history = RecordingHandler(), RecordingHandler()
        app = worker(url, Agent("evaluate", EVENTS, evaluate), Agent("history", EVENTS, history))
        await app.start()
        await app.log.append([Output(EVENTS, b"k", b"%d" % n) for n in range(1_200)])
        await app.drained()
        await app.stop()
        assert evaluate.values == history.values == [b"%d" % n for n in range(1_200)]

    run(scenario)


def test_a_handler_that_fails_stops_the_worker_with_its_error_and_gets_the_batch_again(url: str) -> None:
    async def scenario() -> None:
        def refuse(batch: Batch) -> None:
            raise ZeroDivisionError("a bug of ours")

        broken = RecordingHandler()
        broken.on_handle = refuse
        app = worker(url, Agent("normalise", RECORDS, broken))
        await app.start()
        await app.log.append(records(b"a"))
        assert isinstance(await app.wait_crashed(), ZeroDivisionError)
        with pytest.raises(ZeroDivisionError):
            await app.drained()
        await app.stop()

        mended = RecordingHandler()
        app = worker(url, Agent("normalise", RECORDS, mended))
        await app.start()
        await app.drained()
        await app.stop()
        assert mended.values == [b"a"]

    run(scenario)


def test_one_agent_of_a_topic_that_fails_does_not_take_the_batch_from_the_other(url: str) -> None:
    async def scenario() -> None:
        def refuse(batch: Batch) -> None:
            raise PoisonError("not today")

        good, bad = RecordingHandler(TRIGGERS), RecordingHandler()
        bad.on_handle = refuse
        app = worker(url, Agent("evaluate", EVENTS, good), Agent("history", EVENTS, bad))
        await app.start()
        await app.log.append([Output(EVENTS, b"k", b"1")])
        await app.wait_crashed()
        await app.stop()

        again, mended = RecordingHandler(TRIGGERS), RecordingHandler()
        app = worker(url, Agent("evaluate", EVENTS, again), Agent("history", EVENTS, mended))
        await app.start()
        await app.drained()
        assert mended.values == [b"1"]
        assert good.delivered_values + again.delivered_values == [b"1"]
        assert await app.log.end(TRIGGERS, 0) == 1
        await app.stop()

    run(scenario)


def test_stopping_is_prompt_in_the_middle_of_a_batch_and_the_batch_comes_again(url: str) -> None:
    async def scenario() -> None:
        entered = asyncio.Event()

        async def hang() -> None:
            entered.set()
            await asyncio.Event().wait()

        slow = RecordingHandler()
        slow.on_handle = lambda batch: hang()
        app = worker(url, Agent("normalise", RECORDS, slow))
        await app.start()
        await app.log.append(records(b"a"))
        await entered.wait()
        await asyncio.wait_for(app.stop(), 5)
        await app.stop()
        assert slow.calls == [("assigned", 0), ("handle", 0), ("revoked", 0)]

        quick = RecordingHandler()
        app = worker(url, Agent("normalise", RECORDS, quick))
        await app.start()
        await app.drained()
        await app.stop()
        assert quick.values == [b"a"]

    run(scenario)


def test_an_agent_of_two_topics_gets_them_one_after_the_other(url: str) -> None:
    async def scenario() -> None:
        running = 0

        async def alone() -> None:
            nonlocal running
            running += 1
            assert running == 1
            await asyncio.sleep(0)
            running -= 1

        handler = RecordingHandler()
        handler.on_handle = lambda batch: alone()
        app = worker(url, Agent("act", (TRIGGERS, RECORDS), handler))
        await app.start()
        for n in range(20):
            await app.log.append([Output(TRIGGERS, b"k", b"t%d" % n), Output(RECORDS, b"k", b"r%d" % n)])
        await app.drained()
        await app.stop()
        assert sorted(handler.values) == sorted([b"t%d" % n for n in range(20)] + [b"r%d" % n for n in range(20)])
        assert handler.calls.count(("assigned", 0)) == 1

    run(scenario)


def test_a_second_worker_on_the_same_log_is_refused_by_name(url: str) -> None:
    async def scenario() -> None:
        app = worker(url, Agent("normalise", RECORDS, RecordingHandler()))
        await app.start()
        with pytest.raises(ConfigError, match=r"pid \d+.*already runs 'fw' on .*log\.db"):
            await worker(url, Agent("normalise", RECORDS, RecordingHandler())).start()
        await app.log.append(records(b"still here"))
        await app.drained()
        await app.stop()

    run(scenario)


def test_state_goes_to_the_changelog_partition_of_its_batch(url: str) -> None:
    class Stateful:
        async def assigned(self, partition: int) -> None: ...
        async def revoked(self, partition: int) -> None: ...
        async def delivered(self, batch: Batch) -> None: ...
        async def handle(self, batch: Batch) -> Result:
            return Result(state=[Output("rule-state", b"watermark", b"%d" % batch.offsets[-1])])

    async def scenario() -> None:
        app = worker(url, Agent("evaluate", EVENTS, Stateful()), partitions=3)
        await app.start()
        await app.log.append([Output(EVENTS, None, b"x", partition=2)])
        await app.drained()
        assert [entry.value for entry in await app.log.read("rule-state", 2, 0, 10)] == [b"0"]
        await app.stop()

    run(scenario)


def test_a_drain_does_not_end_while_partitions_change_hands(url: str) -> None:
    async def scenario() -> None:
        app = worker(url, Agent("normalise", RECORDS, RecordingHandler()))
        await app.start()
        await app.drained()
        app._app.on_rebalance_start()
        draining = asyncio.ensure_future(app.drained())
        for _ in range(50):
            await asyncio.sleep(0)
        assert not draining.done()
        app._app.on_rebalance_end()
        await asyncio.wait_for(draining, 10)

    run(scenario)


def test_a_drain_asks_again_when_something_moved_while_it_asked(url: str) -> None:
    async def scenario() -> None:
        app = worker(url, Agent("normalise", RECORDS, RecordingHandler()))
        await app.start()
        asked = 0

        async def is_caught_up() -> bool:
            nonlocal asked
            asked += 1
            if asked == 1:
                app._moved.set()  # as a lane does that delivered meanwhile, perhaps into a topic already looked at
            return True

        app._transport.is_caught_up = is_caught_up  # type: ignore[method-assign]
        await app.drained()
        assert asked == 2

    run(scenario)


def test_faust_acknowledging_a_message_acknowledges_nothing(url: str) -> None:
    """It does so on an exception, on a cancellation and on what it skips after a rebalance."""

    async def scenario() -> None:
        entered, release = asyncio.Event(), asyncio.Event()

        async def wait() -> None:
            entered.set()
            await release.wait()

        app = worker(url, Agent("normalise", RECORDS, RecordingHandler(on_handle=lambda batch: wait())))
        await app.start()
        await app.log.append(records(b"a"))
        await entered.wait()
        consumer = app._app.consumer
        (message,) = list(consumer.unacked)
        assert not consumer.ack(message)
        assert not consumer.ledger.is_idle(RECORDS, 0)
        release.set()
        await app.drained()
        assert consumer.ledger.is_idle(RECORDS, 0)

    run(scenario)


def test_the_log_of_a_worker_that_was_not_started_says_so(url: str) -> None:
    with pytest.raises(LogFailed, match="was not started"):
        _ = worker(url, Agent("normalise", RECORDS, RecordingHandler())).log
    run(nothing)


async def nothing() -> None:
    """Stops what was never started."""


def test_a_handler_that_cannot_give_up_a_partition_ends_the_worker(url: str) -> None:
    class Clinging(RecordingHandler):
        async def revoked(self, partition: int) -> None:
            raise OSError("cannot save")

    async def scenario() -> None:
        app = worker(url, Agent("history", RECORDS, Clinging()))
        await app.start()
        await app.drained()
        await app._app.consumer.subscribe({"fw.records"})
        assert str(await asyncio.wait_for(app.wait_crashed(), 10)) == "cannot save"

    run(scenario)


def test_faust_is_told_where_the_partitions_stand(url: str) -> None:
    async def scenario() -> None:
        app = worker(url, Agent("normalise", RECORDS, RecordingHandler()))
        await app.start()
        await app.log.append(records(b"a", b"b"))
        await app.drained()
        consumer, tp = app._app.consumer, TP("fw.records", 0)
        assert consumer.assignment() == {tp}
        assert await consumer.position(tp) == consumer.highwater(tp) == 2
        assert await consumer.highwaters(tp) == {tp: 2}
        assert await consumer.earliest_offsets(tp) == {tp: 0}
        assert consumer.topic_partitions("fw.records") == 1
        assert consumer.topic_partitions("fw.nonsense") is None
        assert consumer.key_partition("fw.records", b"key") == 0

    run(scenario)


def test_a_seek_makes_the_records_come_again_and_they_are_settled_without_work(url: str) -> None:
    async def scenario() -> None:
        handler = RecordingHandler(EVENTS)
        app = worker(url, Agent("normalise", RECORDS, handler))
        await app.start()
        await app.log.append(records(b"a", b"b"))
        await app.drained()
        await app._app.consumer.seek(TP("fw.records", 0), 0)
        await app.log.append(records(b"c"))
        await app.drained()
        assert handler.values == [b"a", b"b", b"c"]
        assert await app.log.end(EVENTS, 0) == 3

    run(scenario)


def test_a_start_that_is_given_up_at_any_moment_is_over_at_once_and_leaves_nothing(tmp_path: Path) -> None:
    """After each number of turns of the loop, until one is enough for the whole start."""

    async def given_up(turns: int) -> bool:
        """Had it started?"""
        app = worker(f"embedded://{tmp_path / str(turns)}.db?sync=normal", Agent("act", RECORDS, RecordingHandler()))
        start = asyncio.ensure_future(app.start())
        for _ in range(turns):
            await asyncio.sleep(0)
        has_started = start.done()
        start.cancel()
        async with asyncio.timeout(5):  # Faust alone has twenty seconds before it is left to itself
            await asyncio.wait([start])
            await app.stop()
        assert asyncio.all_tasks() == {asyncio.current_task()}, turns
        return has_started

    turns = 0
    while not asyncio.run(given_up(turns)):
        turns += 1
    assert turns > 10
