"""Calendars as .ics files, folders of them, or web addresses."""

from __future__ import annotations

from extractors.ics.connector import Ics

connector = Ics()

__all__ = ["Ics", "connector"]
