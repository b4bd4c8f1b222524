"""A log in memory and a handler that takes notes, for tests; the log passes the contract suite of the real ones."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from schemas.errors import ConfigError
from streams.partition import partition_for
from streams.topics import SPECS, TopicSpec
from streams.work import Batch, Entry, Log, Output, Result, read_entries


class MemoryLog:
    """Keeps everything and forgets it with the process; ``clock`` gives milliseconds."""

    def __init__(
        self, partitions: int = 1, *, topics: Sequence[TopicSpec] = SPECS, clock: Callable[[], int] = lambda: 0
    ) -> None:
        self._count = partitions
        self._clock = clock
        self._entries: dict[tuple[str, int], list[Entry]] = {
            (spec.name, partition): [] for spec in topics for partition in range(partitions)
        }

    async def append(self, outputs: Sequence[Output], then: Sequence[Output] = ()) -> list[int]:
        outputs = [*outputs, *then]
        places = [self._entries_of(output.topic, self._partition(output)) for output in outputs]
        offsets = []
        for output, entries in zip(outputs, places, strict=True):
            offsets.append(len(entries))
            partition = self._partition(output)
            entries.append(Entry(output.topic, partition, len(entries), output.key, output.value, self._clock()))
        return offsets

    async def read(self, topic: str, partition: int, offset: int, limit: int) -> list[Entry]:
        return self._entries_of(topic, partition)[max(offset, 0) : max(offset, 0) + limit]

    async def end(self, topic: str, partition: int) -> int:
        return len(self._entries_of(topic, partition))

    def partitions(self, topic: str) -> int:
        return sum(1 for name, _ in self._entries if name == topic)

    async def close(self) -> None:
        """Nothing to let go of: what was appended can still be read."""

    def entries(self, topic: str) -> list[Entry]:
        """All records of a topic, partition by partition: for assertions."""
        return [entry for (name, _), entries in self._entries.items() if name == topic for entry in entries]

    def _partition(self, output: Output) -> int:
        return partition_for(output.key, self._count) if output.partition is None else output.partition

    def _entries_of(self, topic: str, partition: int) -> list[Entry]:
        try:
            return self._entries[topic, partition]
        except KeyError:
            raise ConfigError(f"the log has no partition {partition} of topic {topic!r}") from None


def batch_of(entries: Sequence[Entry]) -> Batch:
    """The batch that an agent would get for these records of one partition."""
    first = entries[0]
    return Batch(
        first.topic,
        first.partition,
        [entry.offset for entry in entries],
        [entry.key for entry in entries],
        [entry.value for entry in entries],
    )


class RecordingHandler:
    """Notes every call; forwards what it gets to the topic ``out``, if any. ``on_handle`` may raise, or wait."""

    def __init__(self, out: str | None = None, *, on_handle: Callable[[Batch], object] = lambda batch: None) -> None:
        self.out = out
        self.on_handle = on_handle
        self.calls: list[tuple[str, int]] = []
        """Method and partition, in order."""
        self.values: list[bytes | None] = []
        """What ``handle`` returned from, in order."""
        self.delivered_values: list[bytes | None] = []

    async def assigned(self, partition: int) -> None:
        self.calls.append(("assigned", partition))

    async def revoked(self, partition: int) -> None:
        self.calls.append(("revoked", partition))

    async def handle(self, batch: Batch) -> Result:
        self.calls.append(("handle", batch.partition))
        waiting = self.on_handle(batch)
        if asyncio.iscoroutine(waiting):
            await waiting
        self.values.extend(batch.values)
        if self.out is None:
            return Result()
        return Result([Output(self.out, key, value) for key, value in zip(batch.keys, batch.values, strict=True)])

    async def delivered(self, batch: Batch) -> None:
        self.calls.append(("delivered", batch.partition))
        self.delivered_values.extend(batch.values)


class CountingHandler:
    """Keeps a sum per key in a changelog with a watermark: exact however often a batch comes again."""

    WATERMARK = b"watermark"

    def __init__(self, log: Log, changelog: str, *, out: str | None = None) -> None:
        self._log = log
        self._changelog = changelog
        self._out = out
        self.sums: dict[int, dict[bytes, int]] = {}
        """Per partition."""
        self._watermarks: dict[int, int] = {}
        self.loads: list[int] = []
        """The partitions whose state was loaded, in order."""

    async def assigned(self, partition: int) -> None:
        self.loads.append(partition)
        state = await compacted(self._log, self._changelog, partition)
        self._watermarks[partition] = int(state.pop(self.WATERMARK, b"-1"))
        self.sums[partition] = {key: int(value) for key, value in state.items()}

    async def revoked(self, partition: int) -> None:
        self.sums.pop(partition, None)

    async def handle(self, batch: Batch) -> Result:
        sums, changed = self.sums[batch.partition], set()
        result = Result()
        for offset, key, value in zip(batch.offsets, batch.keys, batch.values, strict=True):
            if offset <= self._watermarks[batch.partition] or key is None or value is None:
                continue
            sums[key] = sums.get(key, 0) + int(value)
            changed.add(key)
            if self._out is not None:
                result.outputs.append(Output(self._out, key, value))
        watermark = max(self._watermarks[batch.partition], batch.offsets[-1])  # a batch again must not set it back
        self._watermarks[batch.partition] = watermark
        result.state = [Output(self._changelog, key, b"%d" % sums[key]) for key in sorted(changed)]
        result.state.append(Output(self._changelog, self.WATERMARK, b"%d" % watermark))
        return result

    async def delivered(self, batch: Batch) -> None: ...


async def compacted(log: Log, topic: str, partition: int) -> dict[bytes, bytes]:
    """The newest value of each key, as a compacted topic means it."""
    state: dict[bytes, bytes] = {}
    async for entry in read_entries(log, topic, partition):
        if entry.key is not None:
            state.pop(entry.key, None)
            if entry.value is not None:
                state[entry.key] = entry.value
    return state
