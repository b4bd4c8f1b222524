"""Faust's consumer on the embedded log: the only member of its group, it owns every partition it reads."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from faust.types import TP
from mode import Service

from streams.drain import BATCH, DrainConsumer
from streams.embedded.file import Row
from streams.embedded.store import Store
from streams.partition import partition_for
from streams.work import Batch


class EmbeddedConsumer(DrainConsumer):
    """Positions are kept here; what is committed is the progress of the slowest agent (``transport.progress_of``)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._store: Store = self.transport.store
        self._topics: frozenset[str] = frozenset()
        self._positions: dict[TP, int] = {}
        self._rejoin = asyncio.Event()
        self._generation = 0

    async def on_start(self) -> None:
        await super().on_start()
        self._store.listeners.add(self.wake.set)
        self._store.watch()

    async def on_stop(self) -> None:
        self._store.listeners.discard(self.wake.set)
        await super().on_stop()

    # -- membership

    async def subscribe(self, topics: Iterable[str]) -> None:
        self._topics = frozenset(topics)
        self._rejoin.set()

    @Service.task
    async def _coordinator(self) -> None:
        """In a task of its own: what runs on an assignment waits for ``subscribe`` to return."""
        while not await self.wait_for_stopped(self._rejoin.wait()):
            self._rejoin.clear()
            await self._rebalance()

    async def _rebalance(self) -> None:
        self.app.on_rebalance_start()
        await self.on_partitions_revoked(self.assignment())
        count = self.broker.partitions
        self._positions = {TP(topic, partition): 0 for topic in self._topics for partition in range(count)}
        self._generation += 1
        self.app.consumer_generation_id = self._generation
        await self.on_partitions_assigned(self.assignment(), self._generation)

    def assignment(self) -> set[TP]:
        return set(self._positions)

    # -- fetching

    async def fetch(self, tps: set[TP]) -> Mapping[TP, Sequence[Row]]:
        if records := self._read(tps):
            return records
        await self.wake.wait()
        return {}

    def _read(self, tps: set[TP]) -> dict[TP, Sequence[Row]]:
        file = self._store.file
        records: dict[TP, Sequence[Row]] = {}
        for tp in tps:
            part, position = self._part(tp), self._positions[tp]
            if position >= file.heads[part]:
                continue
            rows = file.read(part, position, BATCH)
            self._positions[tp] = rows[-1].offset + 1 if rows else file.heads[part]
            if rows:
                records[tp] = rows
        return records

    def to_batch(self, tp: TP, rows: Sequence[Row]) -> Batch:
        offsets, _, keys, values = zip(*rows, strict=True)
        return Batch(self.broker.bare(tp.topic), tp.partition, offsets, keys, values)

    def caught_up(self) -> bool:
        """Everything in the file was read and settled."""
        self._store.refresh()
        return not self.is_issuing and all(
            position >= self._store.file.heads[self._part(tp)]
            and self.ledger.is_idle(self.broker.bare(tp.topic), tp.partition)
            for tp, position in self._positions.items()
        )

    def _part(self, tp: TP) -> int:
        return self._store.file.part(tp.topic, tp.partition)

    # -- positions

    async def seek_to_committed(self) -> Mapping[TP, int]:
        self._positions = {tp: self.transport.progress_of(tp) for tp in self._positions}
        return dict(self._positions)

    async def seek_wait(self, partitions: Mapping[TP, int]) -> None:
        self._positions.update(partitions)
        self.wake.set()

    async def _seek(self, partition: TP, offset: int) -> None:
        await self.seek_wait({partition: offset})

    async def position(self, tp: TP) -> int | None:
        return self._positions.get(tp)

    def highwater(self, tp: TP) -> int:
        return self._store.file.heads[self._part(tp)]

    async def highwaters(self, *partitions: TP) -> Mapping[TP, int]:
        return {tp: self.highwater(tp) for tp in partitions}

    async def earliest_offsets(self, *partitions: TP) -> Mapping[TP, int]:
        return {tp: self._store.file.earliest(self._part(tp)) for tp in partitions}

    async def _commit(self, offsets: Mapping[TP, int]) -> bool:
        """Nothing left to do: a batch's offset is committed in the transaction of what it led to."""
        return True

    # -- what Faust asks of the driver

    async def _getmany(self, active_partitions: set[TP] | None, timeout: float) -> Mapping[TP, list[Any]]:
        raise NotImplementedError("the drain fetches batches")

    def _to_message(self, tp: TP, record: Any) -> Any:
        raise NotImplementedError("the drain delivers batches")

    def _new_topicpartition(self, topic: str, partition: int) -> TP:
        return TP(topic, partition)

    def topic_partitions(self, topic: str) -> int | None:
        return self._store.file.partitions(topic) or None

    def key_partition(self, topic: str, key: bytes | None, partition: int | None = None) -> int:
        return partition_for(key, self.broker.partitions) if partition is None else partition

    async def create_topic(self, topic: str, partitions: int, replication: int, **kwargs: Any) -> None:
        """All topics were created before the app started."""
