"""Faust's aiokafka consumer, with whole batches and commits that never pass a hole."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import aiokafka
from aiokafka import TopicPartition
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.errors import IllegalStateError
from faust.transport.consumer import ensure_TP
from faust.transport.drivers import aiokafka as driver
from faust.types import TP

from streams.drain import DrainConsumer
from streams.work import Batch

_FETCH_S = 1.0
_FETCH_FULL_S = 0.05
"""Used while a partition is not fetched because enough of it is out: it may soon be wanted again."""


class ConsumerThread(driver.AIOKafkaConsumerThread):
    def _create_worker_consumer(self, transport: Any) -> aiokafka.AIOKafkaConsumer:
        """Faust hard-codes a fetch wait of 1.5 s, and deals out partitions without regard to their numbers.

        The range assignor gives a number of all topics to one worker, so that what has one key meets in one process.
        """
        consumer = super()._create_worker_consumer(transport)
        consumer._fetch_max_wait_ms = int(transport.broker.options.get("fetch_wait_ms", "500"))
        consumer._partition_assignment_strategy = (RangePartitionAssignor,)
        return consumer

    def verify_event_path(self, now: float, tp: TP) -> None:
        """Faust's watch over slow partitions takes the whole worker down at one whose place is still being asked for,
        as it is right after a lost session."""
        subscription = self._ensure_consumer()._subscription.subscription
        assignment = subscription.assignment if subscription is not None else None
        state = assignment.state_value(TopicPartition(tp.topic, tp.partition)) if assignment is not None else None
        if state is not None and state.has_valid_position:
            super().verify_event_path(now, tp)

    async def seek_to_committed(self) -> Mapping[TP, int]:
        offsets: Mapping[TP, int] = await self.call_thread(self._seek_to_committed)
        return offsets

    async def _seek_to_committed(self) -> Mapping[TP, int]:
        """aiokafka's own leaves a partition where it is if nothing was committed: what was read would be skipped."""
        consumer = self._ensure_consumer()
        places = list(consumer.assignment())
        offsets = await asyncio.gather(*(consumer.committed(place) for place in places))
        committed = {place: offset for place, offset in zip(places, offsets, strict=True) if offset is not None}
        for place, offset in committed.items():
            consumer.seek(place, offset)
        if fresh := [place for place in places if place not in committed]:
            await consumer.seek_to_beginning(*fresh)  # all at once: each call waits for a fetch to end
        return {ensure_TP(place): offset for place, offset in committed.items()}


class KafkaConsumer(DrainConsumer, driver.Consumer):
    """Commits on Faust's timer and when partitions go, up to the first batch that is not settled."""

    def _new_consumer_thread(self) -> driver.AIOKafkaConsumerThread:
        return ConsumerThread(self, loop=self.loop, beacon=self.beacon)

    async def perform_seek(self) -> None:
        try:
            await super().perform_seek()
        except IllegalStateError:  # partitions were taken meanwhile: the next change of hands seeks again
            self._must_seek = True

    # -- fetching

    async def fetch(self, tps: set[TP]) -> Mapping[TP, Sequence[Any]]:
        timeout = _FETCH_S if tps == self._get_active_partitions() else _FETCH_FULL_S
        records = await self._thread.getmany(tps, timeout)
        return {ensure_TP(tp): rows for tp, rows in records.items()}

    def to_batch(self, tp: TP, rows: Sequence[Any]) -> Batch:
        return Batch(
            self.broker.bare(tp.topic),
            tp.partition,
            [row.offset for row in rows],
            [row.key for row in rows],
            [row.value for row in rows],
        )

    # -- committing

    def _filter_tps_with_pending_acks(self, topics: Any = None) -> Iterator[TP]:
        return iter([TP(self.broker.topic(topic), partition) for topic, partition in self.ledger.pending()])

    def _new_offset(self, tp: TP) -> int | None:
        return self.ledger.commitable(self.broker.bare(tp.topic), tp.partition)

    def _should_commit(self, tp: TP, offset: int) -> bool:
        return True

    async def _commit_offsets(self, offsets: Mapping[TP, int], start_new_transaction: bool = True) -> bool:
        done = await super()._commit_offsets(offsets, start_new_transaction)
        if done:
            for tp, offset in offsets.items():
                self.ledger.committed(self.broker.bare(tp.topic), tp.partition, offset)
        return done

    # -- how far

    async def is_caught_up(self, ends: Mapping[TopicPartition, int]) -> bool:
        """``ends``: of the owned partitions. Everything before them was read and settled."""
        for where, end in ends.items():
            if not await self._has_read_to(where, end):
                return False
        return all(self.ledger.is_idle(self.broker.bare(where.topic), where.partition) for where in ends)

    async def _has_read_to(self, where: TopicPartition, told: int) -> bool:
        """What the last fetch told counts too: Tansu's answer to the question for the end is up to one batch short,
        so before the first fetch nobody can tell."""
        while (fetched := self.highwater(where)) is None:
            if not self.flow_active:  # whoever waits asks again when it flows
                return False
            await self.round_over()
        end = max(told, fetched)
        if self.read_to(ensure_TP(where)) >= end:
            return True
        position = await self.position(where)
        if position is None or position < end:
            return False
        await self.round_over()  # the consumer's thread is ahead; or the last records were compacted away
        return True
