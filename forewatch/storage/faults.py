"""What a disk or SQLite error means to the caller: the one table that turns them into errors of ours."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from schemas.errors import ConfigError, ForewatchError, TransientError

FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
DENIED = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST})

_SQLITE_FULL = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR})
_SQLITE_DENIED = frozenset({sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM})
_SQLITE_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


@contextmanager
def translated(place: Path) -> Iterator[None]:
    """Errors of the disk that holds ``place`` leave as errors of ours; all others pass."""
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        known = translate(error, place)
        if known is None:
            raise
        raise known from error


def translate(error: Exception, place: Path) -> ForewatchError | None:
    """None for an error that says nothing about the disk: that one is a bug of ours."""
    match error:
        case OSError(errno=code) if code in FULL:
            return _full(place, "no space left on the device")
        case OSError(errno=code) if code in DENIED:
            return _denied(place, error.strerror or str(error))
        case sqlite3.Error() if (code := getattr(error, "sqlite_errorcode", None)) is not None:
            return _from_sqlite(code & 0xFF, error, place)
    return None


def _from_sqlite(code: int, error: sqlite3.Error, place: Path) -> ForewatchError | None:
    if code in _SQLITE_FULL:
        return _full(place, str(error))
    if code in _SQLITE_DENIED:
        return _denied(place, str(error))
    if code in _SQLITE_DAMAGED:
        return ConfigError(
            f"{place} is damaged: {error}",
            remedy="stop Forewatch, delete the history folder and start: it is rebuilt from the log",
        )
    return None


def _full(place: Path, cause: str) -> TransientError:
    return TransientError(
        f"history cannot be written in {place}: {cause}", remedy="free some space; nothing is lost and work goes on"
    )


def _denied(place: Path, cause: str) -> ConfigError:
    return ConfigError(
        f"history cannot be written in {place}: {cause}", remedy="make it a folder that you may write in"
    )
