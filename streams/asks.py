"""Asks: what may take minutes (a model that plans) runs beside the agents' loop, one task a proposal, and nothing waits
for it. A task that ends, for whatever reason, is told of, and what it raised is raised where the loop is."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from datetime import datetime

from streams.ending import end


class Asks:
    """``on_end`` is called when there may be something to do."""

    def __init__(self, on_end: Callable[[], None]) -> None:
        self._on_end = on_end
        self._tasks: dict[str, asyncio.Task[datetime | None]] = {}
        self._partitions: dict[str, int] = {}
        self._wakes: dict[str, datetime | None] = {}
        self._ended: set[str] = set()

    def go_on(self, partition: int, proposal: str, asked: str, ask: Callable[[], Awaitable[datetime | None]]) -> None:
        """Unless it is under way, or wanted to be left alone. ``asked`` names what is asked: another name, another
        beginning."""
        if proposal in self._tasks or asked in self._wakes:
            return
        self._partitions[proposal] = partition
        task = asyncio.ensure_future(ask())
        self._tasks[proposal] = task
        task.add_done_callback(lambda done: self._end(proposal, asked, done))

    def due(self, now: datetime) -> None:
        """Those that wanted to be asked again by now may."""
        self._wakes = {asked: wake for asked, wake in self._wakes.items() if wake is None or wake > now}

    def next_wake(self) -> datetime | None:
        return min((wake for wake in self._wakes.values() if wake is not None), default=None)

    def take_ended(self) -> set[str]:
        """Proposals whose task has ended since the last call; what one of them raised is raised here."""
        ended, self._ended = self._ended, set()
        for proposal in ended:
            task = self._tasks.pop(proposal, None)
            if task is not None and not task.cancelled():
                task.result()
        return ended

    def cut(self, proposals: Collection[str]) -> None:
        """Give up what is under way for these, at once; they may be asked about again."""
        for name in self._tasks.keys() & set(proposals):
            self._tasks[name].cancel()

    def wake(self) -> None:
        """Whatever wanted to be left alone is looked at again."""
        self._wakes.clear()

    async def cancel(self, partition: int | None = None) -> None:
        """Of a partition, or all; done when it returns. What they had under way counts as spent."""
        gone = [name for name in self._tasks if partition in (None, self._partitions[name])]
        await end(*[self._tasks.pop(name) for name in gone])

    def _end(self, proposal: str, asked: str, task: asyncio.Task[datetime | None]) -> None:
        if self._tasks.get(proposal) is not task:
            return
        if not task.cancelled() and task.exception() is None:
            self._wakes[asked] = task.result()
        self._ended.add(proposal)
        self._on_end()
