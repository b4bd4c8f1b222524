"""Copying partitions record by record: keys, headers and times stay what they are, and every record its offset."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from streams.broker import Broker
from streams.kafka.sender import CHUNK, new_producer

_FETCH_MS = 1_000
_SOON_MS = 10
"""It asks for topics that it has not heard of yet, and at their end there is nothing to wait for."""
Header = tuple[str, bytes]


class Row(NamedTuple):
    """A record. Without key and value it stands for one that was taken out: readers pass over it, and those behind it
    keep their offsets."""

    timestamp_ms: int
    key: bytes | None = None
    value: bytes | None = None
    headers: Sequence[Header] = ()
    offset: int = -1


class Copying:
    """One producer and one consumer, which no group hears of."""

    def __init__(self, consumer: AIOKafkaConsumer, producer: AIOKafkaProducer) -> None:
        self._consumer = consumer
        self._producer = producer

    async def bounds(self, topic: str, partitions: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The first offset of each partition, and the one after its last."""
        places = [TopicPartition(topic, number) for number in range(partitions)]
        starts = await self._consumer.beginning_offsets(places)
        ends = await self._consumer.end_offsets(places)
        return tuple(starts[place] for place in places), tuple(ends[place] for place in places)

    async def rows(self, topic: str, partition: int, end: int) -> AsyncIterator[Row]:
        """Every record before ``end``, oldest first."""
        place = TopicPartition(topic, partition)
        self._consumer.assign([place])
        await self._consumer.seek_to_beginning(place)
        while await self._consumer.position(place) < end:
            fetched = await self._consumer.getmany(place, timeout_ms=_FETCH_MS)
            for record in fetched.get(place, ()):
                if record.offset < end:
                    yield Row(record.timestamp, record.key, record.value, record.headers, record.offset)
        self._consumer.unsubscribe()

    async def write(self, topic: str, partition: int, rows: AsyncIterator[Row]) -> None:
        """Behind what is there, in order; durable when it returns."""
        builder = self._producer.create_batch()
        async for row in rows:
            if builder.size() >= CHUNK or not _added(builder, row):
                await self._send(builder, topic, partition)
                builder = self._producer.create_batch()
                _added(builder, row)
        if builder.record_count():
            await self._send(builder, topic, partition)

    async def _send(self, builder: Any, topic: str, partition: int) -> None:
        await (await self._producer.send_batch(builder, topic, partition=partition))


def _added(builder: Any, row: Row) -> bool:
    added = builder.append(timestamp=row.timestamp_ms, key=row.key, value=row.value, headers=list(row.headers))
    return added is not None


async def empty_rows(count: int, timestamp_ms: int) -> AsyncIterator[Row]:
    for _ in range(count):
        yield Row(timestamp_ms)


@asynccontextmanager
async def copying(broker: Broker) -> AsyncIterator[Copying]:
    """Made anew for each topic that was made anew: a producer counts what it has written to a partition of a name."""
    consumer = AIOKafkaConsumer(
        bootstrap_servers=list(broker.servers),
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        retry_backoff_ms=_SOON_MS,
        fetch_max_wait_ms=_SOON_MS,
    )
    producer = new_producer(broker)
    try:
        await consumer.start()
        await producer.start()
        yield Copying(consumer, producer)
    finally:
        await producer.stop()
        await consumer.stop()
