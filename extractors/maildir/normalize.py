"""A record of the maildir connector as the event that it means."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from extractors.connector import Context
from extractors.mail import message
from extractors.mail.event import event_of, place_of, removed
from extractors.mail.slim import Slimmed
from schemas.event import Event
from schemas.record import Record


def normalise(record: Record, context: Context) -> Sequence[Event]:
    """Pure. PoisonError for what is no mail."""
    if record.op == "delete":
        return [removed(record)]
    written = record.meta.get("file_time")
    key = record.meta.get("content_key")
    mail = message.read(
        record.raw,
        file_time=datetime.fromisoformat(written) if isinstance(written, str) else None,
        slimmed=_left_out(record),
        key=key if isinstance(key, str) else None,
    )
    return [event_of(mail, record, context, place_of(record.meta))]


def _left_out(record: Record) -> Slimmed:
    listed = record.meta.get("left_out")
    if not isinstance(listed, dict):
        return {}
    return {path: (int(str(what[0])), str(what[1])) for path, what in listed.items() if isinstance(what, list)}
