"""Reloading: rule files that change while the service runs are checked, and come into use between two events.

Files that are wrong change nothing: the rules that were in use stay so, and it is told where to mend them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from zoneinfo import ZoneInfo

import structlog

from rules.changeover import Difference
from rules.loader import RuleErrors
from rules.ruleset import RuleSet
from schemas.clock import Clock
from schemas.errors import ConfigError
from streams.rulebook import RuleBook
from streams.work import Log

logger = structlog.get_logger(__name__)

LOOK_EVERY_S = 2.0

Stamp = tuple[tuple[str, int, int, int], ...]
"""Of each file: its name, when it was written, its size and its inode."""


async def rules_to_start_with(load: Callable[[], RuleSet], log: Log, owner: str, zone: ZoneInfo) -> tuple[RuleSet, str]:
    """Those of the files or, where a file is wrong, those that were in use last, and what is wrong.

    A mistake in one file must not silence all the others. RuleErrors where nothing was in use before.
    """
    try:
        return load(), ""
    except RuleErrors as error:
        before = await RuleBook(log).last_used(owner, zone)
        if before is None:
            raise
        logger.error("the rules stay as they were", action="rules_refused", error=str(error))
        return before, str(error)


class Reloader:
    """``load`` reads and checks all files; ``leads`` says whether this process speaks for the group of workers."""

    def __init__(
        self,
        log: Log,
        rules: RuleSet,
        load: Callable[[], RuleSet],
        paths: Callable[[], Iterable[Path]],
        owner: str,
        clock: Clock,
        leads: Callable[[], bool],
        problem: str = "",
    ) -> None:
        self._book = RuleBook(log)
        self._rules = rules
        self._load = load
        self._paths = paths
        self._owner = owner
        self._clock = clock
        self._leads = leads
        self._lock = asyncio.Lock()
        self.problem = problem
        """Why the files as they are now are not in use; empty: they are."""

    @property
    def rules(self) -> RuleSet:
        """Those in use."""
        return self._rules

    @property
    def count(self) -> int:
        """Of the rules in use."""
        return sum(self._rules.is_on(rule.id) for rule in self._rules)

    async def start(self) -> None:
        """Before the worker starts: the rules that were loaded are in use from here on."""
        await self._book.bring_into_use(self._rules, [self._owner], self._clock.now())

    async def reload(self) -> Difference:
        """Takes up the files as they are now; ConfigError, and nothing changes, if they are wrong."""
        async with self._lock:
            try:
                rules = await asyncio.to_thread(self._load)
            except ConfigError as error:
                self.problem = str(error)
                logger.error("the rules stay as they were", action="rules_refused", error=self.problem)
                raise
            self.problem = ""
            found = await self._book.bring_into_use(rules, [self._owner], self._clock.now())
            self._rules = rules
            logger.info("the rules were read again", action="rules_reloaded", what=str(found))
            return found

    async def run(self) -> None:
        """For ever: a file that changed, and then rested between two looks, is taken up."""
        taken = seen = await asyncio.to_thread(self._stamp)
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            now = await asyncio.to_thread(self._stamp)
            if now == seen != taken and self._leads():
                taken = now
                try:
                    await self.reload()
                except ConfigError:
                    continue  # it is told, and looked at again when the files change
            seen = now

    def _stamp(self) -> Stamp:
        return tuple(sorted(set(self._files())))

    def _files(self) -> Iterator[tuple[str, int, int, int]]:
        """Whatever may be part of the rules: all of the folders, and what was loaded from elsewhere."""
        paths = tuple(self._paths())
        folders = [path for path in paths if path.is_dir()]
        found = [file for folder in folders for file in folder.rglob("*.yaml")]
        for path in (*found, *map(Path, self._rules.files), *paths):
            try:
                status = path.stat()
            except OSError:
                continue  # what is gone is missed in the stamp
            yield str(path), status.st_mtime_ns, status.st_size, status.st_ino
