"""What goes to Kafka in which order and in how many record batches; and what is said when it fails."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka.errors import KafkaConnectionError, KafkaError, MessageSizeTooLargeError
from aiokafka.producer.message_accumulator import BatchBuilder
from aiokafka.structs import RecordMetadata, TopicPartition

from streams.broker import parse_broker
from streams.failure import LogFailed
from streams.kafka import sender as sender_module
from streams.kafka.admin import MAX_BATCH, create_topics, new_topic, topic_configs
from streams.kafka.consumer import KafkaConsumer
from streams.kafka.failure import REMEDIES, failed
from streams.kafka.log import KafkaLog
from streams.kafka.sender import Sender
from streams.kafka.transport import KafkaTransport
from streams.ledger import Ledger
from streams.log import open_log
from streams.topics import EVENTS, RULE_STATE, SPECS, TRIGGERS, TopicSpec
from streams.work import Batch, Output, Result

BROKER = parse_broker("kafka://broker", "fw", 1)


class FakeProducer:
    """Real batches, no network: ``sent`` are topic and record count; a batch is durable when ``gate`` is open."""

    def __init__(self, **settings: Any) -> None:
        self.settings = settings
        self.sent: list[tuple[str, int]] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.error: KafkaError | None = None
        self._ends: dict[str, int] = {}

    def create_batch(self) -> BatchBuilder:
        return BatchBuilder(self.settings["max_batch_size"], 0)

    async def send_batch(self, batch: BatchBuilder, topic: str, *, partition: int) -> asyncio.Future[Any]:
        self.sent.append((topic, batch.record_count()))
        return asyncio.ensure_future(self._written(batch, topic, partition))

    async def _written(self, batch: BatchBuilder, topic: str, partition: int) -> RecordMetadata:
        await self.gate.wait()
        if self.error is not None:
            raise self.error
        offset = self._ends.get(topic, 0)
        self._ends[topic] = offset + batch.record_count()
        return RecordMetadata(topic, partition, TopicPartition(topic, partition), offset, 0, 0, 0)


@pytest.fixture
def sending(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A Sender on a fake producer; to be called inside of a loop."""
    monkeypatch.setattr(sender_module, "AIOKafkaProducer", FakeProducer)
    return lambda: Sender(BROKER)


def producer_of(sender: Sender) -> FakeProducer:
    return sender._producer  # type: ignore[return-value]


def outputs(topic: str, count: int, size: int = 10) -> list[Output]:
    return [Output(topic, b"k", b"x" * size) for _ in range(count)]


def test_all_state_of_a_batch_is_one_record_batch_however_large(sending: Any) -> None:
    async def scenario() -> None:
        sender = sending()
        await sender.send_unit(outputs(RULE_STATE, 1_000, size=15_000))
        assert producer_of(sender).sent == [("fw.rule-state", 1_000)]

    asyncio.run(scenario())


def test_state_that_fits_no_batch_goes_in_several_each_after_the_one_before(sending: Any) -> None:
    async def scenario() -> None:
        sender = sending()
        producer = producer_of(sender)
        producer.gate.clear()
        sending_all = asyncio.ensure_future(sender.send_unit(outputs(RULE_STATE, 3, size=MAX_BATCH // 2)))
        for _ in range(10):
            await asyncio.sleep(0)
        assert producer.sent == [("fw.rule-state", 1)]
        producer.error = KafkaConnectionError()
        producer.gate.set()
        with pytest.raises(LogFailed):
            await sending_all
        assert producer.sent == [("fw.rule-state", 1)]  # the watermark, which is last, was never sent

    asyncio.run(scenario())


def test_outputs_are_cut_into_batches_of_about_a_megabyte(sending: Any) -> None:
    async def scenario() -> None:
        sender = sending()
        offsets = await sender.send(outputs(EVENTS, 30, size=200_000))
        assert offsets == list(range(30))
        assert producer_of(sender).sent == [("fw.events", 6)] * 5

    asyncio.run(scenario())


def test_a_record_larger_than_a_batch_is_sent_and_left_to_the_broker(sending: Any) -> None:
    async def scenario() -> None:
        sender = sending()
        await sender.send([*outputs(EVENTS, 1), *outputs(EVENTS, 1, size=MAX_BATCH + 1), *outputs(EVENTS, 1)])
        assert sum(count for _, count in producer_of(sender).sent) == 3

    asyncio.run(scenario())


def test_outputs_are_durable_before_any_state_is_sent(sending: Any) -> None:
    async def scenario() -> None:
        log = object.__new__(KafkaLog)
        log.sender = sending()
        producer = producer_of(log.sender)
        transport = object.__new__(KafkaTransport)
        transport.log = log
        producer.gate.clear()
        result = Result(outputs(TRIGGERS, 2), outputs(RULE_STATE, 3))
        batch = Batch(EVENTS, 0, [7], [b"k"], [b"v"])
        delivery = asyncio.ensure_future(transport.deliver("evaluate", batch, result))
        for _ in range(10):
            await asyncio.sleep(0)
        assert producer.sent == [("fw.triggers", 2)]
        producer.gate.set()
        await delivery
        assert producer.sent == [("fw.triggers", 2), ("fw.rule-state", 3)]

    asyncio.run(scenario())


def test_state_is_not_sent_when_an_output_failed(sending: Any) -> None:
    async def scenario() -> None:
        log = object.__new__(KafkaLog)
        log.sender = sending()
        producer_of(log.sender).error = MessageSizeTooLargeError()
        transport = object.__new__(KafkaTransport)
        transport.log = log
        batch = Batch(EVENTS, 0, [7], [b"k"], [b"v"])
        with pytest.raises(LogFailed, match=r"raise max\.message\.bytes"):
            await transport.deliver("evaluate", batch, Result(outputs(TRIGGERS, 2), outputs(RULE_STATE, 3)))
        assert producer_of(log.sender).sent == [("fw.triggers", 2)]

    asyncio.run(scenario())


def test_what_rests_on_other_records_is_not_sent_before_they_are_durable(sending: Any) -> None:
    async def scenario() -> None:
        log = object.__new__(KafkaLog)
        log._broker, log._topics, log._is_closed, log.sender = BROKER, {EVENTS, TRIGGERS}, False, sending()
        producer = producer_of(log.sender)
        producer.gate.clear()
        appending = asyncio.ensure_future(log.append(outputs(EVENTS, 1), then=outputs(TRIGGERS, 1)))
        for _ in range(10):
            await asyncio.sleep(0)
        assert producer.sent == [("fw.events", 1)]
        producer.error = MessageSizeTooLargeError()
        producer.gate.set()
        with pytest.raises(LogFailed):
            await appending
        assert producer.sent == [("fw.events", 1)]

    asyncio.run(scenario())


@pytest.mark.parametrize(("option", "idempotent"), [("", True), ("?idempotence=on", True), ("?idempotence=off", False)])
def test_the_producer_is_idempotent_and_waits_for_all_replicas(
    monkeypatch: pytest.MonkeyPatch, option: str, idempotent: bool
) -> None:
    monkeypatch.setattr(sender_module, "AIOKafkaProducer", FakeProducer)

    async def scenario() -> None:
        settings = producer_of(Sender(parse_broker(f"kafka://broker{option}", "fw", 1))).settings
        assert (settings["acks"], settings["enable_idempotence"]) == ("all", idempotent)

    asyncio.run(scenario())


@pytest.mark.parametrize("kind", REMEDIES)
def test_every_known_error_of_the_broker_has_its_remedy(kind: type[KafkaError]) -> None:
    error = failed(BROKER, kind())
    assert error.remedy == REMEDIES[kind]
    assert str(error).startswith("the log kafka://broker failed: ")


def test_an_unknown_error_of_the_broker_still_says_where_to_look() -> None:
    assert "broker's own log" in str(failed(BROKER, KafkaError("odd")))


def test_a_broker_that_is_not_there_is_told_so() -> None:
    async def scenario() -> None:
        with pytest.raises(LogFailed, match=r"kafka://127\.0\.0\.1:1 failed: .*check that the broker runs"):
            await open_log("kafka://127.0.0.1:1", "fw", 1)

    asyncio.run(scenario())


def test_clean_up_becomes_kafkas_own_settings() -> None:
    assert topic_configs(TopicSpec("t", "compact"))["cleanup.policy"] == "compact"
    assert topic_configs(TopicSpec("t", "keep"))["retention.ms"] == "-1"
    assert topic_configs(TopicSpec("t", "expire", 1.5))["retention.ms"] == "1500"
    assert all(int(topic_configs(spec)["max.message.bytes"]) > MAX_BATCH for spec in SPECS)


@pytest.mark.parametrize(
    ("read_to", "told", "fetched", "caught_up"), [(10, 10, 10, True), (9, 10, 9, False), (9, 1, 10, False)]
)
def test_the_end_is_what_the_broker_tells_or_the_last_fetch_whichever_is_later(
    monkeypatch: pytest.MonkeyPatch, read_to: int, told: int, fetched: int, caught_up: bool
) -> None:
    consumer = reader(monkeypatch, read_to=read_to, position=read_to, highwater=fetched)
    assert asyncio.run(consumer.is_caught_up({TopicPartition("fw.events", 0): told})) is caught_up


def test_records_on_their_way_from_the_consumers_thread_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread is at the end, but the last batch is not with the agents yet."""

    async def scenario() -> None:
        consumer = reader(monkeypatch, read_to=5, position=10, highwater=10)
        last = Batch(EVENTS, 0, range(5, 10), [None] * 5, [b""] * 5)

        async def round_over() -> None:
            consumer.ledger.issue(last)

        monkeypatch.setattr(consumer, "round_over", round_over)
        assert not await consumer.is_caught_up({TopicPartition("fw.events", 0): 10})
        consumer.settle(last)

        async def nothing_more() -> None: ...

        monkeypatch.setattr(consumer, "round_over", nothing_more)
        assert await consumer.is_caught_up({TopicPartition("fw.events", 0): 10})

    asyncio.run(scenario())


def reader(monkeypatch: pytest.MonkeyPatch, *, read_to: int, position: int, highwater: int) -> KafkaConsumer:
    async def at(where: TopicPartition) -> int:
        return position

    consumer = object.__new__(KafkaConsumer)
    consumer.broker, consumer.ledger, consumer.wake = BROKER, Ledger({}), asyncio.Event()
    monkeypatch.setattr(consumer, "position", at)
    monkeypatch.setattr(consumer, "read_to", lambda tp: read_to)
    monkeypatch.setattr(consumer, "highwater", lambda where: highwater)
    return consumer


class SlowBroker:
    """Says that it made topics, and shows them only at the third look."""

    def __init__(self) -> None:
        self.looks = 0

    async def create_topics(self, topics: list[Any]) -> Any:
        self.made = [topic.name for topic in topics]
        return SimpleNamespace(topic_errors=[(name, 0, None) for name in self.made])

    async def describe_topics(self) -> list[dict[str, Any]]:
        self.looks += 1
        return [{"topic": name, "partitions": [{}]} for name in self.made[: self.looks - 1]]


def test_topics_are_made_when_clients_can_see_all_of_them() -> None:
    broker = SlowBroker()
    asyncio.run(create_topics(broker, [new_topic(name, 1, 1, {}) for name in ("one", "other")]))
    assert broker.looks == 3
