"""The seven fences of docs/decisions/0003: what stock Faust does on Apache Kafka, and that ours does not."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any

import faust
import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from faust.transport.consumer import Consumer

from streams.app import Worker
from streams.drain import BATCH, DrainConsumer
from streams.failure import LogFailed
from streams.faust_app import QuickTables
from streams.lane import Agent
from streams.log import open_log
from streams.testing import RecordingHandler
from streams.topics import EVENTS, RECORDS, SPECS
from streams.work import Batch, Output
from tests.peers.brokers import Peer

PATIENCE_S = 30.0


def numbered(topic: str, count: int) -> list[Output]:
    return [Output(topic, b"k", b"%d" % n) for n in range(count)]


async def append(peer: Peer, outputs: list[Output]) -> None:
    log = await peer.log()
    await log.append(outputs)
    await log.close()


async def until(reached: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not reached():
            await asyncio.sleep(0.01)


async def run_once(peer: Peer, handler: RecordingHandler, topic: str = RECORDS) -> None:
    worker = peer.worker(Agent("normalise", topic, handler))
    await worker.start()
    await asyncio.wait_for(worker.drained(), PATIENCE_S)
    await worker.stop()


async def crashed(worker: Worker) -> BaseException:
    """Starts a worker that is to fail, and gives the failure."""
    with contextlib.suppress(Exception):  # it may fail before the start returns
        await worker.start()
    error = await asyncio.wait_for(worker.wait_crashed(), PATIENCE_S)
    await worker.stop()
    return error


# -- stock Faust, with its own consumer, on the same broker


def address(peer: Peer) -> str:
    return peer.url.removeprefix("kafka://").partition("?")[0]


class Stock:
    """A Faust app with one agent on RECORDS, set as Faust's documentation has it, only quicker to join."""

    def __init__(self, peer: Peer, agent: Callable[[Any], Coroutine[Any, Any, None]], **settings: Any) -> None:
        self.peer = peer
        self.app = faust.App(
            peer.prefix,
            broker=f"kafka://{address(peer)}",
            store="memory://",
            autodiscover=False,
            web_enabled=False,
            topic_disable_leader=True,
            topic_allow_declare=False,
            broker_session_timeout=2,
            broker_heartbeat_interval=0.5,
            broker_commit_interval=0.1,
            TableManager=QuickTables,
            **settings,
        )
        self.app._create_directories = lambda: None  # type: ignore[method-assign]
        self.topic = self.app.topic(f"{peer.prefix}.{RECORDS}", key_serializer="raw", value_serializer="raw")
        self.app.agent(self.topic, name=f"{peer.prefix}.stock")(agent)

    async def run(self, until_seen: Callable[[], bool]) -> None:
        """Starts, waits until the agent has seen enough, and stops: the last commit is Faust's."""
        await self.app.start()
        await until(until_seen)
        await self.app.stop()

    async def committed(self) -> int:
        """Where the group would go on; 0 if nothing was committed."""
        admin = AIOKafkaAdminClient(bootstrap_servers=address(self.peer))
        await admin.start()
        offsets = await admin.list_consumer_group_offsets(self.peer.prefix)
        await admin.close()
        found = offsets.get(TopicPartition(f"{self.peer.prefix}.{RECORDS}", 0))
        return max(found.offset, 0) if found else 0


# -- 1. an exception, a cancellation or a failed send never acknowledges


@pytest.mark.kafka
def test_1_stock_acknowledges_the_event_that_an_agent_raised_on(kafka: Peer) -> None:
    async def scenario() -> None:
        seen: list[bytes] = []

        async def agent(stream: Any) -> None:
            async for value in stream:
                seen.append(value)
                if value == b"0":
                    raise ZeroDivisionError("a bug of ours")

        await append(kafka, numbered(RECORDS, 3))
        stock = Stock(kafka, agent)
        await stock.run(lambda: b"2" in seen)
        assert seen.count(b"0") == 1
        assert await stock.committed() == 3  # event 0 is lost

    kafka.run(scenario)


def test_1_a_batch_that_an_agent_raised_on_comes_again(peer: Peer) -> None:
    async def scenario() -> None:
        await append(peer, numbered(RECORDS, 3))

        def bug(batch: Batch) -> None:
            raise ZeroDivisionError("a bug of ours")

        error = await crashed(peer.worker(Agent("normalise", RECORDS, RecordingHandler(on_handle=bug))))
        assert isinstance(error, ZeroDivisionError)
        handler = RecordingHandler()
        await run_once(peer, handler)
        assert handler.delivered_values == [b"0", b"1", b"2"]

    peer.run(scenario)


@pytest.mark.kafka
def test_1_stock_acknowledges_the_event_that_it_was_cancelled_on(kafka: Peer) -> None:
    async def scenario() -> None:
        seen: list[bytes] = []

        async def agent(stream: Any) -> None:
            async for value in stream:
                seen.append(value)
                await asyncio.Event().wait()

        await append(kafka, numbered(RECORDS, 3))
        stock = Stock(kafka, agent, stream_wait_empty=False)
        await stock.run(lambda: bool(seen))
        assert await stock.committed() == 1  # event 0 is lost

    kafka.run(scenario)


@pytest.mark.parametrize("name", ["embedded", pytest.param("kafka", marks=pytest.mark.kafka)])
def test_1_a_batch_in_work_at_the_stop_comes_again(name: str, request: pytest.FixtureRequest) -> None:
    peer: Peer = request.getfixturevalue(name)

    async def scenario() -> None:
        await append(peer, numbered(RECORDS, 3))
        entered = asyncio.Event()

        async def hang() -> None:
            entered.set()
            await asyncio.Event().wait()

        worker = peer.worker(Agent("normalise", RECORDS, RecordingHandler(on_handle=lambda batch: hang())))
        await worker.start()
        await asyncio.wait_for(entered.wait(), PATIENCE_S)
        await worker.stop()
        handler = RecordingHandler()
        await run_once(peer, handler)
        assert handler.delivered_values == [b"0", b"1", b"2"]

    peer.run(scenario)


async def refuse_large_events(peer: Peer, limit: int) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=address(peer))
    await admin.start()
    resource = ConfigResource(ConfigResourceType.TOPIC, f"{peer.prefix}.{EVENTS}", {"max.message.bytes": str(limit)})
    await admin.alter_configs([resource])
    await admin.close()


@pytest.mark.kafka
def test_1_stock_commits_though_the_send_failed(kafka: Peer) -> None:
    async def scenario() -> None:
        seen: list[bytes] = []

        async def agent(stream: Any) -> None:
            async for value in stream:
                await out.send(key=b"k", value=b"x" * 5_000)  # a future that nobody awaits, as documented
                seen.append(value)

        await append(kafka, numbered(RECORDS, 3))
        await refuse_large_events(kafka, 1_000)
        stock = Stock(kafka, agent)
        out = stock.app.topic(f"{kafka.prefix}.{EVENTS}", key_serializer="raw", value_serializer="raw")
        await stock.run(lambda: len(seen) == 3)
        log = await kafka.log()
        assert await log.end(EVENTS, 0) == 0
        assert await stock.committed() == 3  # all three are lost
        await log.close()

    kafka.run(scenario)


@pytest.mark.kafka
def test_1_a_batch_whose_outputs_the_broker_refused_comes_again(kafka: Peer) -> None:
    async def scenario() -> None:
        await append(kafka, [Output(RECORDS, b"k", b"x" * 5_000)])
        await refuse_large_events(kafka, 1_000)
        handler = RecordingHandler(EVENTS)
        error = await crashed(kafka.worker(Agent("normalise", RECORDS, handler)))
        assert isinstance(error, LogFailed)
        assert "max.message.bytes" in str(error)
        assert handler.delivered_values == []
        await refuse_large_events(kafka, 1_000_000)
        handler = RecordingHandler(EVENTS)
        await run_once(kafka, handler)
        assert handler.delivered_values == [b"x" * 5_000]

    kafka.run(scenario)


# -- 2. commits never jump over a batch that is not acknowledged


@pytest.mark.kafka
def test_2_stock_commits_past_an_event_that_was_not_acknowledged(kafka: Peer) -> None:
    async def scenario() -> None:
        seen: list[bytes] = []

        async def agent(stream: Any) -> None:
            async for event in stream.noack().events():
                if event.value != b"1":
                    event.ack()
                seen.append(event.value)
                await asyncio.sleep(0.15 if event.value in (b"0", b"2") else 0)  # a commit in between

        await append(kafka, numbered(RECORDS, 5))
        stock = Stock(kafka, agent, stream_wait_empty=False)
        await stock.run(lambda: len(seen) == 5)
        assert await stock.committed() > 1  # event 1 is lost

    kafka.run(scenario)


@pytest.mark.parametrize(
    "name", [pytest.param("tansu", marks=pytest.mark.tansu), pytest.param("kafka", marks=pytest.mark.kafka)]
)
def test_2_the_commit_stays_before_the_first_batch_that_is_not_acknowledged(
    name: str, request: pytest.FixtureRequest
) -> None:
    """On the embedded log there is no such commit: an offset goes with its batch, and batches go in order."""
    peer: Peer = request.getfixturevalue(name)

    async def scenario() -> None:
        await append(peer, numbered(RECORDS, 4 * BATCH))
        handled: list[Batch] = []
        worker = peer.worker(Agent("normalise", RECORDS, RecordingHandler(on_handle=handled.append)))
        settle = worker._transport.settle

        def all_but_the_second(batch: Batch) -> None:
            if len(handled) != 2:
                settle(batch)

        worker._transport.settle = all_but_the_second  # type: ignore[method-assign]
        await worker.start()
        await until(lambda: len(handled) == 4)
        consumer = worker._app.consumer
        await consumer.commit()
        assert list((await consumer.seek_to_committed()).values()) == [BATCH]
        await worker.stop()

    peer.run(scenario)


# -- 3. nothing is delivered between Faust's resume and its clearing of the queues


@pytest.mark.parametrize(
    ("method", "delivered"), [(DrainConsumer.resume_partitions, 0), (Consumer.resume_partitions, 3)]
)
def test_3_nothing_flows_between_resuming_partitions_and_resuming_the_flow(
    embedded: Peer, monkeypatch: pytest.MonkeyPatch, method: Callable[..., None], delivered: int
) -> None:
    """With Faust's own method the three records go into the queues that it clears in its next step."""

    async def scenario() -> None:
        handler = RecordingHandler()
        worker = embedded.worker(Agent("normalise", RECORDS, handler))
        await worker.start()
        await asyncio.wait_for(worker.drained(), PATIENCE_S)
        consumer = worker._app.consumer
        consumer.pause_partitions(consumer.assignment())
        monkeypatch.setattr(DrainConsumer, "resume_partitions", method)
        consumer.resume_partitions(consumer.assignment())
        await worker.log.append(numbered(RECORDS, 3))
        for _ in range(200):
            await asyncio.sleep(0)
        assert len(handler.values) == delivered
        consumer.resume_flow()
        await asyncio.wait_for(worker.drained(), PATIENCE_S)
        assert len(handler.values) == 3
        await worker.stop()

    embedded.run(scenario)


# -- 4. no tasks per record, no naps, no fetch wait of 1.5 s


def counting_tasks(loop: asyncio.AbstractEventLoop) -> Callable[[], int]:
    """How many tasks the loop made since."""
    made = 0

    def factory(loop: asyncio.AbstractEventLoop, coro: Any, **kwargs: Any) -> asyncio.Task[Any]:
        nonlocal made
        made += 1
        return asyncio.Task(coro, loop=loop, **kwargs)

    loop.set_task_factory(factory)
    return lambda: made


@pytest.mark.kafka
def test_4_stock_makes_tasks_for_every_record(kafka: Peer) -> None:
    async def scenario() -> None:
        seen: list[bytes] = []

        async def agent(stream: Any) -> None:
            async for value in stream:
                seen.append(value)

        await append(kafka, numbered(RECORDS, 2_000))
        made = counting_tasks(asyncio.get_running_loop())
        await Stock(kafka, agent).run(lambda: len(seen) == 2_000)
        assert made() > 2 * 2_000

    kafka.run(scenario)


def test_4_a_batch_costs_a_few_tasks_however_many_records_it_has(peer: Peer) -> None:
    async def scenario() -> None:
        await append(peer, numbered(RECORDS, 10 * BATCH))
        handler = RecordingHandler(EVENTS)
        worker = peer.worker(Agent("normalise", RECORDS, handler))
        made = counting_tasks(asyncio.get_running_loop())
        await worker.start()
        await asyncio.wait_for(worker.drained(), PATIENCE_S)
        tasks = made()
        await worker.stop()
        assert len(handler.values) == 10 * BATCH
        assert tasks < 10 * BATCH / 10

    peer.run(scenario)


@pytest.mark.kafka
def test_4_the_broker_is_asked_with_our_fetch_wait(kafka: Peer) -> None:
    async def scenario() -> None:
        worker = kafka.worker(Agent("normalise", RECORDS, RecordingHandler()))
        await worker.start()
        assert worker._app.consumer._thread._consumer._fetch_max_wait_ms == 500
        await worker.stop()

    kafka.run(scenario)


# -- 5. a stop never hangs, whatever the handlers do


@pytest.mark.kafka
def test_5_stock_does_not_stop_while_a_handler_hangs(kafka: Peer) -> None:
    async def scenario() -> None:
        seen: list[bytes] = []
        release = asyncio.Event()

        async def agent(stream: Any) -> None:
            async for value in stream:
                seen.append(value)
                await release.wait()

        await append(kafka, numbered(RECORDS, 1))
        stock = Stock(kafka, agent)
        await stock.app.start()
        await until(lambda: bool(seen))
        stop = asyncio.ensure_future(stock.app.stop())
        _, waiting = await asyncio.wait([stop], timeout=1.5)
        assert waiting
        release.set()
        await stop

    kafka.run(scenario)


def test_5_a_stop_does_not_wait_for_a_handler_that_refuses_to_be_cancelled(
    embedded: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streams.lane._HANDLER_GRACE_S", 0.05)

    async def scenario() -> None:
        await append(embedded, numbered(RECORDS, 1))
        entered, release = asyncio.Event(), asyncio.Event()

        async def stubborn() -> None:
            entered.set()
            while not release.is_set():
                with contextlib.suppress(asyncio.CancelledError):
                    await release.wait()

        worker = embedded.worker(Agent("normalise", RECORDS, RecordingHandler(on_handle=lambda batch: stubborn())))
        await worker.start()
        await entered.wait()
        await asyncio.wait_for(worker.stop(), 10)
        release.set()

    embedded.run(scenario)


@pytest.mark.parametrize("reached", ["nothing", "log", "group", "partition"])
def test_5_a_start_that_is_given_up_is_over_soon_and_the_next_one_gets_everything(peer: Peer, reached: str) -> None:
    """Told to end while it opens the log, joins its group, or loads its first state."""

    async def scenario() -> None:
        await append(peer, numbered(RECORDS, 3))
        handler = RecordingHandler()
        worker = peer.worker(Agent("normalise", RECORDS, handler))
        starting = asyncio.ensure_future(worker.start())
        await until(
            {
                "nothing": lambda: True,
                "log": lambda: worker._log is not None,
                "group": lambda: worker._is_open,
                "partition": lambda: bool(handler.calls),
            }[reached]
        )
        starting.cancel()
        async with asyncio.timeout(8):  # Faust alone has twenty seconds before it is left to itself
            await asyncio.wait([starting])
            await worker.stop()
        again = RecordingHandler()
        await run_once(peer, again)
        assert sorted({*handler.delivered_values, *again.values}) == [b"0", b"1", b"2"]

    peer.run(scenario)


# -- 6. topics have our partition counts, not the broker's guess


@pytest.mark.kafka
def test_6_a_broker_that_creates_a_topic_by_itself_guesses_its_partitions(kafka: Peer) -> None:
    async def scenario() -> None:
        producer = AIOKafkaProducer(bootstrap_servers=address(kafka))
        await producer.start()
        await producer.send_and_wait(f"{kafka.prefix}.surprise", b"v")
        assert len(await producer.partitions_for(f"{kafka.prefix}.surprise")) == 5
        await producer.stop()

    kafka.run(scenario)


@pytest.mark.parametrize("name", ["embedded", pytest.param("kafka", marks=pytest.mark.kafka)])
def test_6_a_topic_with_another_count_is_refused_before_anything_runs(
    name: str, request: pytest.FixtureRequest
) -> None:
    peer: Peer = request.getfixturevalue(name)

    async def scenario() -> None:
        await (await peer.log()).close()
        other = Peer(peer.kind, peer.url, peer.prefix, 4, peer.workers).worker(
            Agent("normalise", RECORDS, RecordingHandler())
        )
        with pytest.raises(Exception, match="has 1 partitions, the settings say 4"):
            await other.start()

    peer.run(scenario)


def test_6_every_topic_has_the_partitions_that_the_settings_say(wide: Peer) -> None:
    async def scenario() -> None:
        log = await open_log(wide.url, wide.prefix, wide.partitions)
        for spec in SPECS:
            for partition in range(3):
                assert await log.end(spec.name, partition) == 0
        await log.close()

    wide.run(scenario)
