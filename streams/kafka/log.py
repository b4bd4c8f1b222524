"""The log on Kafka without a consumer group."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition

from schemas.errors import ConfigError
from streams.broker import Broker
from streams.failure import closed
from streams.kafka.admin import ensure_topics
from streams.kafka.failure import told
from streams.kafka.sender import Sender
from streams.topics import TopicSpec
from streams.work import Entry, Output

_FETCH_WAIT_MS = 5
"""A read at the end of a partition takes as long."""


class KafkaLog:
    """A ``Log`` on a broker. Reading assigns a partition by hand: no group hears of it."""

    def __init__(self, broker: Broker, specs: Sequence[TopicSpec]) -> None:
        self._broker = broker
        self._topics = {spec.name for spec in specs}
        self.sender = Sender(broker)
        self._consumer = AIOKafkaConsumer(
            bootstrap_servers=list(broker.servers),
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            fetch_max_wait_ms=_FETCH_WAIT_MS,
        )
        self._asking = asyncio.Lock()
        """One question to the consumer at a time; and it is not stopped with a connection half made."""
        self._is_closed = False
        self._place: tuple[TopicPartition, int] | None = None
        """What the consumer is assigned, and the offset that it gives next."""

    async def start(self) -> None:
        await self.sender.start()
        with told(self._broker):
            await self._consumer.start()

    async def close(self) -> None:
        self._is_closed = True
        await self.sender.stop()
        async with self._asking:
            await self._consumer.stop()

    async def append(self, outputs: Sequence[Output], then: Sequence[Output] = ()) -> list[int]:
        if self._is_closed:
            raise closed(self._broker.url)
        for output in (*outputs, *then):
            self._check(output.topic, output.partition or 0)
        offsets = await self.sender.send(outputs)
        return [*offsets, *await self.sender.send(then)]

    async def read(self, topic: str, partition: int, offset: int, limit: int) -> list[Entry]:
        where = self._check(topic, partition)
        async with self._question():
            return await self._read(where, topic, max(offset, 0), limit)

    async def end(self, topic: str, partition: int) -> int:
        (end,) = (await self.ends([self._check(topic, partition)])).values()
        return end

    async def ends(self, places: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        """The next offset of each. A broker that says too little (Tansu) is corrected by what we wrote ourselves."""
        async with self._question():
            ends = await self._consumer.end_offsets(list(places))
        return {where: max(int(end), self.sender.ends.get(tuple(where), 0)) for where, end in ends.items()}

    def partitions(self, topic: str) -> int:
        return self._broker.partitions if topic in self._topics else 0

    async def _read(self, where: TopicPartition, topic: str, offset: int, limit: int) -> list[Entry]:
        if self._place != (where, offset):
            self._consumer.assign([where])
            self._consumer.seek(where, offset)
        self._place = None
        records, following = await self._fetch(where, offset, limit)
        if following is None:
            self._consumer.unsubscribe()  # or it would go on asking the broker for more
        else:
            self._place = where, following
        return [
            Entry(topic, where.partition, record.offset, record.key, record.value, record.timestamp)
            for record in records
        ]

    async def _fetch(self, where: TopicPartition, offset: int, limit: int) -> tuple[list[Any], int | None]:
        """The next records, and the offset behind them; None where the partition ends there.

        A record without key and value is a hole: it stands where one was taken out (``streams.kafka.rewrite``).
        """
        while True:
            fetched = await self._consumer.getmany(where, timeout_ms=_FETCH_WAIT_MS, max_records=limit)
            found = fetched.get(where, [])
            if found and found[0].offset < offset:  # past the end, so aiokafka began at the beginning
                return [], None
            position = found[-1].offset + 1 if found else await self._consumer.position(where)
            highwater = self._consumer.highwater(where)
            is_end = highwater is not None and position >= highwater
            records = [record for record in found if record.key is not None or record.value is not None]
            if records or is_end:
                return records, None if is_end else position

    @asynccontextmanager
    async def _question(self) -> AsyncIterator[None]:
        async with self._asking:
            if self._is_closed:
                raise closed(self._broker.url)
            with told(self._broker):
                yield

    def _check(self, topic: str, partition: int) -> TopicPartition:
        if not 0 <= partition < self.partitions(topic):
            raise ConfigError(f"the log {self._broker.url} has no partition {partition} of topic {topic!r}")
        return TopicPartition(self._broker.topic(topic), partition)


async def open_kafka_log(broker: Broker, specs: Sequence[TopicSpec], *, is_rewriting: bool = False) -> KafkaLog:
    with told(broker):
        await ensure_topics(broker, specs, is_rewriting=is_rewriting)
    log = KafkaLog(broker, specs)
    try:
        await log.start()
    except BaseException:
        await log.close()
        raise
    return log
