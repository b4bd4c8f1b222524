"""One consuming process per group: a lock that dies with the process that holds it."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from schemas.errors import ConfigError


class GroupLock:
    """Held from construction until ``release``, or until the process is gone, however it went."""

    def __init__(self, log: Path, group: str) -> None:
        self._path = log.with_name(f"{log.name}.{group}.lock")
        try:
            self._handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise ConfigError(
                f"cannot make the lock file {self._path}: {error.strerror}", remedy="make its folder writable"
            ) from error
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(self._handle, 20).decode("ascii", "replace").strip()
            os.close(self._handle)
            raise ConfigError(
                f"another process (pid {holder or 'unknown'}) already runs {group!r} on {log}",
                remedy="stop that one first, or give this one a log of its own",
            ) from None
        os.ftruncate(self._handle, 0)
        os.pwrite(self._handle, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """The file stays: to remove it would let a third process lock another one of the same name."""
        os.close(self._handle)
