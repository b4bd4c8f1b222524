"""Partitions that change hands: nothing is lost, the state moves with them, and the flow goes on."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

from streams.app import Worker
from streams.lane import Agent
from streams.testing import CountingHandler, RecordingHandler, compacted
from streams.topics import EVENTS, RECORDS, RULE_STATE, TRIGGERS
from streams.work import Log, Output
from tests.peers.brokers import Peer

PATIENCE_S = 30.0


async def until(reached: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not reached():
            await asyncio.sleep(0.01)


async def feed(log: Log, count: int, first: int = 0) -> None:
    await log.append([Output(EVENTS, b"key-%d" % (n % 8), b"%d" % n, n % 4) for n in range(first, first + count)])


async def totals(log: Log) -> Counter[bytes]:
    sums = Counter[bytes]()
    for partition in range(4):
        state = await compacted(log, RULE_STATE, partition)
        state.pop(CountingHandler.WATERMARK, None)
        sums.update({key: int(value) for key, value in state.items()})
    return sums


def expected(count: int) -> Counter[bytes]:
    return Counter({b"key-%d" % key: sum(range(key, count, 8)) for key in range(8)})


def owned(handler: CountingHandler) -> set[int]:
    return set(handler.sums)


@pytest.mark.kafka
def test_a_second_worker_takes_half_of_the_partitions_with_their_state_and_gives_them_back(kafka: Peer) -> None:
    async def scenario() -> None:
        peer = replace(kafka, partitions=4)
        log = await peer.log()
        first, second = CountingHandler(log, RULE_STATE), CountingHandler(log, RULE_STATE)
        one, other = peer.worker(Agent("evaluate", EVENTS, first)), peer.worker(Agent("evaluate", EVENTS, second))
        await feed(log, 2_000)
        await one.start()
        await until(lambda: owned(first) == {0, 1, 2, 3})
        await feed(log, 2_000, 2_000)
        await other.start()
        await until(lambda: len(owned(first)) == len(owned(second)) == 2)
        assert not owned(first) & owned(second)
        await feed(log, 2_000, 4_000)
        await drained(one, other)
        await one.stop()
        await until(lambda: owned(second) == {0, 1, 2, 3})
        await feed(log, 2_000, 6_000)
        await drained(other)
        await other.stop()
        assert await totals(log) == expected(8_000)
        await log.close()

    kafka.run(scenario)


async def drained(*workers: Worker) -> None:
    for worker in workers:
        await asyncio.wait_for(worker.drained(), PATIENCE_S)


@pytest.mark.kafka
def test_partitions_that_change_hands_again_and_again_lose_nothing_and_count_nothing_twice(kafka: Peer) -> None:
    """Workers come and go while the last change of hands is still under way."""

    async def scenario() -> None:
        peer = replace(kafka, partitions=4)
        log = await peer.log()

        def worker(handler: CountingHandler) -> Worker:
            return peer.worker(Agent("evaluate", EVENTS, handler))

        host = CountingHandler(log, RULE_STATE, out=TRIGGERS)
        staying = worker(host)
        await staying.start()
        for n in range(4):
            guests = [worker(CountingHandler(log, RULE_STATE, out=TRIGGERS)) for _ in range(2)]
            await asyncio.gather(*(guest.start() for guest in guests), feed(log, 1_000, 2_000 * n))
            await asyncio.gather(guests[0].stop(), feed(log, 1_000, 2_000 * n + 1_000))
            await guests[1].stop()
        await until(lambda: owned(host) == {0, 1, 2, 3})
        await drained(staying)
        await staying.stop()
        assert await totals(log) == expected(8_000)
        assert await forwarded(log) == set(range(8_000))
        await log.close()

    kafka.run(scenario)


async def forwarded(log: Log) -> set[int]:
    found: set[int] = set()
    for partition in range(4):
        offset = 0
        while entries := await log.read(TRIGGERS, partition, offset, 1_000):
            found |= {int(entry.value) for entry in entries if entry.value is not None}
            offset = entries[-1].offset + 1
    return found


@pytest.mark.kafka
def test_what_has_one_key_meets_in_one_worker_whatever_its_topic(kafka: Peer) -> None:
    async def scenario() -> None:
        peer = replace(kafka, partitions=3)  # odd: dealt out in turn, the topics would be dealt out differently
        handlers = [[RecordingHandler() for _ in range(3)] for _ in range(2)]
        workers = [
            peer.worker(
                *(
                    Agent(topic, topic, handler)
                    for topic, handler in zip((RECORDS, EVENTS, TRIGGERS), mine, strict=True)
                )
            )
            for mine in handlers
        ]
        for worker in workers:
            await worker.start()
        await until(lambda: all(partitions(handler) for mine in handlers for handler in mine))
        await until(lambda: sum(len(partitions(handler)) for mine in handlers for handler in mine) == 9)
        for mine in handlers:
            assert partitions(mine[0]) == partitions(mine[1]) == partitions(mine[2])
        for worker in workers:
            await worker.stop()

    kafka.run(scenario)


def partitions(handler: RecordingHandler) -> set[int]:
    """What the handler owns now, by its calls."""
    mine: set[int] = set()
    for what, partition in handler.calls:
        if what == "assigned":
            mine.add(partition)
        elif what == "revoked":
            mine.discard(partition)
    return mine


def test_the_flow_goes_on_after_a_rebalance_in_mid_stream(peer: Peer) -> None:
    """Tansu is asked to rebalance by a new subscription too; it answers within its session timeout."""

    async def scenario() -> None:
        log = await peer.log()
        handler = CountingHandler(log, RULE_STATE, out=TRIGGERS)
        worker = replace(peer, partitions=1).worker(Agent("evaluate", EVENTS, handler))
        await worker.start()
        for n in range(4):
            await log.append([Output(EVENTS, b"key-%d" % (m % 8), b"%d" % m) for m in range(n * 700, n * 700 + 700)])
            await worker._app.consumer.subscribe({f"{peer.prefix}.{EVENTS}"})
            await until(lambda loads=n + 2: len(handler.loads) >= loads)  # type: ignore[misc]
        await asyncio.wait_for(worker.drained(), PATIENCE_S)
        await worker.stop()
        sums = await compacted(log, RULE_STATE, 0)
        sums.pop(CountingHandler.WATERMARK)
        assert {key: int(value) for key, value in sums.items()} == expected(2_800)
        if peer.kind == "embedded":
            assert await log.end(TRIGGERS, 0) == 2_800
        await log.close()

    peer.run(scenario)
