"""The consumer loop of both transports: one Faust message per fetched batch, acknowledged by us alone."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, cast

from faust.transport.base import Consumer
from faust.types import TP, ConsumerMessage, Message

from streams.broker import Broker
from streams.ledger import Ledger
from streams.work import Batch


class Ownership(Protocol):
    """Who wants to know which partitions are ours. The calls come one after the other."""

    async def on_assigned(self, partitions: set[tuple[str, int]]) -> None:
        """These topics and partition numbers, and no others; nothing of them has flown yet."""
        ...

    async def on_revoked(self) -> None:
        """Nothing is ours any more. When it returns, nothing more is being written on behalf of any partition."""
        ...


BATCH = 500
"""Records of one batch at most."""


class DrainConsumer(Consumer):
    """Faust's consumer with the fences of docs/decisions/0003.

    Faust acknowledges what an agent raised on, was cancelled on or skipped, and its commits jump over holes. Here its
    acknowledgements mean nothing: the lane that delivered a batch calls ``settle``, and the ledger knows the holes.
    """

    app: Any
    transport: Any
    """One of ours: it knows the broker, how many agents read each topic, and who wants to know of changed hands."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.broker: Broker = self.transport.broker
        self.ledger = Ledger(self.transport.readers)
        self.wake = asyncio.Event()
        """Set whenever there may be something to fetch."""
        self._handovers = 0
        """Counts every change of hands: what was begun before one is void after it."""
        self._sought = -1
        """The count at the begin of the last seek."""
        self._must_seek = False
        self.is_issuing = False
        """Between a fetch and the last batch of it."""
        self._round = asyncio.Event()
        """Set, and replaced, when all that one fetch brought is issued."""
        self.stop_flow()

    # -- acknowledging

    def ack(self, message: Message) -> bool:
        """Faust's own: only forgets the message."""
        self._unacked_messages.discard(message)
        return False

    def settle(self, batch: Batch) -> None:
        """One agent has delivered the batch; the last one of its topic acknowledges it."""
        if self.ledger.settle(batch):
            self.wake.set()

    # -- changing hands

    async def on_partitions_revoked(self, revoked: set[TP]) -> None:
        """Faust stops the flow only if it still finds an assignment; here it stops in any case, and first."""
        self._handovers += 1
        self.stop_flow()
        self.app.flow_control.suspend()
        await super().on_partitions_revoked(revoked)
        await self.transport.ownership.on_revoked()
        await self.commit()
        self.ledger.reset()

    async def on_partitions_assigned(self, assigned: set[TP], generation_id: int = 0) -> None:
        """The lanes are open before Faust is told, because Faust lets the flow go on in a task of its own."""
        await self.transport.ownership.on_assigned({(self.broker.bare(tp.topic), tp.partition) for tp in assigned})
        self._handovers += 1
        await super().on_partitions_assigned(assigned, generation_id)

    async def perform_seek(self) -> None:
        """Back to what is committed; whatever is still out with the agents no longer counts."""
        begun = self._handovers
        self.ledger.reset()
        await super().perform_seek()
        self._sought = begun

    def resume_partitions(self, tps: Iterable[TP]) -> None:
        """Holds the flow until ``resume_flow``: in between Faust seeks and then clears the queues of the streams,
        so what was delivered in between would be lost until a restart."""
        self.stop_flow()
        super().resume_partitions(tps)

    def stop_flow(self) -> None:
        super().stop_flow()
        self._end_round()

    def resume_flow(self) -> None:
        """Faust may still be at work on the last change of hands while the next one is under way: not then."""
        if self._sought == self._handovers:
            super().resume_flow()
            self.wake.set()

    # -- fetching

    async def fetch(self, tps: set[TP]) -> Mapping[TP, Sequence[Any]]:
        """Waits for records of these partitions, not much longer than ``wake``; may return none."""
        raise NotImplementedError

    def to_batch(self, tp: TP, rows: Sequence[Any]) -> Batch:
        raise NotImplementedError

    async def _drain_messages(self, fetcher: Any) -> None:
        stopping: tuple[type[BaseException], ...] = (asyncio.CancelledError, *self.consumer_stopped_errors)
        try:
            while not (self._stopped.is_set() or fetcher._stopped.is_set()):
                await self._drain_once()
        except stopping:
            if not self.app.should_stop:
                raise

    async def _drain_once(self) -> None:
        if not self.flow_active:
            await self.can_resume_flow.wait()
        if self._must_seek:
            self._must_seek = False
            await self.perform_seek()
            if self._must_seek:
                return
        self.wake.clear()
        wanted = {tp for tp in self._get_active_partitions() if not self._is_full(tp)}
        if not wanted:
            await self.wake.wait()
            return
        begun = self._handovers
        records = await self.fetch(wanted)
        self.is_issuing = True
        try:
            await self._issue(records, begun)
        finally:
            self.is_issuing = False
            self._end_round()

    async def _issue(self, records: Mapping[TP, Sequence[Any]], begun: int) -> None:
        for tp, batch in self._batches(records):
            if not self.flow_active or self._handovers != begun:
                # The fetch ran into a change of hands, and whether it read before or after the seek cannot be told.
                self._must_seek = True
                return
            self.ledger.issue(batch)
            self._read_offset[tp] = batch.offsets[-1] + 1
            await self.callback(self._message_of(tp, batch))

    def _end_round(self) -> None:
        self._round.set()
        self._round = asyncio.Event()

    def read_to(self, tp: TP) -> int:
        """The offset after the last record that was issued, or sought."""
        return self._read_offset[tp] or 0

    async def round_over(self) -> None:
        """Waits until what the fetch under way has taken is issued, or the flow is stopped."""
        await self._round.wait()

    def _is_full(self, tp: TP) -> bool:
        return self.ledger.is_full(self.broker.bare(tp.topic), tp.partition)

    def _batches(self, records: Mapping[TP, Sequence[Any]]) -> Iterator[tuple[TP, Batch]]:
        for tp, rows in records.items():
            for start in range(0, len(rows), BATCH):
                yield tp, self.to_batch(tp, rows[start : start + BATCH])

    def _message_of(self, tp: TP, batch: Batch) -> ConsumerMessage:
        return ConsumerMessage(
            tp.topic,
            tp.partition,
            batch.offsets[-1],
            0.0,
            0,
            None,
            None,
            cast(Any, batch),
            None,
            0,
            0,
            tp,
            generation_id=self.app.consumer_generation_id,
        )
