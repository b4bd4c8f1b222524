"""Calendars on CalDAV servers: iCloud, Fastmail, Nextcloud, Radicale and others."""

from __future__ import annotations

from extractors.caldav.connector import Caldav

connector = Caldav()

__all__ = ["Caldav", "connector"]
