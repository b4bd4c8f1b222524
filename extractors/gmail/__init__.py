"""Gmail: the mail of a Google account, by its API."""

from __future__ import annotations

from extractors.gmail.connector import GmailConnector

connector = GmailConnector()

__all__ = ["GmailConnector", "connector"]
