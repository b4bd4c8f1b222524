"""Landlock: gives up, for this process and for good, all access to files but in a few places (Linux 5.13+)."""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Iterable
from pathlib import Path

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446  # system calls, the same number on every architecture
_VERSION = 1
_PATH_BENEATH = 1
_NO_NEW_PRIVILEGES = 38

_RUN, _WRITE_FILE, _READ_FILE, _READ_FOLDER, _TRUNCATE = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 14
_DEVICES = 1 << 6 | 1 << 11
"""Making device files: never allowed."""
_FILES = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
"""ABI version -> how many rights over files it knows; later versions know no more that matter here."""
_TCP = 0b11
"""Bind and connect, from version 4 on."""
_SCOPED = 0b11
"""No abstract sockets and no signals beyond this process and what it starts, from version 6 on."""


def is_supported() -> bool:
    return _version() > 0


def read_only(places: Iterable[Path]) -> bool:
    """From now on this thread, and what it starts, may read below ``places`` and touch no other file."""
    return restrict(read=places)


def restrict(*, read: Iterable[Path], run: Iterable[Path] = (), write: Iterable[Path] = ()) -> bool:
    """From now on this thread, and what it starts, may read below ``read``, read and run below ``run``, read and
    change below ``write``, and touch no other file. No TCP connection can be made. Open descriptors stay.

    Must be called before other threads start: those escape it. A place that is not there is left out. False, and
    nothing done, where the kernel has no Landlock.
    """
    version = _version()
    if version <= 0:
        return False
    every = (1 << _FILES[min(version, max(_FILES))]) - 1
    ruleset = _call(_CREATE, attributes := _attributes(version, every), len(attributes), 0)
    try:
        for rights, places in (
            (_READ_FILE | _READ_FOLDER, read),
            (_READ_FILE | _READ_FOLDER | _RUN, run),
            (every & ~(_RUN | _DEVICES), write),
        ):
            for place in places:
                _allow(ruleset, place, rights & every)
        if ctypes.CDLL(None, use_errno=True).prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0):
            raise OSError(ctypes.get_errno(), "prctl(PR_SET_NO_NEW_PRIVS)")
        _call(_RESTRICT, ruleset, 0)
    finally:
        os.close(ruleset)
    return True


def _attributes(version: int, every: int) -> bytes:
    parts = [every, *([_TCP] if version >= 4 else []), *([_SCOPED] if version >= 6 else [])]
    return struct.pack(f"={len(parts)}Q", *parts)


def _allow(ruleset: int, place: Path, rights: int) -> None:
    if not place.is_dir():
        rights &= _RUN | _READ_FILE | _WRITE_FILE | _TRUNCATE
    try:
        fd = os.open(place, os.O_PATH)
    except FileNotFoundError:
        return
    try:
        _call(_ADD_RULE, ruleset, _PATH_BENEATH, struct.pack("=Qi", rights, fd), 0)
    finally:
        os.close(fd)


def _version() -> int:
    if sys.platform != "linux":
        return 0
    return int(ctypes.CDLL(None).syscall(_CREATE, None, ctypes.c_size_t(0), _VERSION))


def _call(number: int, *arguments: int | bytes) -> int:
    result = int(ctypes.CDLL(None, use_errno=True).syscall(number, *arguments))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"Landlock: {os.strerror(code)}")
    return result
