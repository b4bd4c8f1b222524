"""What an agent is to the transports: a handler that turns a batch of records into outputs and state changes.

Handlers know nothing of Faust, Kafka or SQLite. The shell (``streams/app.py``) owns delivery: a batch is acknowledged
only after everything in its ``Result`` is durable, so whatever dies in between happens again.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

READ_AT_ONCE = 2000


@dataclass(frozen=True, slots=True)
class Entry:
    """One record of the log. ``value`` None is a tombstone. ``timestamp_ms`` is the producer's, UTC."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    timestamp_ms: int = 0


@dataclass(frozen=True, slots=True)
class Output:
    """One record to append. ``partition`` None: by key (murmur2, as Kafka's own clients)."""

    topic: str
    key: bytes | None
    value: bytes | None
    partition: int | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """Consecutive records of one partition, oldest first; offsets ascend and may have holes."""

    topic: str
    partition: int
    offsets: Sequence[int]
    keys: Sequence[bytes | None]
    values: Sequence[bytes | None]

    def __len__(self) -> int:
        return len(self.offsets)


@dataclass(slots=True)
class Result:
    """What a batch led to.

    ``outputs`` become durable before ``state``; ``state`` (records for the changelog partition with the batch's
    number) is written as one unit, and before the batch is acknowledged. On the embedded log all of it and the
    acknowledgement are one transaction.
    """

    outputs: list[Output] = field(default_factory=list)
    state: list[Output] = field(default_factory=list)


class Log(Protocol):
    """The log without a consumer group: to append from outside of an agent, and to read from any offset."""

    async def append(self, outputs: Sequence[Output], then: Sequence[Output] = ()) -> list[int]:
        """Durable when it returns; the offsets, in order. Outputs of one partition keep their order.

        ``then`` is never durable without ``outputs``: on the embedded log all of it is one transaction, on Kafka
        ``then`` is sent when ``outputs`` are confirmed.
        """
        ...

    async def read(self, topic: str, partition: int, offset: int, limit: int) -> list[Entry]:
        """Up to ``limit`` records from ``offset`` on (holes are skipped); empty at the end. Never waits for more."""
        ...

    async def end(self, topic: str, partition: int) -> int:
        """The offset that the next record will get."""
        ...

    def partitions(self, topic: str) -> int: ...

    async def close(self) -> None: ...


async def read_entries(log: Log, topic: str, partition: int, start: int = 0) -> AsyncIterator[Entry]:
    """Every record of a partition from ``start`` on, tombstones too, up to the end as of now."""
    while found := await log.read(topic, partition, start, READ_AT_ONCE):
        for entry in found:
            yield entry
        start = found[-1].offset + 1


class Handler(Protocol):
    """One agent's work. All calls for one partition come one after the other, never at once."""

    async def assigned(self, partition: int) -> None:
        """Load the state of this partition; called before its first batch and after each change of ownership."""
        ...

    async def revoked(self, partition: int) -> None:
        """Forget the partition; whatever was not delivered will come again, perhaps to another process."""
        ...

    async def handle(self, batch: Batch) -> Result:
        """Must tolerate seeing a batch again. An exception stops the agent; the batch is not acknowledged."""
        ...

    async def delivered(self, batch: Batch) -> None:
        """Everything in the batch's Result is durable and the batch is acknowledged."""
        ...
