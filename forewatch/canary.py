"""The canary: a synthetic record that goes through the whole pipeline each day, and must come out as a note.

It enters as a raw record, so that it is normalised, evaluated and acted on like everything else. Its rule
(``service-canary`` in the library) is on trial for ever: it fires, the journal notes it, nothing is proposed.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime

from extractors.connector import Context
from schemas import ids
from schemas.event import Event
from schemas.payloads import ServicePayload
from schemas.record import Record

SOURCE = "canary"
"""Stands in ``Record.source`` and ``account`` where a connector and an account would."""
RULE = "service-canary"


def record(owner: str, day: date, now: datetime) -> Record:
    """The same for the same owner and day, whenever it is sent: sent twice, it is one event."""
    version = day.isoformat()
    return Record(
        id=ids.record_id(f"{SOURCE}/{owner}", version, version),
        account=SOURCE,
        owner=owner,
        source=SOURCE,
        native_id=version,
        version=version,
        fetched_at=now,
        content_type="text/plain",
        raw=b"tweet",
    )


class Canary:
    """Makes the event out of the record."""

    def normalise(self, record: Record, context: Context) -> Sequence[Event]:
        event = Event(
            id=ids.event_id(f"{SOURCE}/{record.owner}", "service.canary", record.native_id, record.version),
            owner=record.owner,
            account=record.account,
            source=record.source,
            kind="service.canary",
            subject=f"{SOURCE}:{record.native_id}",
            version=record.version,
            occurred_at=record.fetched_at,
            observed_at=record.fetched_at,
            title="Forewatch tries itself",
            trust="service",
            payload=ServicePayload(code=SOURCE, about=record.native_id),
        )
        return [event]
