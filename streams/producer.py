"""Faust's own way to send, over the log that the worker has open; our agents deliver through the transport instead."""

from __future__ import annotations

import asyncio
from typing import Any

from faust.transport.base import Producer
from faust.types import TP, RecordMetadata

from streams.partition import partition_for
from streams.work import Log, Output


class LogProducer(Producer):
    """A future that it gives out resolves once the record is durable. Headers are refused: our records have none."""

    transport: Any

    async def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        partition: int | None,
        timestamp: float | None,
        headers: Any,
        *,
        transactional_id: str | None = None,
    ) -> asyncio.Future[RecordMetadata]:
        if headers:
            raise ValueError(f"a record for {topic!r} has headers, which the log does not keep")
        tp = self.key_partition(topic, key) if partition is None else TP(topic, partition)
        return asyncio.ensure_future(self._append(tp, key, value))

    async def send_and_wait(self, *args: Any, **kwargs: Any) -> RecordMetadata:
        return await (await self.send(*args, **kwargs))

    async def create_topic(self, topic: str, partitions: int, replication: int, **kwargs: Any) -> None:
        """All topics were created before the app started."""

    def key_partition(self, topic: str, key: bytes | None) -> TP:
        return TP(topic, partition_for(key, self.transport.broker.partitions))

    async def _append(self, tp: TP, key: bytes | None, value: bytes | None) -> RecordMetadata:
        log: Log = self.transport.log
        output = Output(self.transport.broker.bare(tp.topic), key, value, tp.partition)
        (offset,) = await log.append([output])
        return RecordMetadata(tp.topic, tp.partition, tp, offset, None, None)
