"""Calendars of a Microsoft account (Outlook, Microsoft 365), by Microsoft Graph."""

from extractors.graph_calendar.connector import GraphCalendar

connector = GraphCalendar()

__all__ = ["GraphCalendar", "connector"]
