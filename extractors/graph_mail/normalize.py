"""Records of the graph_mail connector as events."""

from __future__ import annotations

from collections.abc import Sequence

from extractors.connector import Context
from extractors.maildir import normalize as mails
from schemas.event import Event
from schemas.record import Record


def normalise(record: Record, context: Context) -> Sequence[Event]:
    """Pure. A record is the mail's own text with its flags, as every mail connector writes it."""
    return mails.normalise(record, context)
