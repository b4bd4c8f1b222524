"""Live: the service as its log sees it, over a time in which it was stopped now and then."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from rules import shorthand
from rules.engine import Engine
from rules.ruleset import RuleSet
from rules.shorthand import BASE_DAY
from rules.state import RuleState
from rules.testing import tick
from schemas import ids
from schemas.clock import at_local, local_day
from schemas.event import Event

OWNER = "me"


class Live:
    """Ticks when timers are due, days at midnight, all of it late after a stop."""

    def __init__(self, rules: RuleSet, stopped: Iterable[tuple[int, int]] = (), *, days: int = 60) -> None:
        """``stopped``: after so many hours, for so many."""
        self.zone = rules.zone
        self.start = at_local(BASE_DAY, shorthand.BASE_TIME, self.zone)
        self.end = at_local(BASE_DAY + timedelta(days=days), datetime.min.time(), self.zone)
        self.engine, self.state = Engine(rules, OWNER, self.zone), RuleState()
        self.log: list[Any] = []
        self.signals: list[Any] = []
        self.told: list[Any] = []
        """The signals, and the merges of matters between them."""
        self.stopped = [
            (self.start + timedelta(hours=at), self.start + timedelta(hours=at + lasts)) for at, lasts in stopped
        ]

    def seen_at(self, at: datetime) -> datetime:
        """When something of that instant is noticed."""
        late = at
        while any(start <= late < end for start, end in self.stopped):
            late = max(end for start, end in self.stopped if start <= late < end)
        return late

    def play(self, events: Iterable[Event]) -> Live:
        waiting = sorted(
            (event.model_copy(update={"observed_at": self.seen_at(event.observed_at)}) for event in events),
            key=lambda event: event.observed_at,
        )
        day = self.start
        while day < self.end:
            day = at_local(local_day(day, self.zone) + timedelta(days=1), datetime.min.time(), self.zone)
            waiting.append(self._clock("clock.day", day))
        for event in sorted(waiting, key=lambda event: (event.observed_at, event.source != "clock")):
            self.run_to(event.observed_at, inclusive=event.source != "clock")
            due = self.state.next_timer()
            self.take(event)
            if due is not None and event.source == "clock" and self.seen_at(due) == event.observed_at:
                self.take(self._clock("clock.tick", due))  # the ticker appends days and ticks as one
        return self

    def run_to(self, until: datetime, *, inclusive: bool) -> None:
        while (due := self.state.next_timer()) is not None:
            if self.seen_at(due) > until or (self.seen_at(due) == until and not inclusive):
                return
            self.take(self._clock("clock.tick", due))

    def _clock(self, kind: str, at: datetime) -> Event:
        """As ``streams.ticks`` makes it: it occurred when it was due."""
        seen = self.seen_at(max(at, self.log[-1].observed_at) if self.log and kind == "clock.tick" else at)
        made = tick(seen, OWNER, self.zone, kind)
        name = ids.event_id(OWNER, kind, f"clock due {at.astimezone(UTC)}", seen.isoformat())
        return made.model_copy(update={"occurred_at": at.astimezone(UTC), "id": name})

    def take(self, event: Event) -> None:
        self.log.append(event)
        evaluation = self.engine.evaluate(event, self.state, event.observed_at)
        self.signals += evaluation.signals
        self.told += evaluation.told

    def said(self, *rules: str) -> list[str]:
        return said([signal for signal in self.signals if not rules or signal.rule in rules])


def said(signals: Iterable[Any]) -> list[str]:
    """Triggers and retractions, word for word."""
    return [signal.model_dump_json() for signal in signals if signal.type != "suppression"]
