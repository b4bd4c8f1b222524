"""The ticker: appends what is due to the log and drives the open runs, asleep until the next thing is due."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from schemas.account import AccountState, CursorState
from schemas.clock import Clock, local_day
from streams import ticks
from streams.accounts import Fold
from streams.act import ActAgent
from streams.evaluate import EvaluateAgent
from streams.work import Log, Output

LONGEST_SLEEP = timedelta(minutes=1)
"""A clock that was set, or a machine that slept, is noticed after this."""
SHORTEST_SLEEP_S = 0.05


@dataclass(frozen=True, slots=True)
class TickerDeps:
    log: Log
    accounts: Fold[AccountState]
    cursors: Fold[CursorState]
    evaluate: EvaluateAgent
    act: ActAgent
    owners: Sequence[str]
    zone: ZoneInfo
    clock: Clock


class Ticker:
    """One per group of workers: the one that owns partition 0."""

    def __init__(self, deps: TickerDeps) -> None:
        self._deps = deps
        self._asked: dict[str, datetime] = {}
        self._ticked: dict[str, datetime] = {}
        self._wake = asyncio.Event()

    def wake(self) -> None:
        """Something moved: look again at once."""
        self._wake.set()

    async def run(self) -> None:
        """For ever; what it raises is the worker's end."""
        while True:
            self._wake.clear()
            await self.step(see_done=False)
            pause = max(SHORTEST_SLEEP_S, (self.next_due() - self._deps.clock.now()).total_seconds())
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._wake.wait()

    async def step(self, *, see_done: bool = True) -> None:
        """Append the polls, days and ticks that are due by now, then let the runs go on, and wait for what they do or
        not."""
        if self._deps.evaluate.owns(0):
            await self._deps.accounts.refresh()
            await self._deps.cursors.refresh()
            outputs = [*self.polls_due(), *self.days_due(), *self.timers_due()]
            if outputs:
                await self._deps.log.append(outputs)
        await (self._deps.act.step() if see_done else self._deps.act.begin())

    def next_due(self) -> datetime:
        """When ``step`` is next worth calling, at most a minute from now."""
        now = self._deps.clock.now()
        times = [now + LONGEST_SLEEP, ticks.next_midnight(now, self._deps.zone)]
        times += [due for account, due in self._poll_times() if self._asked.get(account) != due]
        if (timer := self._deps.evaluate.next_timer()) and self._ticked.get(timer[0]) != timer[1]:
            times.append(timer[1])
        if wake := self._deps.act.next_wake():
            times.append(wake)
        return min(times)

    def _poll_times(self) -> list[tuple[str, datetime]]:
        return list(ticks.poll_times(self._deps.accounts, self._deps.cursors.get))

    def polls_due(self) -> list[Output]:
        now = self._deps.clock.now()
        due = [(a, at) for a, at in self._poll_times() if at <= now and self._asked.get(a) != at]
        self._asked |= dict(due)
        return [ticks.poll_request(account, now) for account, _ in due]

    def days_due(self) -> list[Output]:
        """``clock.day`` for each local day that has begun, also those of a long stop."""
        now, zone = self._deps.clock.now(), self._deps.zone
        outputs = []
        for owner in self._deps.owners:
            last = self._deps.evaluate.last_day(owner)
            begun = ticks.days_begun(last, now, zone)
            if begun and self._ticked.get(f"day/{owner}") != ticks.next_midnight(now, zone):
                self._ticked[f"day/{owner}"] = ticks.next_midnight(now, zone)
                outputs += [ticks.clock_event(owner, "clock.day", now, day, zone) for day in begun]
        return outputs

    def timers_due(self) -> list[Output]:
        """``clock.tick`` for the rule timer that is due first."""
        now, zone = self._deps.clock.now(), self._deps.zone
        timer = self._deps.evaluate.next_timer()
        if timer is None or timer[1] > now or self._ticked.get(timer[0]) == timer[1]:
            return []
        owner, due = timer
        self._ticked[owner] = due
        return [ticks.clock_event(owner, "clock.tick", now, local_day(now, zone), zone, due)]
