"""One agent's work on one partition: assigned, then batch after batch handled, delivered, acknowledged."""

from __future__ import annotations

import asyncio
import bisect
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from streams.failure import LogFailed
from streams.work import Batch, Handler, Result

logger = logging.getLogger(__name__)

DELIVERY_GRACE_S = 30.0
"""How long a closing lane waits for what is on its way to the broker, unless it is told otherwise."""
_HANDLER_GRACE_S = 5.0
"""How long it waits for a handler to obey a cancellation, and to give up its partition."""


@dataclass(frozen=True, slots=True)
class Agent:
    """A handler under its name. All batches of one partition number, of all its topics, come one after the other.

    ``pipelined`` lets the handler work on the next batch while the last one is being delivered: for handlers whose
    ``handle`` does not read what an earlier ``handle`` put into the log.
    """

    name: str
    topic: str | tuple[str, ...]
    handler: Handler
    pipelined: bool = False

    @property
    def topics(self) -> tuple[str, ...]:
        return (self.topic,) if isinstance(self.topic, str) else self.topic


class Carrier(Protocol):
    """What a lane needs of a transport."""

    def progress(self, agent: str, topic: str, partition: int) -> int:
        """The offset up to which the agent is known to have delivered; 0 if unknown."""
        ...

    async def deliver(self, agent: str, batch: Batch, result: Result) -> None:
        """Returns when all of the result is durable."""
        ...

    def settle(self, batch: Batch) -> None: ...


class Lane:
    """Runs from construction until ``close``. Any exception goes to ``on_failure`` and ends the lane's work."""

    def __init__(
        self,
        agent: Agent,
        partition: int,
        carrier: Carrier,
        *,
        on_move: Callable[[], None],
        on_failure: Callable[[BaseException], None],
    ) -> None:
        self._agent = agent
        self._partition = partition
        self._carrier = carrier
        self._on_move = on_move
        self._on_failure = on_failure
        self._queue: asyncio.Queue[Batch] = asyncio.Queue()
        self._open = 1  # the call of ``assigned`` counts as work
        self._last: dict[str, Batch] = {}
        """The last batch that came, by topic."""
        self._done_to: dict[str, int] = {}
        self._delivery: asyncio.Future[None] | None = None
        self._work = asyncio.get_running_loop().create_task(self._run(), name=f"lane {agent.name}/{partition}")

    def put(self, batch: Batch, predecessor: Batch | None) -> None:
        """Never waits: the ledger bounds how many batches are out.

        ``predecessor`` is the batch that was issued before this one and is still out. If it never came here, Faust
        dropped it; to go on would leave a hole that no commit shows, so the lane fails and all is read again.
        """
        if predecessor is not None and predecessor is not self._last.get(batch.topic):
            self._on_failure(
                LogFailed(
                    f"{self._agent.name} missed the batch from offset {predecessor.offsets[0]} of {batch.topic!r}",
                    remedy="start again: it will be read then",
                )
            )
            return
        self._last[batch.topic] = batch
        self._open += 1
        self._queue.put_nowait(batch)

    @property
    def is_idle(self) -> bool:
        return not self._open

    async def close(self, delivery_grace_s: float = DELIVERY_GRACE_S) -> None:
        """Stops at once, except that a delivery on its way may finish; then the handler forgets the partition.

        A delivery that does not finish is a failure: it may yet be written, and whoever owns the partition next must
        not have loaded the state before that.
        """
        self._work.cancel()
        await asyncio.wait([self._work], timeout=_HANDLER_GRACE_S)
        if self._delivery is not None and not self._delivery.done():
            _, late = await asyncio.wait([self._delivery], timeout=delivery_grace_s)
            if late:
                self._delivery.cancel()
                self._on_failure(
                    LogFailed(
                        f"{self._agent.name} could not finish writing for partition {self._partition}",
                        remedy="check the broker, then start again",
                    )
                )
        try:
            async with asyncio.timeout(_HANDLER_GRACE_S):
                await self._agent.handler.revoked(self._partition)
        except Exception as error:
            logger.exception("%s could not give up partition %d", self._agent.name, self._partition)
            self._on_failure(error)

    async def _run(self) -> None:
        try:
            await self._agent.handler.assigned(self._partition)
            self._finished_one()
            while True:
                await self._take(await self._queue.get())
        except asyncio.CancelledError:
            raise
        except Exception as error:
            self._on_failure(error)

    async def _take(self, batch: Batch) -> None:
        todo = after(batch, self._progress(batch.topic))
        if todo is None:
            self._carrier.settle(batch)
            self._finished_one()
            return
        result = await self._agent.handler.handle(todo)
        if self._delivery is not None:
            await asyncio.shield(self._delivery)
        self._done_to[batch.topic] = batch.offsets[-1] + 1
        self._delivery = asyncio.ensure_future(self._deliver(batch, todo, result))
        self._delivery.add_done_callback(self._report)
        if not self._agent.pipelined:
            await asyncio.shield(self._delivery)

    async def _deliver(self, batch: Batch, todo: Batch, result: Result) -> None:
        await self._carrier.deliver(self._agent.name, todo, result)
        self._carrier.settle(batch)
        await self._agent.handler.delivered(todo)
        self._finished_one()

    def _report(self, delivery: asyncio.Future[None]) -> None:
        if not delivery.cancelled() and (error := delivery.exception()) is not None:
            self._on_failure(error)

    def _progress(self, topic: str) -> int:
        if topic not in self._done_to:
            self._done_to[topic] = self._carrier.progress(self._agent.name, topic, self._partition)
        return self._done_to[topic]

    def _finished_one(self) -> None:
        self._open -= 1
        self._on_move()


def after(batch: Batch, offset: int) -> Batch | None:
    """The part of a batch from ``offset`` on; None if there is none."""
    if batch.offsets[0] >= offset:
        return batch
    start = bisect.bisect_left(batch.offsets, offset)
    if start == len(batch):
        return None
    return Batch(batch.topic, batch.partition, batch.offsets[start:], batch.keys[start:], batch.values[start:])
