"""The settings of a Google Calendar account."""

from __future__ import annotations

from pydantic import Field

from extractors.google import GoogleSettings

SCOPES = (
    "https://www.googleapis.com/auth/calendar.events.readonly",
    "https://www.googleapis.com/auth/calendar.calendarlist.readonly",
)


class GoogleCalendarConfig(GoogleSettings):
    """``calendars``: only these, by their id or title; empty: those that the owner owns and has not hidden."""

    calendars: tuple[str, ...] = Field(default=(), max_length=50)
    addresses: tuple[str, ...] = Field(default=(), max_length=50)
    """The owner's further mail addresses; the account's own is known."""
    horizon_past_days: int = Field(default=31, ge=0, le=3_660)
    horizon_future_days: int = Field(default=400, ge=1, le=3_660)
    """How far back and ahead occurrences are watched, rounded to whole months."""
    max_occurrences: int = Field(default=3_000, ge=1, le=3_500)
    """Of more than these, the nearest to now are watched. Each costs about 150 bytes of the account's cursor."""
