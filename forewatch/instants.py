"""Instants as a person reads them; what is for machines keeps them as they are."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

from schemas.clock import to_the_minute


def local(instant: datetime | str | None, zone: ZoneInfo, *, empty: str = "") -> str:
    """To the minute, by the owner's clock. A text is an instant as JSON has it."""
    if not instant:
        return empty
    when = datetime.fromisoformat(instant) if isinstance(instant, str) else instant
    return to_the_minute(when, zone)
