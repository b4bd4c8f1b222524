"""Keeping to a source's rate of calls by waiting, where the wait is short."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from time import monotonic


class Pace:
    """At most ``calls`` turns in any ``per_s`` seconds, in order of asking."""

    def __init__(
        self,
        calls: int,
        per_s: float,
        *,
        clock: Callable[[], float] = monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._per_s = per_s
        self._clock = clock
        self._sleep = sleep
        self._turns: deque[float] = deque(maxlen=calls)

    async def turn(self) -> None:
        """Returns when the next call may be made, and counts it."""
        now = self._clock()
        at = now
        if len(self._turns) == self._turns.maxlen:
            at = max(now, self._turns[0] + self._per_s)
        self._turns.append(at)
        if at > now:
            await self._sleep(at - now)
