"""A lane: the order of calls, pipelining, and that nothing which fails is acknowledged."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from streams.lane import Agent, Lane, after
from streams.testing import RecordingHandler
from streams.work import Batch, Result


class FakeCarrier:
    """Notes what is delivered and settled; ``gate`` holds deliveries back, ``error`` makes them fail."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.settled: list[Batch] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.error: Exception | None = None
        self.known = 0

    def progress(self, agent: str, topic: str, partition: int) -> int:
        return self.known

    async def deliver(self, agent: str, batch: Batch, result: Result) -> None:
        self.notes.append(f"deliver {batch.offsets[0]}")
        await self.gate.wait()
        if self.error is not None:
            raise self.error
        self.notes.append(f"durable {batch.offsets[0]}")

    def settle(self, batch: Batch) -> None:
        self.settled.append(batch)


def batch(*offsets: int) -> Batch:
    return Batch("events", 0, offsets, [None] * len(offsets), [b"%d" % n for n in offsets])


class Scene:
    def __init__(self, handler: Any, *, pipelined: bool = False) -> None:
        self.carrier = FakeCarrier()
        self.failures: list[BaseException] = []
        self.moved = asyncio.Event()
        self._agent = Agent("evaluate", "events", handler, pipelined)

    def lane(self) -> Lane:
        return Lane(self._agent, 0, self.carrier, on_move=self.moved.set, on_failure=self._failed)

    def _failed(self, error: BaseException) -> None:
        self.failures.append(error)
        self.moved.set()

    async def until(self, reached: Callable[[], bool]) -> None:
        while not reached():
            self.moved.clear()
            await self.moved.wait()


def test_a_batch_is_handled_then_delivered_then_settled() -> None:
    async def scenario() -> None:
        handler = RecordingHandler()
        scene = Scene(handler)
        lane = scene.lane()
        only = batch(0, 1)
        lane.put(only, None)
        await scene.until(lambda: lane.is_idle)
        await lane.close()
        assert handler.calls == [("assigned", 0), ("handle", 0), ("delivered", 0), ("revoked", 0)]
        assert scene.carrier.notes == ["deliver 0", "durable 0"]
        assert scene.carrier.settled == [only]

    asyncio.run(scenario())


def test_a_lane_works_on_its_assignment_until_the_handler_has_loaded_its_state() -> None:
    async def scenario() -> None:
        handler = RecordingHandler()
        loaded = asyncio.Event()

        async def assigned(partition: int) -> None:
            await loaded.wait()

        handler.assigned = assigned
        scene = Scene(handler)
        lane = scene.lane()
        lane.put(batch(0), None)
        await asyncio.sleep(0)
        assert not lane.is_idle
        assert handler.calls == []
        loaded.set()
        await scene.until(lambda: lane.is_idle)
        await lane.close()
        assert handler.values == [b"0"]

    asyncio.run(scenario())


@pytest.mark.parametrize("pipelined", [False, True])
def test_only_a_pipelined_handler_works_while_the_last_batch_is_on_its_way(pipelined: bool) -> None:
    async def scenario() -> None:
        handler = RecordingHandler()
        second = asyncio.Event()
        handler.on_handle = lambda batch: second.set() if batch.offsets[0] == 1 else None
        scene = Scene(handler, pipelined=pipelined)
        scene.carrier.gate.clear()
        lane = scene.lane()
        for n in range(3):
            lane.put(batch(n), None)
        if pipelined:
            await second.wait()
        for _ in range(20):
            await asyncio.sleep(0)
        assert handler.values == ([b"0", b"1"] if pipelined else [b"0"])
        assert scene.carrier.notes == ["deliver 0"]
        scene.carrier.gate.set()
        await scene.until(lambda: lane.is_idle)
        await lane.close()
        assert scene.carrier.notes == [f"{what} {n}" for n in range(3) for what in ("deliver", "durable")]

    asyncio.run(scenario())


@pytest.mark.parametrize("pipelined", [False, True])
def test_a_failed_delivery_is_not_settled_and_nothing_later_is_delivered(pipelined: bool) -> None:
    async def scenario() -> None:
        scene = Scene(RecordingHandler(), pipelined=pipelined)
        scene.carrier.error = OSError("disk full")
        lane = scene.lane()
        for n in range(3):
            lane.put(batch(n), None)
        await scene.until(lambda: bool(scene.failures))
        for _ in range(20):
            await asyncio.sleep(0)
        await lane.close()
        assert isinstance(scene.failures[0], OSError)
        assert scene.carrier.settled == []
        assert scene.carrier.notes == ["deliver 0"]

    asyncio.run(scenario())


def test_a_handler_that_raises_settles_nothing() -> None:
    async def scenario() -> None:
        handler = RecordingHandler()

        def refuse(_: Batch) -> None:
            raise KeyError("bug")

        handler.on_handle = refuse
        scene = Scene(handler)
        lane = scene.lane()
        lane.put(batch(0), None)
        await scene.until(lambda: bool(scene.failures))
        await lane.close()
        assert scene.carrier.settled == []
        assert scene.carrier.notes == []

    asyncio.run(scenario())


def test_closing_cancels_the_handler_but_lets_a_delivery_finish() -> None:
    async def scenario() -> None:
        handler = RecordingHandler()
        scene = Scene(handler)
        scene.carrier.gate.clear()
        lane = scene.lane()
        lane.put(batch(0), None)
        lane.put(batch(1), None)
        while not scene.carrier.notes:
            await asyncio.sleep(0)
        closing = asyncio.ensure_future(lane.close())
        for _ in range(20):
            await asyncio.sleep(0)
        assert not closing.done()
        scene.carrier.gate.set()
        await closing
        assert [one.offsets[0] for one in scene.carrier.settled] == [0]
        assert handler.values == [b"0"]
        assert scene.failures == []

    asyncio.run(scenario())


def test_what_an_agent_delivered_before_a_restart_is_settled_without_work() -> None:
    async def scenario() -> None:
        handler = RecordingHandler()
        scene = Scene(handler)
        scene.carrier.known = 5
        lane = scene.lane()
        whole, partly = batch(1, 4), batch(4, 5, 8)
        lane.put(whole, None)
        lane.put(partly, whole)
        await scene.until(lambda: lane.is_idle)
        await lane.close()
        assert handler.values == [b"5", b"8"]
        assert scene.carrier.settled == [whole, partly]

    asyncio.run(scenario())


def test_a_batch_is_cut_at_an_offset() -> None:
    whole = batch(3, 5, 9)
    assert after(whole, 2) is whole
    assert after(whole, 10) is None
    cut = after(whole, 4)
    assert cut is not None
    assert (list(cut.offsets), list(cut.values)) == ([5, 9], [b"5", b"9"])


def test_a_batch_whose_predecessor_never_came_fails_the_lane() -> None:
    async def scenario() -> None:
        handler = RecordingHandler()
        scene = Scene(handler)
        lane = scene.lane()
        first, lost, third = batch(0), batch(1), batch(2)
        lane.put(first, None)
        await scene.until(lambda: lane.is_idle)
        lane.put(third, lost)
        await lane.close()
        (failure,) = scene.failures
        assert "evaluate missed the batch from offset 1 of 'events'; start again" in str(failure)
        assert handler.values == [b"0"]

    asyncio.run(scenario())


def test_a_delivery_that_does_not_finish_is_a_failure_when_the_lane_closes() -> None:
    """It may yet be written, and the next owner's state would be older than that."""

    async def scenario() -> None:
        scene = Scene(RecordingHandler())
        scene.carrier.gate.clear()
        lane = scene.lane()
        lane.put(batch(0), None)
        while not scene.carrier.notes:
            await asyncio.sleep(0)
        await lane.close(delivery_grace_s=0)
        (failure,) = scene.failures
        assert "evaluate could not finish writing for partition 0; check the broker" in str(failure)
        assert scene.carrier.settled == []

    asyncio.run(scenario())
