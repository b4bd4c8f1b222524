"""One open log file, shared by all in this process and event loop that use the same path."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from streams.broker import Broker
from streams.embedded.file import LogFile
from streams.embedded.writer import Writer
from streams.ending import end

_WATCH_S = 0.1
"""How often to look whether another process appended: one PRAGMA, no file access."""

_open: dict[tuple[Path, int], Store] = {}


class Store:
    """The file to read, the thread that writes, and who wants to know of new records."""

    def __init__(self, path: Path, sync: str) -> None:
        self.file = LogFile(path, sync)
        self.writer = Writer(path, sync, on_written=self._written)
        self.listeners: set[Callable[[], None]] = set()
        """Called on the loop after each commit, our own or another process's."""
        self._users = 0
        self._watcher: asyncio.Task[None] | None = None

    def watch(self) -> None:
        """Also tell the listeners of what other processes append, from now on."""
        if self._watcher is None:
            self._watcher = asyncio.get_running_loop().create_task(self._watch())

    def refresh(self) -> None:
        """Take notice of other processes now, not at the next look."""
        if self.file.changed():
            self.file.reload()
            self._tell()

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(_WATCH_S)
            self.refresh()

    def _written(self, heads: dict[int, int]) -> None:
        self.file.heads.update(heads)
        self._tell()

    def _tell(self) -> None:
        for listener in list(self.listeners):
            listener()

    async def release(self) -> None:
        """The last user closes the file, after everything queued was written."""
        self._users -= 1
        if self._users:
            return
        for key in [key for key, store in _open.items() if store is self]:
            del _open[key]
        if self._watcher is not None:
            await end(self._watcher)
        await self.writer.close()
        self.file.close()


def open_store(broker: Broker) -> Store:
    """The store of that path for the running loop; each caller releases it once."""
    key = broker.path.resolve(), id(asyncio.get_running_loop())
    store = _open.get(key)
    if store is None:
        store = _open[key] = Store(broker.path, broker.options.get("sync", "full"))
    store._users += 1
    return store
