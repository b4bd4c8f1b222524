"""The watched folder: what lies in it and what is in a file, read-only."""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from extractors.bankfile.parsed import MAX_BYTES
from schemas.errors import AuthError, ForewatchError, TransientError

_UNFINISHED = (".part", ".partial", ".crdownload", ".download", ".tmp", ".temp", ".filepart", "~", ".swp")
_AS_IT_IS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
_NO_MARK = getattr(os, "O_NOATIME", 0)


@dataclass(frozen=True, slots=True)
class Found:
    """A regular file. ``name`` is printable whatever the bytes of the file's name are."""

    name: str
    path: Path
    size: int
    mtime_ns: int


def listing(path: Path, *, was_read: bool) -> list[Found]:
    """The files of the folder by name, or the one file. Hidden, unfinished and linked files are left out.

    AuthError where a person must act, TransientError where it may come back by itself. ``was_read``: it was there
    before, so that a folder that is missing now may be a drive that is not mounted.
    """
    try:
        if not path.is_dir():
            status = path.stat()
            return [_found(path, status)] if stat.S_ISREG(status.st_mode) else []
        with os.scandir(path) as entries:
            files = [
                _found(Path(entry.path), entry.stat(follow_symlinks=False))
                for entry in entries
                if entry.is_file(follow_symlinks=False) and _is_wanted(entry.name)
            ]
    except OSError as error:
        raise source_error(error, path, was_read=was_read) from error
    return sorted(files, key=lambda found: found.name)


def _found(path: Path, status: os.stat_result) -> Found:
    return Found(printable(path.name), path, status.st_size, status.st_mtime_ns)


def _is_wanted(name: str) -> bool:
    return not name.startswith(".") and not name.lower().endswith(_UNFINISHED)


def printable(name: str) -> str:
    """A file name that fits into JSON and a terminal."""
    text = os.fsencode(name).decode("utf-8", "backslashreplace")
    if text.isprintable():
        return text[:255]
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)[:255]


def content(found: Found) -> bytes | None:
    """The bytes; None while the file changes. OSError as the system gives it. Leaves no access time behind."""
    with open(found.path, "rb", opener=_opener) as stream:
        before = os.fstat(stream.fileno())
        raw = stream.read(MAX_BYTES + 1)
        after = os.fstat(stream.fileno())
    is_still = (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns)
    return raw if is_still and (len(raw) == after.st_size or len(raw) > MAX_BYTES) else None


def _opener(path: str, _: int) -> int:
    try:
        return os.open(path, _AS_IT_IS | _NO_MARK)
    except PermissionError:  # only the owner of a file may ask for no access time
        return os.open(path, _AS_IT_IS)


_LASTING = frozenset([errno.EACCES, errno.EPERM, errno.ELOOP, errno.ENAMETOOLONG, errno.EINVAL])
_GONE = frozenset([errno.ENOENT, errno.ENOTDIR, errno.ESTALE, errno.ENODEV])


def source_error(error: OSError, path: Path, *, was_read: bool) -> ForewatchError:
    """What an error of the file system means to the caller."""
    where = printable(str(path)) if len(path.name) < 255 else "the configured path"
    what = f"{where}: {error.strerror or type(error).__name__}"
    if error.errno in _LASTING:
        return AuthError(what, remedy="make the folder readable for the user that runs Forewatch")
    if error.errno in _GONE and not was_read:
        return AuthError(what, remedy="create the folder, or correct the account's path")
    return TransientError(what, remedy="mount the drive or bring the folder back; nothing was forgotten")
