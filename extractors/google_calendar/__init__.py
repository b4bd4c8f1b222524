"""Google Calendar: the calendars of a Google account, by its API."""

from __future__ import annotations

from extractors.google_calendar.connector import GoogleCalendarConnector

connector = GoogleCalendarConnector()

__all__ = ["GoogleCalendarConnector", "connector"]
