"""Chooses the transport for a broker, and says what the shell needs of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, cast

from streams.broker import Broker
from streams.drain import Ownership
from streams.work import Batch, Log, Result


class Transport(Protocol):
    """A Faust transport that also delivers: how a Result becomes durable differs between the brokers."""

    async def open(self, broker: Broker, readers: Mapping[str, Sequence[str]], log: Log, ownership: Ownership) -> None:
        """``readers``: the agents of each topic; ``log`` is open; ``ownership`` hears of changed hands.

        ConfigError if this group cannot run here.
        """
        ...

    async def close(self) -> None: ...

    def progress(self, agent: str, topic: str, partition: int) -> int:
        """The offset up to which the agent is known to have delivered; 0 if unknown."""
        ...

    async def deliver(self, agent: str, batch: Batch, result: Result) -> None:
        """Returns when all of the result is durable; LogFailed if it cannot be."""
        ...

    def predecessor(self, batch: Batch) -> Batch | None:
        """The batch issued before this one, if that is still out; KeyError if this one is not out (any more)."""
        ...

    def settle(self, batch: Batch) -> None:
        """One agent has delivered the batch; when all of its topic's have, it is acknowledged."""
        ...

    async def is_caught_up(self) -> bool:
        """Has everything up to the present end of the owned partitions been read and settled?"""
        ...


def transport_for(app: Any, broker: Broker) -> Transport:
    """The broker's transport, set on the Faust app. By hand: an installed entry point would win over an alias."""
    transport = _chosen(broker)(app.conf.broker_consumer, app)
    app.transport = app.producer_transport = transport
    return cast(Transport, transport)


def _chosen(broker: Broker) -> Any:
    if broker.kind == "embedded":
        from streams.embedded.transport import EmbeddedTransport

        return EmbeddedTransport
    from streams.kafka.transport import KafkaTransport

    return KafkaTransport
