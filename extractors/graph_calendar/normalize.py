"""Records of the graph_calendar connector as events."""

from __future__ import annotations

from collections.abc import Sequence

from extractors.calendar.event import events_of
from extractors.connector import Context
from schemas.event import Event
from schemas.record import Record


def normalise(record: Record, context: Context) -> Sequence[Event]:
    """Pure. A record is one occurrence, as every calendar connector writes it."""
    return events_of(record, context)
