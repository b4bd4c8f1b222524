"""A hot segment: an append-only file of JSON lines that readers see at once.

It is never fsynced: the ledger holds the same bytes until they are in Parquet, and ``open`` makes the file equal to
them whatever a crash, a power cut or a full disk left behind.
"""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = "hot"


def name(first: int) -> str:
    """Path below the history folder of the segment whose first row has this seq."""
    return f"{FOLDER}/{first:012d}.jsonl"


class HotSegment:
    """The one file that grows. Not thread-safe: its owner holds a lock."""

    def __init__(self, fd: int, first: int, size: int, rows: int) -> None:
        self._fd = fd
        self.first = first
        self.size = size
        self.rows = rows

    @classmethod
    def open(cls, root: Path, first: int, lines: list[bytes]) -> HotSegment:
        """Make the file hold exactly these lines, touching only what differs, and open it for more."""
        wanted = b"".join(lines)
        fd = os.open(root / name(first), os.O_CREAT | os.O_RDWR | os.O_APPEND, 0o644)
        try:
            with open(fd, "rb", closefd=False) as file:
                found = file.read()
            kept = _agreed(found, wanted)
            if kept < len(found):
                os.ftruncate(fd, kept)
            segment = cls(fd, first, kept, 0)
            segment.append(wanted[kept:], len(lines))
        except BaseException:
            os.close(fd)
            raise
        return segment

    def append(self, data: bytes, rows: int) -> None:
        """All of it or nothing: what does not fit on the disk is cut off again."""
        try:
            written = 0
            while written < len(data):
                written += os.write(self._fd, data[written:])
        except OSError:
            os.ftruncate(self._fd, self.size)
            raise
        self.size += len(data)
        self.rows += rows

    def close(self) -> None:
        os.close(self._fd)


def _agreed(found: bytes, wanted: bytes) -> int:
    """Length of what both begin with; a torn tail is a beginning too, and only needs its end."""
    if wanted.startswith(found):
        return len(found)
    return next((at for at, pair in enumerate(zip(found, wanted, strict=False)) if pair[0] != pair[1]), len(wanted))
