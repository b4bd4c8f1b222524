"""The embedded log as a Faust transport: the same app runs on one file instead of on Kafka."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any, ClassVar

from faust.transport import base
from faust.types import TP
from faust.types.transports import ConsumerT, ProducerT

from streams.broker import Broker
from streams.drain import Ownership
from streams.embedded.cleaner import Cleaner
from streams.embedded.consumer import EmbeddedConsumer
from streams.embedded.lock import GroupLock
from streams.embedded.log import now_ms, records_of
from streams.embedded.store import Store, open_store
from streams.embedded.writer import Commit
from streams.ledger import Ledger
from streams.producer import LogProducer
from streams.work import Batch, Log, Output, Result


class EmbeddedTransport(base.Transport):
    """What the shell needs of a transport: the group's lock, each agent's progress, and delivery."""

    Consumer: ClassVar[type[ConsumerT]] = EmbeddedConsumer
    Producer: ClassVar[type[ProducerT]] = LogProducer
    default_port = 0
    driver_version = f"sqlite={sqlite3.sqlite_version}"

    app: Any
    broker: Broker
    readers: Mapping[str, int]
    """How many agents read each topic."""

    async def open(self, broker: Broker, readers: Mapping[str, Sequence[str]], log: Log, ownership: Ownership) -> None:
        self.broker = broker
        self.ownership = ownership
        self.log = log
        self._agents = readers
        self.readers = {topic: len(agents) for topic, agents in readers.items()}
        async with AsyncExitStack() as held:
            held.callback(GroupLock(broker.path, broker.prefix).release)
            self.store: Store = open_store(broker)
            held.push_async_callback(self.store.release)
            await self._join()
            cleaner = Cleaner(self.store, broker.path, now_ms)
            cleaner.start()
            held.push_async_callback(cleaner.close)
            self._held = held.pop_all()

    async def close(self) -> None:
        await self._held.aclose()

    async def _join(self) -> None:
        """Notes every agent's place, so that retention waits for those that have not read anything yet."""
        file, commits = self.store.file, []
        for topic, agents in self._agents.items():
            for agent in agents:
                known = file.committed(self._group(agent))
                for partition in range(self.broker.partitions):
                    part = file.part(self.broker.topic(topic), partition)
                    if part not in known:
                        commits.append(Commit(self._group(agent), part, file.earliest(part)))
        if commits:
            await self.store.writer.submit((), commits)

    def _group(self, agent: str) -> str:
        return f"{self.broker.prefix}/{agent}"

    def progress_of(self, tp: TP) -> int:
        """Where the slowest agent of the topic is."""
        bare = self.broker.bare(tp.topic)
        return min(self.progress(agent, bare, tp.partition) for agent in self._agents[bare])

    def progress(self, agent: str, topic: str, partition: int) -> int:
        """The offset up to which this agent has delivered."""
        part = self.store.file.part(self.broker.topic(topic), partition)
        return self.store.file.committed(self._group(agent)).get(part, 0)

    async def deliver(self, agent: str, batch: Batch, result: Result) -> None:
        """Outputs, state and the agent's offset in one transaction."""
        state = [Output(output.topic, output.key, output.value, batch.partition) for output in result.state]
        records = records_of(self.broker, self.store, [*result.outputs, *state], now_ms())
        part = self.store.file.part(self.broker.topic(batch.topic), batch.partition)
        await self.store.writer.submit(records, [Commit(self._group(agent), part, batch.offsets[-1] + 1)])

    def predecessor(self, batch: Batch) -> Batch | None:
        ledger: Ledger = self.app.consumer.ledger
        return ledger.predecessor(batch)

    def settle(self, batch: Batch) -> None:
        self.app.consumer.settle(batch)

    async def is_caught_up(self) -> bool:
        return bool(self.app.consumer.caught_up())
