"""Every error of the disk and of SQLite that we know the meaning of, and the ones that stay what they are."""

from __future__ import annotations

import errno
import sqlite3
from pathlib import Path

import pytest

from forewatch.storage.faults import DENIED, FULL, translate, translated
from schemas.errors import ConfigError, ForewatchError, TransientError

PLACE = Path("/data/history")


def sqlite_error(code: int) -> sqlite3.Error:
    error = sqlite3.OperationalError("what SQLite said")
    error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize(
    ("error", "becomes"),
    [
        *((OSError(code, "no"), TransientError) for code in FULL),
        *((OSError(code, "no"), ConfigError) for code in DENIED),
        (sqlite_error(sqlite3.SQLITE_FULL), TransientError),
        (sqlite_error(sqlite3.SQLITE_IOERR_WRITE), TransientError),
        (sqlite_error(sqlite3.SQLITE_READONLY), ConfigError),
        (sqlite_error(sqlite3.SQLITE_CANTOPEN), ConfigError),
        (sqlite_error(sqlite3.SQLITE_CORRUPT), ConfigError),
        (sqlite_error(sqlite3.SQLITE_NOTADB), ConfigError),
    ],
)
def test_a_known_error_names_the_place_and_the_remedy(error: Exception, becomes: type[ForewatchError]) -> None:
    known = translate(error, PLACE)
    assert isinstance(known, becomes)
    assert str(PLACE) in known.message
    assert known.remedy


@pytest.mark.parametrize(
    "error", [OSError(errno.EBADF, "a bug of ours"), sqlite_error(sqlite3.SQLITE_MISUSE), sqlite3.ProgrammingError("x")]
)
def test_an_error_that_says_nothing_about_the_disk_stays_itself(error: Exception) -> None:
    with pytest.raises(type(error)) as raised, translated(PLACE):
        raise error
    assert raised.value is error


def test_the_original_error_stays_the_cause() -> None:
    full = OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(TransientError) as raised, translated(PLACE):
        raise full
    assert raised.value.__cause__ is full
