"""Which batches are out with the agents, and how far a partition may therefore be committed."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from streams.work import Batch

LIMIT = 4
"""Batches of one partition that may be out at once; more are not fetched: this is the back-pressure."""


@dataclass(slots=True)
class _Issued:
    batch: Batch
    readers: int
    """Agents that have not settled it yet."""


@dataclass(slots=True)
class _Partition:
    issued: deque[_Issued] = field(default_factory=deque)
    done_to: int | None = None
    """The offset after the last batch that has only settled ones before it."""
    committed: int | None = None


class Ledger:
    """Keeps the order in which batches were issued: a commit never passes one that is not settled.

    Batches are known by identity, so a late answer about a batch from before a rebalance changes nothing.
    """

    def __init__(self, readers: Mapping[str, int]) -> None:
        """``readers``: how many agents read each topic (by its name in ``Batch.topic``)."""
        self._readers = readers
        self._partitions: dict[tuple[str, int], _Partition] = {}

    def issue(self, batch: Batch) -> None:
        """The batch goes to all agents of its topic."""
        self._partition(batch.topic, batch.partition).issued.append(_Issued(batch, self._readers.get(batch.topic, 1)))

    def predecessor(self, batch: Batch) -> Batch | None:
        """The batch issued before this one, if that is still out; KeyError if this one is not out (any more)."""
        before: Batch | None = None
        for entry in self._partition(batch.topic, batch.partition).issued:
            if entry.batch is batch:
                return before
            before = entry.batch
        raise KeyError(batch.offsets[0])

    def settle(self, batch: Batch) -> bool:
        """One agent is done with the batch; False if the batch is not out (any more)."""
        partition = self._partition(batch.topic, batch.partition)
        entry = next((entry for entry in partition.issued if entry.batch is batch), None)
        if entry is None or not entry.readers:
            return False
        entry.readers -= 1
        while partition.issued and not partition.issued[0].readers:
            partition.done_to = partition.issued.popleft().batch.offsets[-1] + 1
        return True

    def is_full(self, topic: str, partition: int) -> bool:
        return len(self._partition(topic, partition).issued) >= LIMIT

    def is_idle(self, topic: str, partition: int) -> bool:
        return not self._partition(topic, partition).issued

    def commitable(self, topic: str, partition: int) -> int | None:
        """The offset to commit, or None if nothing was settled since ``committed``."""
        state = self._partition(topic, partition)
        return None if state.done_to == state.committed else state.done_to

    def committed(self, topic: str, partition: int, offset: int) -> None:
        self._partition(topic, partition).committed = offset

    def pending(self) -> list[tuple[str, int]]:
        """The partitions that have something to commit."""
        return [key for key in self._partitions if self.commitable(*key) is not None]

    def reset(self) -> None:
        """After a seek or a rebalance: nothing is out, and what was settled but not committed comes again."""
        self._partitions.clear()

    def _partition(self, topic: str, partition: int) -> _Partition:
        return self._partitions.setdefault((topic, partition), _Partition())
