"""Processes killed with SIGKILL at random times: nothing acknowledged is lost, and the state is exact."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import random
import signal
import time
from collections import Counter
from pathlib import Path

import pytest

from streams.testing import CountingHandler, compacted
from streams.topics import EVENTS, RECORDS, RULE_STATE, TRIGGERS
from streams.work import Log
from tests.contract.lives import agents, live
from tests.peers.brokers import Peer

PATIENCE_S = 60.0
_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload(["tests.contract.lives"])


def kill_again_and_again(peer: Peer, lives: int) -> list[int]:
    """Each life ends some acknowledgements, and some milliseconds, after its start; all acknowledged values."""
    dice, acknowledged = random.Random(20261130), list[int]()
    for life in range(1, lives + 1):
        here, there = _processes.Pipe(duplex=False)
        process = _processes.Process(target=live, args=(peer.url, peer.prefix, life, there))
        process.start()
        there.close()
        for _ in range(dice.randint(1, 12)):
            assert here.poll(PATIENCE_S)
            acknowledged += here.recv()
        time.sleep(dice.random() * 0.015)  # so that the kill hits any step, not just the one after an answer
        os.kill(process.pid or 0, signal.SIGKILL)
        process.join()
        assert process.exitcode == -signal.SIGKILL
        try:
            while here.poll():
                acknowledged += here.recv()
        except EOFError:
            here.close()
    return acknowledged


async def finish(peer: Peer) -> None:
    log = await peer.log()
    worker = peer.worker(*agents(log))
    await worker.start()
    await asyncio.wait_for(worker.drained(), PATIENCE_S)
    await worker.stop()
    await log.close()


async def values(log: Log, topic: str) -> list[int]:
    found: list[int] = []
    offset = 0
    while entries := await log.read(topic, 0, offset, 1_000):
        found += [int(entry.value) for entry in entries if entry.value is not None]
        offset = entries[-1].offset + 1
    return found


async def sums(log: Log) -> Counter[int]:
    state = await compacted(log, RULE_STATE, 0)
    state.pop(CountingHandler.WATERMARK, None)
    return Counter({int(key.removeprefix(b"key-")): int(value) for key, value in state.items()})


def sums_of(numbers: list[int]) -> Counter[int]:
    counted = Counter[int]()
    for number in numbers:
        counted[number % 5] += number
    return counted


@pytest.mark.kill
@pytest.mark.parametrize("sync", ["full", "normal"])
def test_on_the_embedded_log_nothing_is_lost_and_nothing_happens_twice(tmp_path: Path, sync: str) -> None:
    peer = Peer("embedded", f"embedded://{tmp_path}/log.db?sync={sync}", "fw")
    acknowledged = kill_again_and_again(peer, lives=20)

    async def scenario() -> None:
        await finish(peer)
        log = await peer.log()
        records = await values(log, RECORDS)
        assert set(acknowledged) <= set(records)
        assert len(records) == len(set(records))
        assert await values(log, EVENTS) == records
        assert await values(log, TRIGGERS) == records
        assert await sums(log) == sums_of(records)
        await log.close()

    peer.run(scenario)


@pytest.mark.kill
@pytest.mark.kafka
def test_on_kafka_nothing_is_lost_and_the_state_is_exact(kafka: Peer) -> None:
    """Events may be there twice, at least once being the promise; the state counts each offset once."""
    acknowledged = kill_again_and_again(kafka, lives=4)

    async def scenario() -> None:
        await finish(kafka)
        log = await kafka.log()
        records, events, triggers = [await values(log, topic) for topic in (RECORDS, EVENTS, TRIGGERS)]
        assert set(acknowledged) <= set(records)
        assert len(records) == len(set(records))
        assert set(events) == set(records)
        assert set(triggers) == set(records)
        assert await sums(log) == sums_of(events)
        await log.close()

    kafka.run(scenario)
