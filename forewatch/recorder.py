"""The record agent: what the log says about events, signals, the journal and dead letters goes into the history."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec
import structlog

from forewatch.storage.history import History, HistoryBatch
from schemas.clock import Clock
from schemas.errors import PoisonError
from schemas.journal import JournalEntry
from streams import topics
from streams.codec import decode
from streams.deadletter import dead_letter
from streams.journal import EpochFilter, read_journal
from streams.work import Batch, Log, Output, Result

log = structlog.get_logger(__name__)

TOPICS = (topics.EVENTS, topics.TRIGGERS, topics.JOURNAL, topics.DEAD)


READ_AT_ONCE = 1000


class RecordAgent:
    """Handler of ``TOPICS``. The history keeps its own offsets with its rows, so a replay adds nothing."""

    def __init__(self, history: History, log: Log, clock: Clock) -> None:
        self._history = history
        self._log = log
        self._clock = clock
        self._epochs: dict[int, EpochFilter] = {}

    async def assigned(self, partition: int) -> None:
        """The journal's epochs are folded up to where the history stands: what was fenced off is never shown.

        A history that stands behind the group's offsets (a new folder, one that was reset) is caught up from the log.
        """
        epochs = self._epochs[partition] = EpochFilter()
        stands_at = self._history.watermark(topics.JOURNAL, partition)
        async for offset, entry in read_journal(self._log, partition):
            if offset >= stands_at:
                break
            epochs.admits(entry)
        for topic in TOPICS:
            await self._catch_up(topic, partition)

    async def _catch_up(self, topic: str, partition: int) -> None:
        while entries := await self._log.read(
            topic, partition, self._history.watermark(topic, partition), READ_AT_ONCE
        ):
            offsets, keys, values = zip(*((e.offset, e.key, e.value) for e in entries), strict=True)
            result = await self.handle(Batch(topic, partition, offsets, keys, values))
            await self._log.append(result.outputs)

    async def revoked(self, partition: int) -> None:
        self._epochs.pop(partition, None)

    async def handle(self, batch: Batch) -> Result:
        start = self._history.watermark(batch.topic, batch.partition)
        rows = [
            (offset, document)
            for offset, value in zip(batch.offsets, batch.values, strict=True)
            if offset >= start and value is not None and (document := self._document(batch, value)) is not None
        ]
        return await asyncio.to_thread(self._ingest, batch, rows)

    async def delivered(self, batch: Batch) -> None:
        """The history is durable by itself."""

    def _document(self, batch: Batch, value: bytes) -> Mapping[str, Any] | None:
        if batch.topic == topics.JOURNAL:
            entry = decode(JournalEntry, value)
            if not self._epochs[batch.partition].admits(entry) or entry.type == "epoch.claimed":
                return None
        document: Mapping[str, Any] = msgspec.json.decode(value)
        return document

    def _ingest(self, batch: Batch, rows: list[tuple[int, Mapping[str, Any]]]) -> Result:
        try:
            self._keep(batch, batch.offsets[-1], [document for _, document in rows])
        except PoisonError:
            return self._ingest_one_by_one(batch, rows)
        return Result()

    def _ingest_one_by_one(self, batch: Batch, rows: list[tuple[int, Mapping[str, Any]]]) -> Result:
        """One row that history cannot keep must not take its batch with it."""
        result = Result()
        for offset, document in rows:
            try:
                self._keep(batch, offset, [document])
            except PoisonError as error:
                result.outputs += self._refused(batch, offset, document, error)
        self._keep(batch, batch.offsets[-1], [])
        return result

    def _refused(self, batch: Batch, offset: int, document: Mapping[str, Any], error: PoisonError) -> list[Output]:
        log.error("history refused a row", action="history_refused", topic=batch.topic, offset=offset, error=str(error))
        if batch.topic == topics.DEAD:
            return []  # a dead letter that cannot be kept must not become another one
        place = f"{batch.partition}:{offset}"
        return [dead_letter(batch.topic, place, error, msgspec.json.encode(document), self._clock.now())]

    def _keep(self, batch: Batch, last: int, rows: list[Mapping[str, Any]]) -> None:
        self._history.ingest(HistoryBatch(batch.topic, batch.partition, batch.offsets[0], last, rows))
