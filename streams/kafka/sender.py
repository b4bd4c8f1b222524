"""Writes records to Kafka as whole record batches, in order, and knows when they are durable."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from aiokafka import AIOKafkaProducer

from streams.broker import Broker
from streams.kafka.admin import MAX_BATCH
from streams.kafka.failure import told
from streams.partition import partition_for
from streams.work import Output

CHUNK = 1 << 20
"""Bytes after which a new batch begins, where nothing needs to be in one."""
_Place = tuple[str, int]


def new_producer(broker: Broker) -> AIOKafkaProducer:
    """Not started. Idempotent, where the broker can be: what is sent again after a lost answer is not written twice."""
    return AIOKafkaProducer(
        bootstrap_servers=list(broker.servers),
        acks="all",
        enable_idempotence=broker.options.get("idempotence", "on") == "on",
        max_batch_size=MAX_BATCH,
        max_request_size=MAX_BATCH,
    )


class Sender:
    """One idempotent producer."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._producer = new_producer(broker)
        self.ends: dict[_Place, int] = {}
        """The offset after the last record that we know to be written."""

    async def start(self) -> None:
        with told(self._broker):
            await self._producer.start()

    async def stop(self) -> None:
        await self._producer.stop()

    async def send(self, outputs: Sequence[Output]) -> list[int]:
        """The outputs' offsets, once all are durable. Outputs of one partition keep their order."""
        with told(self._broker):
            placed = [(output, self._place(output)) for output in outputs]
            by_place: dict[_Place, list[Output]] = defaultdict(list)
            for output, place in placed:
                by_place[place].append(output)
            offsets = await asyncio.gather(*(self._send(place, some, CHUNK) for place, some in by_place.items()))
        taken = {place: iter(some) for place, some in zip(by_place, offsets, strict=True)}
        return [next(taken[place]) for _, place in placed]

    async def send_unit(self, outputs: Sequence[Output]) -> None:
        """All outputs of one partition in one record batch, which Kafka writes whole or not at all.

        What is larger than ``MAX_BATCH`` goes in several, each durable before the next: the last record is never
        there without the ones before it.
        """
        by_place: dict[_Place, list[Output]] = defaultdict(list)
        for output in outputs:
            by_place[self._place(output)].append(output)
        with told(self._broker):
            for place, some in by_place.items():
                await self._send(place, some, MAX_BATCH)

    async def _send(self, place: _Place, outputs: Sequence[Output], limit: int) -> list[int]:
        offsets: list[int] = []
        for builder in self._batches(outputs, limit):
            written = await (await self._producer.send_batch(builder, place[0], partition=place[1]))
            offsets.extend(range(written.offset, written.offset + builder.record_count()))
            self.ends[place] = offsets[-1] + 1
        return offsets

    def _batches(self, outputs: Sequence[Output], limit: int) -> Iterator[Any]:
        builder = self._producer.create_batch()
        for output in outputs:
            if builder.size() >= limit or builder.append(timestamp=None, key=output.key, value=output.value) is None:
                if builder.record_count():
                    yield builder
                    builder = self._producer.create_batch()
                builder.append(timestamp=None, key=output.key, value=output.value)
        if builder.record_count():
            yield builder

    def _place(self, output: Output) -> _Place:
        partition = output.partition
        if partition is None:
            partition = partition_for(output.key, self._broker.partitions)
        return self._broker.topic(output.topic), partition
