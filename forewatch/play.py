"""Plays days of files through a real service on a simulated clock: the demo, the evaluation and the kill tests.

Time stands still until everything that is due has been done. A player that is killed and started again on the same home
goes on at the instant where it was and ends with the same history, signals, proposals and effects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from forewatch.wiring import Service
from schemas.clock import ManualClock, at_local, local_day, start_of_day
from schemas.event import Event
from schemas.journal import JournalEntry
from schemas.record import PollDue
from streams import ticks, topics
from streams.codec import decode
from streams.work import Log, Output, read_entries

POLL_TIMES = (time(7, 30), time(18, 30))
"""Wall times at which the player polls every account."""
Answer = Callable[[Service, datetime], Sequence[Output]]
"""The commands of a person who looks at what is there at this instant: the same for the same."""
REPEATED = 2000
"""More records than may be written again after a kill."""


@dataclass(frozen=True, slots=True)
class Span:
    """Local days [start, end) in a zone."""

    start: date
    end: date
    zone: ZoneInfo

    def polls(self) -> Iterator[datetime]:
        day = self.start
        while day < self.end:
            yield from (at_local(day, wall, self.zone) for wall in POLL_TIMES)
            day += timedelta(days=1)


async def last_instant(log: Log) -> datetime | None:
    """The latest instant that the log knows of: where a player that was killed stood."""
    found = [decode(PollDue, value).due_at for value in await _newest(log, topics.POLLS)]
    found += [decode(Event, value).observed_at for value in await _newest(log, topics.EVENTS)]
    found += [decode(JournalEntry, value).at for value in await _newest(log, topics.JOURNAL)]
    return max(found, default=None)


async def _newest(log: Log, topic: str) -> list[bytes]:
    """The last records of each partition. The very last need not be the latest: on Kafka what was not acknowledged
    before a kill is written once more after it."""
    found: list[bytes] = []
    for partition in range(log.partitions(topic)):
        start = max(0, await log.end(topic, partition) - REPEATED)
        found += [entry.value async for entry in read_entries(log, topic, partition, start) if entry.value]
    return found


class Player:
    """``arrive(until)`` puts on disk what the world had by then; ``answer(service, at)`` is what a person says of what
    is there. After each poll they go on until they have said it all, so that they say the same when they are asked
    again after a kill, which may come between an approval and the question that it leads to."""

    def __init__(
        self,
        service: Service,
        clock: ManualClock,
        span: Span,
        *,
        arrive: Callable[[datetime], None],
        answer: Answer = lambda service, at: (),
        progress: Callable[[date], None] = lambda day: None,
    ) -> None:
        self._service = service
        self._clock = clock
        self._span = span
        self._arrive = arrive
        self._answer = answer
        self._progress = progress

    async def play(self) -> None:
        """To the end of the span; from where the clock stands."""
        resumed_at = self._clock.now()
        await self._settle()
        for at in self._span.polls():
            if at < resumed_at:
                continue
            await self.pass_time(at)
            await self.poll()
            self._progress(local_day(at, self._span.zone))
        await self.pass_time(start_of_day(self._span.end, self._span.zone))

    async def pass_time(self, until: datetime) -> None:
        """Let every timer, midnight and wait that is due before ``until`` happen at its own instant."""
        while (due := self._next_due()) is not None and due <= until:
            self._clock.advance_to(due)
            await self._settle()
        self._clock.advance_to(until)
        await self._settle()

    def _next_due(self) -> datetime | None:
        now = self._clock.now()
        times = [ticks.next_midnight(now, self._span.zone)]
        if timer := self._service.evaluate.next_timer():
            times.append(timer[1])
        if wake := self._service.act.next_wake():
            times.append(wake)
        return min(time for time in times if time > now) if any(time > now for time in times) else None

    async def _settle(self) -> None:
        """Everything that is due at this instant, and everything that follows from it."""
        ticker = self._service.ticker
        while True:
            await self._service.worker.drained()
            outputs = [*ticker.days_due(), *ticker.timers_due()]
            if outputs:
                await self._service.log.append(outputs)
            elif not await self._service.act.step():
                return

    async def poll(self) -> None:
        """Everything that has arrived by now is polled, and the person answers."""
        now = self._clock.now()
        self._arrive(now)
        await self._service.accounts.refresh()
        requests = [ticks.poll_request(account.id, now) for account in self._service.accounts]
        await self._service.log.append(requests)
        await self._settle()
        said: set[bytes] = set()
        while new := [word for word in self._answer(self._service, now) if word.value and word.value not in said]:
            said |= {word.value for word in new if word.value}
            await self._service.log.append(new)
            await self._settle()
