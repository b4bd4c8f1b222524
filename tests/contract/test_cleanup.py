"""Compaction and retention: what goes, what stays, and that state survives both."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

import pytest
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from streams.embedded.cleaner import Cleaner
from streams.embedded.store import open_store
from streams.lane import Agent
from streams.testing import CountingHandler, RecordingHandler, compacted
from streams.topics import EVENTS, POLLS, RULE_STATE, SPECS
from streams.work import Log, Output
from tests.peers.brokers import Peer

PATIENCE_S = 30.0
DAY_MS = 86_400_000


async def clean_embedded(peer: Peer, *, days_later: int = 0) -> None:
    from streams.broker import parse_broker
    from streams.embedded.log import now_ms

    broker = parse_broker(peer.url, peer.prefix, peer.partitions)
    store = open_store(broker)
    await Cleaner(store, broker.path, lambda: now_ms() + days_later * DAY_MS).clean()
    await store.release()


async def configure(peer: Peer, topic: str, configs: dict[str, str]) -> None:
    """Makes Apache Kafka clean up at once instead of after days."""
    address = peer.url.removeprefix("kafka://").partition("?")[0]
    admin = AIOKafkaAdminClient(bootstrap_servers=address)
    await admin.start()
    await admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, f"{peer.prefix}.{topic}", configs)])
    await admin.close()


async def until(reached: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not await reached():
            await asyncio.sleep(0.05)


async def count(log: Log, topic: str) -> int:
    found = offset = 0
    while entries := await log.read(topic, 0, offset, 1_000):
        found += len(entries)
        offset = entries[-1].offset + 1
    return found


async def work(peer: Peer, log: Log, first: int) -> CountingHandler:
    """Twenty-five more batches of state: each event is one batch, so each leaves its watermark."""
    handler = CountingHandler(log, RULE_STATE)
    worker = peer.worker(Agent("evaluate", EVENTS, handler))
    await worker.start()
    for n in range(first, first + 25):
        await worker.log.append([Output(EVENTS, b"key-%d" % (n % 3), b"%d" % n)])
        await asyncio.wait_for(worker.drained(), PATIENCE_S)
    await worker.stop()
    return handler


@pytest.mark.parametrize("name", ["embedded", pytest.param("kafka", marks=pytest.mark.kafka)])
def test_state_is_the_same_after_compaction(name: str, request: pytest.FixtureRequest) -> None:
    peer: Peer = request.getfixturevalue(name)

    async def scenario() -> None:
        log = await peer.log()
        if peer.kind == "kafka":
            eager = {"segment.ms": "100", "min.cleanable.dirty.ratio": "0.01", "cleanup.policy": "compact"}
            await configure(peer, RULE_STATE, eager)
        await work(peer, log, 0)
        before = await compacted(log, RULE_STATE, 0)
        written = await log.end(RULE_STATE, 0)

        async def smaller() -> bool:
            if peer.kind == "embedded":
                await clean_embedded(peer)
            else:  # only a new record rolls the segment that Kafka is to compact
                await log.append([Output(RULE_STATE, CountingHandler.WATERMARK, before[CountingHandler.WATERMARK])])
            return await count(log, RULE_STATE) < written / 2

        await until(smaller)
        assert await compacted(log, RULE_STATE, 0) == before
        again = await work(peer, log, 25)
        assert again.loads == [0]
        after = await compacted(log, RULE_STATE, 0)
        del after[CountingHandler.WATERMARK]
        assert after == {b"key-%d" % key: b"%d" % sum(range(key, 50, 3)) for key in range(3)}
        await log.close()

    peer.run(scenario)


@pytest.mark.parametrize("name", ["embedded", pytest.param("kafka", marks=pytest.mark.kafka)])
def test_what_retention_deleted_is_skipped_by_readers_and_agents(name: str, request: pytest.FixtureRequest) -> None:
    peer: Peer = request.getfixturevalue(name)

    async def scenario() -> None:
        log = await peer.log()
        await log.append([Output(POLLS, b"k", b"old %d" % n) for n in range(20)])
        first = RecordingHandler()
        worker = peer.worker(Agent("poll", POLLS, first))
        await worker.start()
        await asyncio.wait_for(worker.drained(), PATIENCE_S)
        await worker.stop()
        assert len(first.delivered_values) == 20
        if peer.kind == "kafka":
            await configure(peer, POLLS, {"retention.ms": "300", "segment.ms": "100", "cleanup.policy": "delete"})

        async def deleted() -> bool:
            if peer.kind == "embedded":
                await clean_embedded(peer, days_later=8)
            else:
                await log.append([Output(POLLS, b"k", b"new")])
            entries = await log.read(POLLS, 0, 0, 1)
            return bool(entries) and entries[0].offset >= 19

        await until(deleted)
        end = await log.end(POLLS, 0)
        assert await log.append([Output(POLLS, b"k", b"newest")]) == [end]
        second = RecordingHandler()
        worker = peer.worker(Agent("poll", POLLS, second))
        await worker.start()
        await asyncio.wait_for(worker.drained(), PATIENCE_S)
        await worker.stop()
        assert second.delivered_values[-1] == b"newest"
        assert not {b"old %d" % n for n in range(20)} & set(second.delivered_values)
        await log.close()

    peer.run(scenario)


def test_retention_waits_for_an_agent_that_has_not_read_yet(embedded: Peer) -> None:
    """It joined, so its place is known, though it never acknowledged anything."""

    async def scenario() -> None:
        log = await embedded.log()
        await log.append([Output(POLLS, b"k", b"%d" % n) for n in range(20)])

        def refuse(_: object) -> None:
            raise OSError("not now")

        worker = embedded.worker(Agent("poll", POLLS, RecordingHandler(on_handle=refuse)))
        with contextlib.suppress(OSError):  # it may fail before the start returns
            await worker.start()
        await worker.wait_crashed()
        await worker.stop()
        await clean_embedded(embedded, days_later=30)
        assert await count(log, POLLS) == 20
        await log.close()

    embedded.run(scenario)


@pytest.mark.kafka
def test_topics_are_created_with_their_counts_and_clean_up(kafka: Peer) -> None:
    async def scenario() -> None:
        three = Peer(kafka.kind, kafka.url, kafka.prefix, 3)
        await (await three.log()).close()
        address = kafka.url.removeprefix("kafka://").partition("?")[0]
        admin = AIOKafkaAdminClient(bootstrap_servers=address)
        await admin.start()
        counts = {topic["topic"]: len(topic["partitions"]) for topic in await admin.describe_topics()}
        assert {counts[f"{kafka.prefix}.{spec.name}"] for spec in SPECS} == {3}
        for spec in SPECS:
            wanted = ConfigResource(ConfigResourceType.TOPIC, f"{kafka.prefix}.{spec.name}")
            (response,) = await admin.describe_configs([wanted])
            configs = {entry[0]: entry[1] for entry in response.resources[0][4]}
            assert configs["cleanup.policy"] == ("compact" if spec.cleanup == "compact" else "delete")
            if spec.cleanup == "keep":
                assert configs["retention.ms"] == "-1"
            if spec.retention_s is not None:
                assert configs["retention.ms"] == str(int(spec.retention_s * 1000))
        await admin.close()

    kafka.run(scenario)
