"""What a Kafka broker really holds, read past our own code."""

from __future__ import annotations

from typing import NamedTuple

from aiokafka import AIOKafkaConsumer, TopicPartition

from streams.broker import Broker
from streams.kafka.admin import admin_client, partition_counts


class Record(NamedTuple):
    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...]
    timestamp_ms: int


async def records(broker: Broker) -> list[Record]:
    """Every record of every topic of this log, as the broker gives it."""
    async with admin_client(broker) as client:
        counts = await partition_counts(client)
    places = [TopicPartition(t, n) for t, count in counts.items() if t.startswith(broker.prefix) for n in range(count)]
    consumer = AIOKafkaConsumer(bootstrap_servers=list(broker.servers), auto_offset_reset="earliest")
    await consumer.start()
    found = []
    try:
        ends = await consumer.end_offsets(places)
        for place in places:
            consumer.assign([place])
            await consumer.seek_to_beginning(place)
            while await consumer.position(place) < ends[place]:
                for row in (await consumer.getmany(place, timeout_ms=500)).get(place, ()):
                    name = broker.bare(row.topic)
                    headers = tuple(row.headers)
                    found.append(Record(name, row.partition, row.offset, row.key, row.value, headers, row.timestamp))
    finally:
        await consumer.stop()
    return sorted(found, key=lambda record: record[:3])
