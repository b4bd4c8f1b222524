"""Where calendars come from: a file, a folder of files, or a web address, as bytes."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from extractors.calendar.reading import SIZE_CAP, looks_like_calendar
from extractors.fetch import Fetcher, Stamp
from schemas.errors import AuthError, ForewatchError, TransientError
from schemas.ids import content_hash

FILES_CAP = 20_000
DEPTH_CAP = 4
TOTAL_CAP = 60_000_000
SUFFIXES = (".ics", ".ical", ".icalendar", ".ifb")
ACCEPT = "text/calendar, application/calendar+xml;q=0.1, */*;q=0.1"

_HEAD = 4_096
_SNIFFED = 20


@dataclass(frozen=True, slots=True)
class File:
    """``name`` is relative to the account's folder. ``raw`` is None where it could not be read; ``fault`` says why."""

    name: str
    raw: bytes | None
    digest: str = ""
    fault: str = ""
    stamp: Stamp = field(default_factory=Stamp)


def read_path(path: Path) -> list[File]:
    """The files there, in order of their names. Blocks.

    TransientError: the file or folder is not there; AuthError: it may not be read. One bad file among others is a
    ``File`` with a fault.
    """
    try:
        if not stat.S_ISDIR(path.stat().st_mode):
            return [_read(path, path.name, SIZE_CAP)]
        names = _listed(path)
    except OSError as error:
        raise translated(error, path) from error
    left = TOTAL_CAP
    files = []
    for name in names:
        try:
            file = _read(path / name, _printable(name), left)
        except OSError as error:
            file = File(_printable(name), None, fault=f"cannot be read: {error.strerror or error}")
        left -= len(file.raw or b"")
        files.append(file)
    return files


async def read_url(url: str, fetcher: Fetcher, stamp: Stamp | None, now: datetime) -> File | None:
    """None where nothing changed since ``stamp``. The name is the host: the rest of the address is often a secret."""
    fetched = await fetcher.get(url, now=now, stamp=stamp, accept=ACCEPT)
    return None if fetched.body is None else _file("calendar", fetched.body, fetched.stamp)


def has_calendar(path: Path) -> bool:
    """Whether a file is named or begins like a calendar, or one of the first files of a folder begins so.

    A broken .ics file is still a calendar, of which its owner wants to know what is wrong. Never raises.
    """
    try:
        if not path.is_dir():
            return _begins_well(path) or (path.is_file() and path.name.lower().endswith(SUFFIXES))
        return any(_begins_well(path / name) for name in _listed(path)[:_SNIFFED])
    except (OSError, AuthError):
        return False


def translated(error: OSError, path: Path) -> ForewatchError:
    if isinstance(error, PermissionError):
        return AuthError(f"{path} may not be read", remedy="give the user that runs Forewatch the right to read it")
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return TransientError(f"{path} is not there", remedy="mount it again, or correct the account's path")
    return TransientError(f"{path} cannot be read: {error.strerror or error}")


def _file(name: str, raw: bytes, stamp: Stamp | None = None) -> File:
    return File(name, raw, content_hash(raw)[:16], stamp=stamp or Stamp())


def _read(path: Path, name: str, cap: int) -> File:
    """One byte more than may be, so that the reader sees that it is too large. Pipes and devices are not opened."""
    if not stat.S_ISREG(path.stat().st_mode):
        return File(name, None, fault="is not a file")
    if cap <= 0:
        return File(name, None, fault=f"left out: the folder holds more than {TOTAL_CAP // 1_000_000} MB")
    with path.open("rb") as file:
        return _file(name, file.read(SIZE_CAP + 1))


def _begins_well(path: Path) -> bool:
    if not stat.S_ISREG(path.stat().st_mode):
        return False
    with path.open("rb") as file:
        return looks_like_calendar(file.read(_HEAD))


def _listed(folder: Path) -> list[str]:
    """Names of calendar files below, sorted; hidden ones are other programs' business. OSError if not listable."""
    found: list[str] = []
    for place, folders, names in os.walk(folder, onerror=_raise):
        depth = len(Path(place).relative_to(folder).parts)
        folders[:] = sorted(name for name in folders if not name.startswith(".")) if depth < DEPTH_CAP else []
        fitting = (name for name in names if name.lower().endswith(SUFFIXES) and not name.startswith("."))
        found += [os.path.relpath(os.path.join(place, name), folder) for name in fitting]
        if len(found) > FILES_CAP:
            raise AuthError(
                f"{folder} holds more than {FILES_CAP} calendar files", remedy="watch its folders one by one"
            )
    return sorted(found)


def _raise(error: OSError) -> None:
    raise error


def _printable(name: str) -> str:
    return os.fsencode(name).decode("utf-8", "backslashreplace")
