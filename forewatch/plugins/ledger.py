"""FileLedger: the account of what plugins asked for, one JSON line each, in ``egress.jsonl`` of the home."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from actions.isolation.egress import EgressEntry

MOST_BYTES = 16 << 20
"""Then the file becomes ``egress.1.jsonl``, and the one before that goes."""


class FileLedger:
    """Appends are single writes, so that several processes may keep one account."""

    def __init__(self, home: Path) -> None:
        self._path = home / "egress.jsonl"
        self._older = home / "egress.1.jsonl"

    def note(self, entry: EgressEntry) -> None:
        line = entry.model_dump_json(exclude_defaults=True).encode() + b"\n"
        fd = os.open(self._path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
        try:
            os.write(fd, line)
            is_full = os.fstat(fd).st_size > MOST_BYTES
        finally:
            os.close(fd)
        if is_full:
            self._path.replace(self._older)

    def entries(self) -> Iterator[EgressEntry]:
        """Oldest first; a line that a crash cut off is left out."""
        for path in (self._older, self._path):
            if path.exists():
                for line in path.read_bytes().splitlines():
                    try:
                        yield EgressEntry.model_validate_json(line)
                    except ValueError:
                        continue
