"""A record of the Gmail connector as the event that it means."""

from __future__ import annotations

from collections.abc import Sequence

from extractors.connector import Context
from extractors.maildir import normalize
from schemas.event import Event
from schemas.record import Record


def normalise(record: Record, context: Context) -> Sequence[Event]:
    """Pure. PoisonError for what is no mail. The record holds what a mail folder's would, so it means the same."""
    return normalize.normalise(record, context)
