"""Kafka as our transport: outputs confirmed first, then the state as one record batch, then the acknowledgement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, cast

from aiokafka import TopicPartition
from aiokafka.errors import IllegalStateError
from faust.transport.drivers import aiokafka as driver
from faust.types.transports import ConsumerT, ProducerT

from streams.broker import Broker
from streams.drain import Ownership
from streams.kafka.consumer import KafkaConsumer
from streams.kafka.log import KafkaLog
from streams.ledger import Ledger
from streams.producer import LogProducer
from streams.work import Batch, Log, Output, Result


class KafkaTransport(driver.Transport):
    """At least once: what died between the outputs and the commit happens again.

    The state tells a handler what it has seen: its changelog records, with the batch's watermark among them, are one
    record batch, which is there whole or not at all.
    """

    Consumer: ClassVar[type[ConsumerT]] = KafkaConsumer
    Producer: ClassVar[type[ProducerT]] = LogProducer

    app: Any
    broker: Broker
    readers: Mapping[str, int]
    """How many agents read each topic."""

    async def open(self, broker: Broker, readers: Mapping[str, Sequence[str]], log: Log, ownership: Ownership) -> None:
        self.broker = broker
        self.ownership = ownership
        self.readers = {topic: len(agents) for topic, agents in readers.items()}
        self.log = cast(KafkaLog, log)

    async def close(self) -> None:
        """The log belongs to the worker."""

    def progress(self, agent: str, topic: str, partition: int) -> int:
        """Kafka knows the group's offset only: an agent may see again what another one of its topic still owed."""
        return 0

    async def deliver(self, agent: str, batch: Batch, result: Result) -> None:
        if result.outputs:
            await self.log.sender.send(result.outputs)
        if result.state:
            await self.log.sender.send_unit(
                [Output(output.topic, output.key, output.value, batch.partition) for output in result.state]
            )

    def predecessor(self, batch: Batch) -> Batch | None:
        ledger: Ledger = self.app.consumer.ledger
        return ledger.predecessor(batch)

    def settle(self, batch: Batch) -> None:
        self.app.consumer.settle(batch)

    async def is_caught_up(self) -> bool:
        consumer: KafkaConsumer = self.app.consumer
        ends = await self.log.ends([TopicPartition(*tp) for tp in consumer.assignment()])
        try:
            return await consumer.is_caught_up(ends)
        except IllegalStateError:  # a partition went to another worker meanwhile
            return False
