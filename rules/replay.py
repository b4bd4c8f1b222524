"""Replay: rules played over a history, through the engine that evaluates live.

The history brings its own clock: the ticks and days that the service logged. A rule that was not in use then has timers
of its own, for which no tick was logged; each gets one at the instant it is due, unless the log shows that the service
was stopped at that instant. So a rule that was in use says exactly what it said, and a new one what it would have said.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from rules.engine import Engine
from rules.ruleset import RuleSet
from rules.state import RuleState
from rules.testing import tick
from schemas.trigger import Merge, Retraction, Signal, Suppression, Trigger

Signals = list[Trigger | Retraction | Suppression]
_MOST_TICKS = 100_000
"""In one gap of the log; a rule that wants more sets timers for ever."""


class Stops:
    """When the service was stopped or busy: from when something was due on the clock until it was logged."""

    def __init__(self, events: Iterable[Any] = ()) -> None:
        self._late: list[tuple[datetime, datetime]] = []
        self._starts: list[datetime] | None = None
        self._ends: list[datetime] = []
        self.see(events)

    def see(self, events: Iterable[Any]) -> None:
        self._late += [(event.occurred_at, event.observed_at) for event in events if event.source == "clock"]
        self._starts = None

    def covers(self, instant: datetime) -> bool:
        starts = self._merged() if self._starts is None else self._starts
        place = bisect_right(starts, instant) - 1
        return place >= 0 and instant <= self._ends[place]

    def _merged(self) -> list[datetime]:
        starts: list[datetime] = []
        self._ends = []
        for start, end in sorted(self._late):
            if self._ends and start <= self._ends[-1]:
                self._ends[-1] = max(self._ends[-1], end)
            else:
                starts.append(start)
                self._ends.append(end)
        self._starts = starts
        return starts


class Replay:
    """Plays one owner's events, which come in the order of the log; ``stops`` has seen all of them."""

    def __init__(self, rules: RuleSet, owner: str, zone: ZoneInfo, stops: Stops) -> None:
        self._engine = Engine(rules, owner, zone)
        self._owner, self._zone, self._stops = owner, zone, stops
        self._now: datetime | None = None
        self.state = RuleState()

    def play(self, events: Iterable[Any]) -> Signals:
        """What the rules say; more events may follow."""
        return [signal for signal in self.tell(events) if not isinstance(signal, Merge)]

    def tell(self, events: Iterable[Any]) -> Iterator[Signal]:
        """The same with the merges of matters, as the topic ``triggers`` has it."""
        for event in events:
            self._now = event.observed_at if self._now is None else max(self._now, event.observed_at)
            yield from self._ticks(self._now)
            yield from self._engine.evaluate(event, self.state, self._now).told

    def _ticks(self, now: datetime) -> Signals:
        signals: Signals = []
        for _ in range(_MOST_TICKS):
            due = self.state.next_timer()
            if due is None or due >= now or self._stops.covers(due):
                return signals
            signals += self._engine.evaluate(tick(due, self._owner, self._zone), self.state, due).signals
        raise AssertionError(f"more than {_MOST_TICKS} timers until {now}")


def replay(rules: RuleSet, events: Iterable[Any], *, owner: str, zone: ZoneInfo) -> Signals:
    """What these rules say over all of one owner's events."""
    events = list(events)
    return Replay(rules, owner, zone, Stops(events)).play(events)
