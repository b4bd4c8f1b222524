"""Watching a folder by IDLE, so that new mail is polled when it comes and not only on schedule.

IDLE is a hint and no more: servers forget to push, lines die unnoticed. The schedule goes on beside it.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, aclosing
from typing import Literal, TypeVar

from extractors.connector import Access
from extractors.imap.config import ImapConfig
from extractors.imap.errors import translated
from extractors.imap.folders import INBOX
from extractors.imap.login import Door, in_thread, log_in
from extractors.imap.session import Session
from schemas.errors import TransientError

RENEW_S = 540.0
"""Servers may hang up after 29 minutes of IDLE, and routers forget lines sooner."""
LONGEST_PAUSE_S = 300.0

Why = Literal["connected", "pushed"]
T = TypeVar("T")


class Watcher:
    """``enter`` opens the account as for a poll; it is closed again after each login. No thread waits for the server.

    ``pause`` and ``rng`` are given by tests.
    """

    def __init__(
        self,
        config: ImapConfig,
        enter: Callable[[], AbstractAsyncContextManager[Access]],
        *,
        door: Door | None = None,
        renew_s: float = RENEW_S,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
        rng: random.Random | None = None,
    ) -> None:
        self._config = config
        self._enter = enter
        self._door = door or Door()
        self._renew_s = renew_s
        self._pause = pause
        self._rng = rng or random.Random()
        self._failures = 0

    async def looks(self) -> AsyncGenerator[Why, None]:
        """Yields when the account should be polled: after each connection, since nobody watched before it, and when
        the server says that the folder has changed. Reconnects by itself, ever more slowly. Ends where the server has
        no IDLE. AuthError when it lets us in no more: a poll tells the person. Close it with ``aclose``."""
        while True:
            try:
                session = await self._connected()
                try:
                    if not session.can("IDLE"):
                        return
                    async with aclosing(self._watched(session)) as watched:
                        async for why in watched:
                            yield why
                finally:
                    session.close()
            except TransientError:
                self._failures = min(self._failures + 1, 20)
                longest = min(LONGEST_PAUSE_S, 2.0**self._failures)
                await self._pause(self._rng.uniform(longest / 2, longest))

    async def _connected(self) -> Session:
        async with self._enter() as access:
            return await log_in(self._config, access, self._door)

    async def _watched(self, session: Session) -> AsyncGenerator[Why, None]:
        name = self._config.folders[0] if self._config.folders else INBOX
        if await self._told(session, lambda: session.open(name)) is None:
            raise TransientError(f"the folder {name} cannot be opened on {self._config.host}")
        yield "connected"
        while True:
            has_news = await self._told(session, session.begin_idle)
            if not has_news:
                await self._spoken_to(session)
            has_news = await self._told(session, session.end_idle) or has_news
            self._failures = 0
            if has_news:
                yield "pushed"

    async def _spoken_to(self, session: Session) -> None:
        """Returns when the server says anything or hangs up, or when IDLE should be renewed."""
        loop = asyncio.get_running_loop()
        spoken = asyncio.Event()
        loop.add_reader(session.fileno(), spoken.set)
        try:
            async with asyncio.timeout(self._renew_s):
                await spoken.wait()
        except TimeoutError:
            pass
        finally:
            loop.remove_reader(session.fileno())

    async def _told(self, session: Session, ask: Callable[[], T]) -> T:
        def asked() -> T:
            try:
                return ask()
            except Exception as error:
                raise translated(error, self._config.host) from error

        return await in_thread(asked, session.hang_up, lambda answer: None)
