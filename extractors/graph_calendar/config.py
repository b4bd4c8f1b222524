"""The settings of a Microsoft calendar account."""

from __future__ import annotations

from pydantic import Field

from extractors.graph import GraphSettings


class GraphCalendarConfig(GraphSettings):
    """``calendars``: only these, by name; empty: all of the account. ``addresses``: beside that of the account, which
    is known."""

    calendars: tuple[str, ...] = Field(default=(), max_length=100)
    horizon_past_days: int = Field(default=31, ge=0, le=365)
    horizon_future_days: int = Field(default=400, ge=1, le=1_400)
    """How far back and ahead occurrences are watched, rounded to whole months; Exchange shows at most five years."""
    max_occurrences: int = Field(default=4_000, ge=1, le=4_000)
    """Of more than these, the nearest to now are watched. Each costs about 150 bytes of the account's cursor."""
