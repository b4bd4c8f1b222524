"""The embedded log without a consumer group."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from streams.broker import Broker
from streams.embedded.store import Store, open_store
from streams.embedded.writer import Record
from streams.failure import closed
from streams.partition import partition_for
from streams.topics import SPECS, TopicSpec
from streams.work import Entry, Output


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def physical(broker: Broker, specs: Sequence[TopicSpec]) -> list[TopicSpec]:
    return [TopicSpec(broker.topic(spec.name), spec.cleanup, spec.retention_s) for spec in specs]


def records_of(broker: Broker, store: Store, outputs: Sequence[Output], ts: int) -> list[Record]:
    """The rows that the outputs become; ConfigError for a topic or partition that is not there."""
    part, count = store.file.part, broker.partitions
    return [
        Record(
            part(
                broker.topic(output.topic),
                partition_for(output.key, count) if output.partition is None else output.partition,
            ),
            ts,
            output.key,
            output.value,
        )
        for output in outputs
    ]


class EmbeddedLog:
    """A ``Log`` on the file; other processes may use it at the same time."""

    def __init__(self, broker: Broker, store: Store, *, clock: Callable[[], int] = now_ms) -> None:
        self._broker = broker
        self._store = store
        self._clock = clock
        self._is_closed = False

    async def append(self, outputs: Sequence[Output], then: Sequence[Output] = ()) -> list[int]:
        store = self._open_store()
        every = [*outputs, *then]
        if not every:
            return []
        return await store.writer.submit(records_of(self._broker, store, every, self._clock()))

    async def read(self, topic: str, partition: int, offset: int, limit: int) -> list[Entry]:
        file = self._open_store().file
        part = file.part(self._broker.topic(topic), partition)
        return [
            Entry(topic, partition, row.offset, row.key, row.value, row.ts) for row in file.read(part, offset, limit)
        ]

    async def end(self, topic: str, partition: int) -> int:
        store = self._open_store()
        store.refresh()
        return store.file.heads[store.file.part(self._broker.topic(topic), partition)]

    def partitions(self, topic: str) -> int:
        return self._store.file.partitions(self._broker.topic(topic))

    async def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            await self._store.release()

    def _open_store(self) -> Store:
        """Others in this process may still use the store after this log was closed."""
        if self._is_closed:
            raise closed(self._broker.path)
        return self._store


async def open_embedded_log(broker: Broker, specs: Sequence[TopicSpec] = SPECS) -> EmbeddedLog:
    store = open_store(broker)
    try:
        store.file.create_topics(physical(broker, specs), broker.partitions)
    except BaseException:
        await store.release()
        raise
    return EmbeddedLog(broker, store)
