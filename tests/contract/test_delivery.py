"""What the shell promises to agents, on every broker."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from faust.types import TP

from streams.drain import BATCH
from streams.kafka.consumer import KafkaConsumer
from streams.lane import Agent
from streams.ledger import LIMIT
from streams.testing import CountingHandler, RecordingHandler, compacted
from streams.topics import EVENTS, RECORDS, RULE_STATE, TRIGGERS
from streams.work import Batch, Output, Result
from tests.peers.brokers import Peer

PATIENCE_S = 30.0
"""Only how long a broken build may hang; nothing waits for it."""


def numbered(topic: str, count: int, *, keys: int = 1, first: int = 0) -> list[Output]:
    return [Output(topic, b"key-%d" % (n % keys), b"%d" % n) for n in range(first, first + count)]


def per_key(values: list[bytes | None], keys: int) -> dict[int, list[int]]:
    numbers = [int(value) for value in values if value is not None]
    return {key: [n for n in numbers if n % keys == key] for key in range(keys)}


async def run_once(peer: Peer, *agents: Agent) -> None:
    """Everything that is there is delivered, then the worker stops."""
    worker = peer.worker(*agents)
    await worker.start()
    await asyncio.wait_for(worker.drained(), PATIENCE_S)
    await worker.stop()


async def append(peer: Peer, outputs: list[Output]) -> None:
    log = await peer.log()
    await log.append(outputs)
    await log.close()


def test_the_order_of_a_key_is_kept_over_two_hops(wide: Peer) -> None:
    async def scenario() -> None:
        last = RecordingHandler()
        worker = wide.worker(
            Agent("normalise", RECORDS, RecordingHandler(EVENTS), pipelined=True), Agent("evaluate", EVENTS, last)
        )
        await worker.start()
        for first in range(0, 3_000, 600):
            await worker.log.append(numbered(RECORDS, 600, keys=7, first=first))
        await asyncio.wait_for(worker.drained(), PATIENCE_S)
        await worker.stop()
        assert per_key(last.values, 7) == {key: list(range(key, 3_000, 7)) for key in range(7)}

    wide.run(scenario)


def test_a_group_that_comes_back_gets_only_what_is_new(peer: Peer) -> None:
    async def scenario() -> None:
        await append(peer, numbered(RECORDS, 700))
        first, second = RecordingHandler(), RecordingHandler()
        await run_once(peer, Agent("normalise", RECORDS, first))
        await append(peer, numbered(RECORDS, 5, first=700))
        await run_once(peer, Agent("normalise", RECORDS, second))
        assert per_key(first.values + second.values, 1) == {0: list(range(705))}
        assert len(second.values) == 5

    peer.run(scenario)


def test_every_partition_is_assigned_though_there_is_nothing_to_read(wide: Peer) -> None:
    async def scenario() -> None:
        handler = RecordingHandler()
        await run_once(wide, Agent("act", TRIGGERS, handler))
        assert sorted(handler.calls) == [(what, n) for what in ("assigned", "revoked") for n in range(3)]
        assert handler.calls[:3] == sorted(handler.calls[:3])

    wide.run(scenario)


def test_what_was_not_acknowledged_comes_again_and_nothing_is_skipped(peer: Peer) -> None:
    async def scenario() -> None:
        await append(peer, numbered(RECORDS, 3 * BATCH))

        def third_batch_is_a_bug(batch: Batch) -> None:
            if batch.offsets[-1] >= 2 * BATCH:
                raise ZeroDivisionError("a bug of ours")

        first, second = RecordingHandler(EVENTS, on_handle=third_batch_is_a_bug), RecordingHandler(EVENTS)
        worker = peer.worker(Agent("normalise", RECORDS, first))
        with contextlib.suppress(ZeroDivisionError):  # it may fail before the start returns
            await worker.start()
        assert isinstance(await asyncio.wait_for(worker.wait_crashed(), PATIENCE_S), ZeroDivisionError)
        await worker.stop()
        await run_once(peer, Agent("normalise", RECORDS, second))
        seen = [int(value) for value in first.values + second.values if value is not None]
        assert sorted(set(seen)) == list(range(3 * BATCH))
        assert [int(value) for value in second.values if value is not None][-BATCH:] == list(range(1_000, 1_500))

    peer.run(scenario)


def test_acknowledging_needs_every_agent_of_the_topic(peer: Peer) -> None:
    async def scenario() -> None:
        await append(peer, numbered(EVENTS, 20))

        def refuse(batch: Batch) -> None:
            raise OSError("history is read-only")

        evaluate = RecordingHandler()
        worker = peer.worker(
            Agent("evaluate", EVENTS, evaluate), Agent("history", EVENTS, RecordingHandler(on_handle=refuse))
        )
        with contextlib.suppress(OSError):
            await worker.start()
        await asyncio.wait_for(worker.wait_crashed(), PATIENCE_S)
        await worker.stop()

        again, history = RecordingHandler(), RecordingHandler()
        await run_once(peer, Agent("evaluate", EVENTS, again), Agent("history", EVENTS, history))
        everything = [b"%d" % n for n in range(20)]
        assert history.delivered_values == everything
        assert set(evaluate.delivered_values) | set(again.delivered_values) == set(everything)
        if peer.kind == "embedded":  # each agent has its own place there
            assert evaluate.delivered_values + again.delivered_values == everything

    peer.run(scenario)


def test_state_is_recovered_and_exact_when_a_batch_comes_again(wide: Peer) -> None:
    """The worker dies after outputs and state are durable and before the batch is acknowledged."""

    async def scenario() -> None:
        await append(wide, numbered(EVENTS, 900, keys=9))
        log = await wide.log()
        broken = CountingHandler(log, RULE_STATE, out=TRIGGERS)
        worker = wide.worker(Agent("evaluate", EVENTS, broken))

        def die(batch: Batch) -> None:
            raise OSError("killed here")

        worker._transport.settle = die  # type: ignore[method-assign]
        with contextlib.suppress(OSError):
            await worker.start()
        await asyncio.wait_for(worker.wait_crashed(), PATIENCE_S)
        await worker.stop()

        await append(wide, numbered(EVENTS, 100, keys=9, first=900))
        mended = CountingHandler(log, RULE_STATE, out=TRIGGERS)
        await run_once(wide, Agent("evaluate", EVENTS, mended))
        state = Counter[bytes]()
        for partition in range(3):
            found = await compacted(log, RULE_STATE, partition)
            found.pop(CountingHandler.WATERMARK, None)
            state.update({key: int(value) for key, value in found.items()})
        assert state == Counter({b"key-%d" % key: sum(range(key, 1_000, 9)) for key in range(9)})
        assert sorted(mended.loads) == [0, 1, 2]
        await log.close()

    wide.run(scenario)


def test_a_slow_partition_is_held_back_and_the_others_flow(wide: Peer) -> None:
    async def scenario() -> None:
        release = asyncio.Event()
        held: list[Batch] = []

        def slow_on_zero(batch: Batch) -> object:
            if batch.partition:
                return None
            held.append(batch)
            return release.wait()

        handler = RecordingHandler(on_handle=slow_on_zero)
        worker = wide.worker(Agent("normalise", RECORDS, handler))
        await worker.start()
        many = [Output(RECORDS, b"k", b"%d" % n, partition=0) for n in range(20 * BATCH)]
        await worker.log.append(many)
        await worker.log.append([Output(RECORDS, b"k", b"other %d" % n, partition=1) for n in range(3 * BATCH)])
        await until(lambda: len(handler.delivered_values) == 3 * BATCH)
        ledger = worker._app.consumer.ledger  # type: ignore[attr-defined]
        out = len(ledger._partitions[RECORDS, 0].issued)
        assert len(held) == 1
        assert 1 <= out <= 2 * LIMIT
        release.set()
        await asyncio.wait_for(worker.drained(), PATIENCE_S)
        await worker.stop()
        assert [value for value in handler.values if value and value.isdigit()] == [
            b"%d" % n for n in range(20 * BATCH)
        ]

    wide.run(scenario)


async def until(reached: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not reached():
            await asyncio.sleep(0.01)


def test_what_another_process_appends_is_seen_by_a_running_worker(peer: Peer) -> None:
    script = f"""
import asyncio
from streams.log import open_log
from streams.work import Output

async def main():
    log = await open_log({peer.url!r}, {peer.prefix!r}, 1)
    await log.append([Output({TRIGGERS!r}, b"k", b"%d" % n) for n in range(3)])
    await log.close()

asyncio.run(main())
"""

    async def scenario() -> None:
        handler = RecordingHandler()
        worker = peer.worker(Agent("act", TRIGGERS, handler))
        await worker.start()
        await asyncio.wait_for(worker.drained(), PATIENCE_S)
        other = await asyncio.create_subprocess_exec(sys.executable, "-c", script)
        assert await other.wait() == 0
        await until(lambda: handler.delivered_values == [b"0", b"1", b"2"])
        await worker.stop()

    peer.run(scenario)


def test_a_worker_stops_promptly_while_a_handler_hangs_and_the_batch_comes_again(peer: Peer) -> None:
    async def scenario() -> None:
        await append(peer, numbered(RECORDS, 3))
        entered = asyncio.Event()

        async def hang() -> None:
            entered.set()
            await asyncio.Event().wait()

        worker = peer.worker(Agent("normalise", RECORDS, RecordingHandler(on_handle=lambda batch: hang())))
        await worker.start()
        await asyncio.wait_for(entered.wait(), PATIENCE_S)
        await asyncio.wait_for(worker.stop(), 10)
        handler = RecordingHandler()
        await run_once(peer, Agent("normalise", RECORDS, handler))
        assert handler.values == [b"0", b"1", b"2"]

    peer.run(scenario)


def test_draining_waits_for_what_the_agents_themselves_write(peer: Peer) -> None:
    class Countdown:
        """Writes one record less each time into its own input."""

        def __init__(self) -> None:
            self.seen: list[int] = []

        async def assigned(self, partition: int) -> None: ...
        async def revoked(self, partition: int) -> None: ...
        async def delivered(self, batch: Batch) -> None: ...

        async def handle(self, batch: Batch) -> Result:
            numbers = [int(value) for value in batch.values if value is not None]
            self.seen += numbers
            return Result([Output(EVENTS, b"k", b"%d" % (n - 1)) for n in numbers if n])

    async def scenario() -> None:
        handler = Countdown()
        worker = peer.worker(Agent("loop", EVENTS, handler))
        await worker.start()
        await worker.log.append([Output(EVENTS, b"k", b"5")])
        await asyncio.wait_for(worker.drained(), PATIENCE_S)
        assert handler.seen == [5, 4, 3, 2, 1, 0]
        await worker.stop()

    peer.run(scenario)


def test_a_drain_that_cannot_end_says_why(peer: Peer) -> None:
    async def scenario() -> None:
        def refuse(batch: Batch) -> None:
            raise KeyError("a bug of ours")

        worker = peer.worker(Agent("act", EVENTS, RecordingHandler(on_handle=refuse)))
        await worker.start()
        await worker.log.append(numbered(EVENTS, 1))
        with pytest.raises(KeyError, match="a bug of ours"):
            await asyncio.wait_for(worker.drained(), PATIENCE_S)
        await worker.stop()

    peer.run(scenario)


def test_a_drain_reads_a_last_batch_that_comes_in_several_fetches(peer: Peer) -> None:
    """Tansu tells the base offset of the last record batch, plus one, as the end; what a fetch tells is right."""

    async def scenario() -> None:
        await append(peer, numbered(RECORDS, 5 * LIMIT * BATCH))
        handler = RecordingHandler()
        await run_once(peer, Agent("normalise", RECORDS, handler))
        assert len(handler.values) == 5 * LIMIT * BATCH

    peer.run(scenario)


def test_a_drain_waits_for_what_the_first_fetch_tells(peer: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    """All 1,000 are one record batch, or a few: Tansu tells an end that the commit has passed already."""
    fetched = asyncio.Event()
    fetch = KafkaConsumer.fetch

    async def held(consumer: KafkaConsumer, tps: set[TP]) -> Mapping[TP, Sequence[Any]]:
        await fetched.wait()
        return await fetch(consumer, tps)

    async def scenario() -> None:
        await append(peer, numbered(RECORDS, 2 * BATCH))

        def second_batch_is_a_bug(batch: Batch) -> None:
            if batch.offsets[-1] >= BATCH:
                raise ZeroDivisionError("a bug of ours")

        worker = peer.worker(Agent("normalise", RECORDS, RecordingHandler(on_handle=second_batch_is_a_bug)))
        with contextlib.suppress(ZeroDivisionError):
            await worker.start()
        await asyncio.wait_for(worker.wait_crashed(), PATIENCE_S)
        await worker.stop()

        monkeypatch.setattr(KafkaConsumer, "fetch", held)
        monkeypatch.setattr(KafkaConsumer, "highwater", told_once(fetched, KafkaConsumer.highwater))
        second = RecordingHandler()
        await run_once(peer, Agent("normalise", RECORDS, second))
        assert [int(value) for value in second.values if value is not None][-BATCH:] == list(range(BATCH, 2 * BATCH))

    peer.run(scenario)


def told_once(fetched: asyncio.Event, highwater: Callable[[Any, TP], int | None]) -> Callable[[Any, TP], int | None]:
    """Nothing is known when it is asked for the first time; the fetch is answered after that."""

    def ask(consumer: Any, where: TP) -> int | None:
        known = highwater(consumer, where) if fetched.is_set() else None
        fetched.set()
        return known

    return ask


def test_fausts_own_producer_resolves_when_the_record_is_durable(peer: Peer) -> None:
    async def scenario() -> None:
        handler = RecordingHandler()
        worker = peer.worker(Agent("act", TRIGGERS, handler))
        await worker.start()
        producer = worker._app.producer
        for n in range(3):
            sent = await producer.send(f"{peer.prefix}.{TRIGGERS}", b"k", b"%d" % n, None, None, None)
            assert (await sent).offset == n
            assert await worker.log.end(TRIGGERS, 0) == n + 1
        with pytest.raises(ValueError, match="has headers"):
            await producer.send(f"{peer.prefix}.{TRIGGERS}", b"k", b"v", None, None, {"a": b"b"})
        await asyncio.wait_for(worker.drained(), PATIENCE_S)
        assert handler.values == [b"0", b"1", b"2"]
        await worker.stop()

    peer.run(scenario)
