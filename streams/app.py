"""The Faust app around our agents: built by a factory, started and stopped from outside, loud when it fails."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, cast

from faust import Stream
from faust.types import StreamT

from streams.broker import Broker, parse_broker
from streams.failure import LogFailed
from streams.faust_app import faust_app
from streams.lane import DELIVERY_GRACE_S, Agent, Lane
from streams.log import open_log
from streams.topics import SPECS, TopicSpec
from streams.transports import Transport, transport_for
from streams.work import Batch, Log

logger = logging.getLogger(__name__)

_STOP_GRACE_S = 20.0
_STOP_DELIVERY_GRACE_S = 5.0


def create_app(
    url: str, *, prefix: str, partitions: int, topics: Sequence[TopicSpec] = SPECS, agents: Sequence[Agent]
) -> Worker:
    """A worker for these agents; nothing is opened before ``start``. ConfigError for a broker that cannot be."""
    return Worker(parse_broker(url, prefix, partitions), topics, agents)


class Worker:
    """A running set of agents. Starts once and stops once; after that, make a new one."""

    def __init__(self, broker: Broker, topics: Sequence[TopicSpec], agents: Sequence[Agent]) -> None:
        self._broker = broker
        self._topics = topics
        self._agents = agents
        self._app = faust_app(broker)
        self._transport: Transport = transport_for(self._app, broker)
        self._lanes: dict[tuple[str, int], Lane] = {}
        self._handover = asyncio.Lock()
        self._moved = asyncio.Event()
        self._crash = asyncio.Event()
        self._stopping: asyncio.Task[None] | None = None
        self._is_open = False
        self._tasks: set[asyncio.Task[Any]] = set()
        self.crashed: BaseException | None = None
        """Why the worker stopped by itself."""
        self._log: Log | None = None
        self._app.on_flow = self._moved.set
        for agent in agents:
            self._declare(agent)

    # -- life

    async def start(self) -> None:
        """Returns when the agents own their partitions, while they may still load their state; ConfigError or
        LogFailed if they cannot own them."""
        self._log = await open_log(self._broker.url, self._broker.prefix, self._broker.partitions, topics=self._topics)
        try:
            await self._transport.open(self._broker, self._readers(), self._log, self)
            self._is_open = True
            self._spawn(self._watch())
            await self._until_crash(self._app.start())
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Prompt and idempotent. What is not delivered yet is read again next time."""
        if self._stopping is None:
            self._stopping = asyncio.get_running_loop().create_task(self._stop())
        await asyncio.shield(self._stopping)

    @property
    def log(self) -> Log:
        """Usable from ``start`` to ``stop``."""
        if self._log is None:
            raise LogFailed("the worker was not started")
        return self._log

    async def wait_crashed(self) -> BaseException:
        """Waits until an agent, or the log, fails; the worker stops by itself then."""
        await self._crash.wait()
        assert self.crashed is not None
        return self.crashed

    async def drained(self) -> None:
        """Returns when the agents have delivered everything up to the end of their topics, also what they wrote
        meanwhile. Raises what crashed the worker."""
        while True:
            self._moved.clear()
            if self.crashed is not None:
                raise self.crashed
            if self._stopping is not None:
                raise LogFailed("the worker was stopped before everything was delivered")
            try:
                if await self._is_drained():
                    return
            except LogFailed:
                if self._stopping is None:
                    raise
            else:
                await self._moved.wait()

    # -- inside

    async def _is_drained(self) -> bool:
        """Asked twice, because an agent may have written something while the broker told where the topics end."""
        return self._is_quiet() and await self._transport.is_caught_up() and self._is_quiet()

    def _is_quiet(self) -> bool:
        """While partitions change hands nobody can tell; ``on_flow`` asks again after that."""
        idle = all(lane.is_idle for lane in self._lanes.values())
        return idle and not self._app.rebalancing and not self._moved.is_set()

    def _readers(self) -> dict[str, list[str]]:
        readers: dict[str, list[str]] = defaultdict(list)
        for agent in self._agents:
            for topic in agent.topics:
                readers[topic].append(agent.name)
        return readers

    def _declare(self, agent: Agent) -> None:
        topic = self._app.topic(
            *(self._broker.topic(name) for name in agent.topics),
            key_serializer="raw",
            value_serializer="raw",
        )

        async def carry(stream: StreamT[Any]) -> None:
            async for event in cast(Stream[Any], stream).noack().events():
                self._carry(agent, event.value)

        self._app.add_agent(carry, topic, f"{self._broker.prefix}.{agent.name}")

    def _carry(self, agent: Agent, batch: Batch) -> None:
        """A batch that is not out any more is from before a change of hands, and will be read again."""
        lane = self._lanes.get((agent.name, batch.partition))
        with contextlib.suppress(KeyError):
            predecessor = self._transport.predecessor(batch)
            if lane is not None:
                lane.put(batch, predecessor)

    async def on_assigned(self, partitions: set[tuple[str, int]]) -> None:
        async with self._handover:
            await self._close_lanes(DELIVERY_GRACE_S)
            if self._stopping is None:
                for agent in self._agents:
                    for partition in sorted({number for topic, number in partitions if topic in agent.topics}):
                        self._lanes[agent.name, partition] = self._lane(agent, partition)

    async def on_revoked(self) -> None:
        async with self._handover:
            await self._close_lanes(DELIVERY_GRACE_S)

    def _lane(self, agent: Agent, partition: int) -> Lane:
        return Lane(agent, partition, self._transport, on_move=self._moved.set, on_failure=self._fail)

    async def _close_lanes(self, delivery_grace_s: float) -> None:
        closing, self._lanes = self._lanes, {}
        await asyncio.gather(*(lane.close(delivery_grace_s) for lane in closing.values()))

    def _fail(self, error: BaseException) -> None:
        """The first failure wins; the app stops in a task of its own, never from inside of an agent."""
        if self.crashed is None and self._stopping is None:
            self.crashed = error
            self._crash.set()
            self._moved.set()
            self._stopping = asyncio.get_running_loop().create_task(self._stop())

    async def _watch(self) -> None:
        """Faust restarts what crashed in silence; here it ends the worker."""
        await self._app._crashed.wait()
        self._fail(self._app.crash_reason or LogFailed("a part of Faust crashed"))

    async def _until_crash(self, starting: Any) -> None:
        start = self._spawn(starting)
        crash = self._spawn(self._crash.wait())
        await asyncio.wait([start, crash], return_when=asyncio.FIRST_COMPLETED)
        crash.cancel()
        if self.crashed is not None:
            raise self.crashed
        await start

    async def _stop(self) -> None:
        async with self._handover:
            await self._close_lanes(_STOP_DELIVERY_GRACE_S)
        self._moved.set()
        stop = self._spawn(self._app.stop())
        _, late = await asyncio.wait([stop], timeout=_STOP_GRACE_S)
        if late:
            logger.error("Faust did not stop in %s s; what is not acknowledged will be read again", _STOP_GRACE_S)
        for task in self._tasks - {stop}:
            task.cancel()
        if self._is_open:
            await self._transport.close()
        if self._log is not None:
            await self._log.close()

    def _spawn(self, work: Any) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
