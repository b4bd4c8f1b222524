"""Watching sources that say by themselves that there is something new (IMAP IDLE), so that they are polled at once.

A hint and no more: the schedule goes on beside it, and what a hint misses the next poll finds.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import dataclass
from typing import Any, Protocol

import structlog
from pydantic import BaseModel

from extractors.connector import Access, Connector
from schemas.account import AccountState
from schemas.clock import Clock
from schemas.errors import ForewatchError
from streams import ticks
from streams.accounts import Fold
from streams.ending import end
from streams.poll import OpenAccess
from streams.work import Log

log = structlog.get_logger(__name__)

LOOK_EVERY_S = 15.0
"""How soon an account that was added, paused or changed is noticed."""


class WatchedConnector(Protocol):
    """A connector whose source can be listened to."""

    def watch(
        self, config: BaseModel, enter: Callable[[], AbstractAsyncContextManager[Access]]
    ) -> AsyncGenerator[Any, None]:
        """Yields whenever a poll is worth while; reconnects by itself; ends where the source cannot be listened to.
        AuthError when it lets us in no more: the next poll tells the person."""
        ...


@dataclass(frozen=True, slots=True)
class WatchDeps:
    """``mine``: whether this process polls that account."""

    log: Log
    accounts: Fold[AccountState]
    connectors: Mapping[str, Connector]
    access: OpenAccess
    clock: Clock
    mine: Callable[[str], bool]


class Watchers:
    """One task for each account that can be listened to; ``run`` keeps them in step with the accounts."""

    def __init__(self, deps: WatchDeps) -> None:
        self._deps = deps
        self._tasks: dict[str, tuple[AccountState, asyncio.Task[None]]] = {}

    async def run(self) -> None:
        """For ever; its end takes the tasks with it."""
        try:
            while True:
                await self._deps.accounts.refresh()
                await self.keep_step(self._deps.accounts)
                await asyncio.sleep(LOOK_EVERY_S)
        finally:
            for name in list(self._tasks):
                await self._drop(name)

    async def keep_step(self, accounts: Iterable[AccountState]) -> None:
        """Listen to each account that is active here, under its present settings; let go of the others."""
        wanted = {account.id: account for account in accounts if self._is_wanted(account)}
        for name, (known, _) in list(self._tasks.items()):
            if wanted.get(name) != known:
                await self._drop(name)
        for name, account in wanted.items():
            if name not in self._tasks:
                self._tasks[name] = account, asyncio.create_task(self._watch(account))

    @property
    def watched(self) -> list[str]:
        """Accounts that are listened to now."""
        return sorted(name for name, (_, task) in self._tasks.items() if not task.done())

    def _is_wanted(self, account: AccountState) -> bool:
        if account.status != "active" or not self._deps.mine(account.id):
            return False
        return hasattr(self._deps.connectors.get(account.connector), "watch")

    async def _watch(self, account: AccountState) -> None:
        connector: Any = self._deps.connectors[account.connector]
        try:
            config = connector.config.model_validate(account.config)
            async with aclosing(connector.watch(config, lambda: self._deps.access(account, False))) as looks:
                async for _ in looks:
                    request = ticks.poll_request(account.id, self._deps.clock.now(), "pushed")
                    await self._deps.log.append([request])
        except (ForewatchError, ValueError) as error:
            log.info("no longer listening", action="watch_ended", account=account.id, error=str(error))

    async def _drop(self, name: str) -> None:
        _, task = self._tasks.pop(name)
        await end(task)
