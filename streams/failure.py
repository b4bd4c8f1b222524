"""What the log itself can fail of, told in our own words."""

from __future__ import annotations

import sqlite3

from schemas.errors import ForewatchError


class LogFailed(ForewatchError):
    """The log cannot be written or read any more: the process stops, and loses nothing that was acknowledged."""


_REMEDIES = (
    ("full", "free some space on that disk and start again; nothing acknowledged is lost"),
    ("locked", "another process holds the file for too long; stop it and start again"),
    ("readonly", "make the file and its folder writable for this user and start again"),
    ("malformed", "the file is damaged: restore it from a backup"),
    ("not a database", "the path names a file of another kind: choose another path"),
    ("unable to open", "make the folder writable for this user, and the path a file, and start again"),
)


def closed(where: object) -> LogFailed:
    return LogFailed(f"the log {where} was closed", remedy="open it again")


def log_failed(where: object, error: BaseException) -> LogFailed:
    """The error to raise for one that SQLite, the file system or aiokafka raised about the log ``where``."""
    if isinstance(error, LogFailed):
        return error
    text = str(error) or type(error).__name__
    return LogFailed(f"the log {where} failed: {text}", remedy=remedy_for(text))


def remedy_for(text: str) -> str:
    return next((remedy for word, remedy in _REMEDIES if word in text), "see the message, then start again")


FOREIGN = (sqlite3.Error, OSError)
"""What the embedded log lets through from below."""
