"""The normalise agent: turns raw records into events of the one schema, and what can never work into dead letters."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Protocol
from zoneinfo import ZoneInfo

import structlog
from pydantic import ValidationError

from extractors.connector import Context
from schemas.clock import Clock
from schemas.errors import PoisonError
from schemas.event import Event
from schemas.record import Record
from streams import topics
from streams.codec import decode, encode
from streams.deadletter import DeadLetterLimit, dead_letter
from streams.work import Batch, Output, Result

log = structlog.get_logger(__name__)


class Normaliser(Protocol):
    """What a connector is here. A pure function: the same record always gives the same events."""

    def normalise(self, record: Record, context: Context) -> Sequence[Event]: ...


class NormaliseAgent:
    """Handler of topic ``records``. Keeps no state: the same record always gives the same events."""

    def __init__(
        self,
        connectors: Mapping[str, Normaliser],
        zone: ZoneInfo,
        clock: Clock,
        limit: DeadLetterLimit,
        own: Mapping[str, Normaliser] = MappingProxyType({}),
    ) -> None:
        """``own``: of records that no connector made, by their source."""
        self._connectors = connectors
        self._own = own
        self._zone = zone
        self._clock = clock
        self._limit = limit

    async def assigned(self, partition: int) -> None:
        """Nothing to load."""

    async def revoked(self, partition: int) -> None:
        """Nothing to forget."""

    async def handle(self, batch: Batch) -> Result:
        return await asyncio.to_thread(self._normalise_batch, batch)

    async def delivered(self, batch: Batch) -> None:
        """Nothing follows."""

    def _normalise_batch(self, batch: Batch) -> Result:
        result = Result()
        for offset, value in zip(batch.offsets, batch.values, strict=True):
            if value is None:
                continue
            try:
                result.outputs += self._normalise(value)
                dead = False
            except PoisonError as error:
                place = f"{batch.partition}:{offset}"
                result.outputs.append(dead_letter(batch.topic, place, error, value, self._clock.now()))
                dead = True
            self._limit.record(dead)
        return result

    def _normalise(self, value: bytes) -> list[Output]:
        """Everything that fails here would fail again for ever: each connector's ``normalise`` is a pure function.

        So an unexpected exception is a dead letter too (code ``bug``, with its trace in the log) instead of a service
        that stops at one mail; the limit above stops it when that happens to most records.
        """
        record = decode(Record, value)
        connector = self._own.get(record.source) or self._connectors.get(record.source)
        if connector is None:
            raise PoisonError(f"there is no connector {record.source!r}", code="unknown_source")
        context = Context(record.owner, record.account, self._zone, record.fetched_at)
        try:
            events = connector.normalise(record, context)
            return [_output(event.model_copy(update={"record": record.id})) for event in events]
        except PoisonError:
            raise
        except ValidationError as error:
            raise PoisonError(f"{record.source} made an invalid event: {error.errors()[0]}", code="invalid") from error
        except Exception as error:
            log.exception("normalise failed", action="normalise_bug", source=record.source, record=record.id)
            raise PoisonError(f"{type(error).__name__} in {record.source}: {error}", code="bug") from error


def _output(event: Event) -> Output:
    return Output(topics.EVENTS, event.owner.encode(), encode(event))
