"""What a machine does to a command (a full disk, a folder of somebody else's, a broken file), in words of ours."""

from __future__ import annotations

import errno
import sqlite3

from schemas.errors import ForewatchError

_OF_FILES: dict[int, tuple[str, str]] = {
    errno.ENOSPC: ("no space is left on the device", "free some space: nothing is lost, but nothing can be written"),
    errno.EDQUOT: ("the disk quota is used up", "free some space: nothing is lost, but nothing can be written"),
    errno.EROFS: ("the file system is read-only", "choose a folder that can be written with --home or FOREWATCH_HOME"),
    errno.EACCES: ("this user may not do that there", "give it the right, or choose another folder with --home"),
    errno.EPERM: ("this user may not do that there", "give it the right, or choose another folder with --home"),
    errno.ENOTDIR: ("a file is where a folder should be", "choose another folder with --home or FOREWATCH_HOME"),
    errno.ENAMETOOLONG: ("the name is too long", "choose a shorter one"),
    errno.ELOOP: ("the links go round in a circle", "mend them"),
    errno.EMFILE: ("too many files are open", "raise the limit: ulimit -n"),
    errno.ENFILE: ("too many files are open on this machine", "close some programs"),
    errno.EIO: ("the device failed", "look at the disk's health, and restore the home folder from a copy"),
    errno.ENOMEM: ("no memory is left", "close some programs"),
}
"""Every way in which a file may fail that is no bug of ours; a test goes through them."""

_DAMAGED = "restore it from a copy; 'forewatch doctor' says what else is damaged"
_OF_DATABASES: dict[str, tuple[str, str]] = {
    "SQLITE_FULL": _OF_FILES[errno.ENOSPC],
    "SQLITE_READONLY": ("it may only be read", "make the home folder writable for this user"),
    "SQLITE_CANTOPEN": ("it cannot be opened", "make the home folder writable for this user"),
    "SQLITE_PERM": _OF_FILES[errno.EACCES],
    "SQLITE_BUSY": ("another process holds it", "try again when that one is done"),
    "SQLITE_IOERR": _OF_FILES[errno.EIO],
    "SQLITE_CORRUPT": ("the file is damaged", _DAMAGED),
    "SQLITE_NOTADB": ("the file is no database", _DAMAGED),
}
"""By primary result code; extended ones begin with it."""


def in_words(error: Exception) -> ForewatchError | None:
    """What happened, where and what to do; None for what is a bug, which has to surface."""
    if isinstance(error, OSError) and error.errno in _OF_FILES:
        what, remedy = _OF_FILES[error.errno]
        where = f"{error.filename}: " if error.filename else ""
        return ForewatchError(f"{where}{what}", remedy=remedy)
    if isinstance(error, sqlite3.Error):
        code = getattr(error, "sqlite_errorname", "")
        found = next(
            (words for name, words in _OF_DATABASES.items() if code == name or code.startswith(f"{name}_")), None
        )
        return ForewatchError(f"a database in the home folder: {found[0]}", remedy=found[1]) if found else None
    return None
