"""Folds of the compacted topics ``accounts`` and ``cursors``: read from the log, kept current, never guessed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from schemas.account import AccountState, CursorState
from schemas.model import Model
from streams import topics
from streams.codec import decode, encode
from streams.work import Log, Output

M = TypeVar("M", bound=Model)

READ_AT_ONCE = 1000


class Fold(Generic[M]):
    """The newest value of each key of one topic, over all its partitions. ``refresh`` reads what is new, and decodes no
    value that a later one has replaced: a start reads many, each as large as a cursor."""

    def __init__(self, log: Log, topic: str, model: type[M], key: Callable[[M], str]) -> None:
        self._log = log
        self._topic = topic
        self._model = model
        self._key = key
        self._next: dict[int, int] = {}
        self._values: dict[str, M] = {}

    async def refresh(self) -> None:
        """Read every partition to its end as of now."""
        for partition in range(self._log.partitions(self._topic)):
            while entries := await self._log.read(self._topic, partition, self._next.get(partition, 0), READ_AT_ONCE):
                newest = {(entry.key or b"").decode(): entry.value for entry in entries}
                for key, value in newest.items():
                    self._apply(key, value)
                self._next[partition] = entries[-1].offset + 1

    def _apply(self, key: str, value: bytes | None) -> None:
        if value is None:
            self._values.pop(key, None)
        else:
            self._values[key] = decode(self._model, value)

    def output(self, value: M) -> Output:
        """The record that sets this value."""
        return Output(self._topic, self._key(value).encode(), encode(value))

    def set(self, value: M) -> None:
        """What a caller has just made durable, so that it need not be read back."""
        self._values[self._key(value)] = value

    def get(self, key: str) -> M | None:
        return self._values.get(key)

    def __iter__(self) -> Iterator[M]:
        return iter(sorted(self._values.values(), key=self._key))


def accounts(log: Log) -> Fold[AccountState]:
    return Fold(log, topics.ACCOUNTS, AccountState, lambda state: state.id)


def cursors(log: Log) -> Fold[CursorState]:
    return Fold(log, topics.CURSORS, CursorState, lambda state: state.account)
