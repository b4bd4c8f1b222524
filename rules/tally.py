"""Tally: the windows of a ledger, and what a rule finds in each of them; pure functions of ledger and time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import accumulate, takewhile
from zoneinfo import ZoneInfo

from rules.judges import Finding, Found, Judge, Window
from rules.ledger import Item, Ledger, number
from rules.windows import Span, aligned, following, last_end, later, preceding, sessions, sliding
from schemas.window import Over

KEPT = 24
"""Earlier windows that a spike or drop is compared with."""
REMEMBERED = timedelta(days=14)
"""How long after its windows closed a thing is remembered, so that its withdrawal still counts."""


# --- windows ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tally:
    """How a rule cuts time into windows, and what it looks for in them; ``distinct``: tags are counted, not things."""

    over: Over
    lateness: timedelta
    judge: Judge
    zone: ZoneInfo
    distinct: bool = False

    def closes(self, at: datetime) -> datetime:
        """When no window that can hold what occurred then takes anything in any more."""
        return last_end(self.over, at, self.zone) + self.lateness

    def find(self, ledger: Ledger, now: datetime) -> list[Found]:
        """The windows that hold, of those that can still change or were just closed, by time."""
        if self.over.is_aligned:
            return list(self._aligned(ledger, now))
        found = self._sessions(ledger) if self.over.shape == "session" else self._episodes(ledger)
        return [(window, self.judge.find(window, ())) for window in found if self.is_remembered(window.end, now)]

    def is_remembered(self, end: datetime, now: datetime) -> bool:
        """Whether all of a window with this end is still remembered. A session ends at its last event."""
        return self._closed_at(end) + REMEMBERED > now

    def _closed_at(self, end: datetime) -> datetime:
        if self.over.shape == "session":
            return later(self.over.length, end, self.zone) + self.lateness
        return end + self.lateness

    def outlived(self, ledger: Ledger, now: datetime) -> list[Item]:
        """The things that are in no window any more that is remembered; a session goes as a whole.

        Of windows in which something is missed, they are known until the one after theirs is closed.
        """
        if self.over.shape != "session":
            return list(takewhile(lambda item: self._matters(item.at) + REMEMBERED <= now, ledger.items))
        times = [item.at for item in ledger.items]
        parts = sessions(self.over, times, self.zone)
        gone = [part for part in parts if not self.is_remembered(times[part[1] - 1], now)]
        return [item for first, after in gone for item in ledger.items[first:after]]

    def _matters(self, at: datetime) -> datetime:
        """Until when something that occurred then decides what is said."""
        if self.judge.at_close and self.over.is_aligned:
            return following(self.over, aligned(self.over, at, self.zone), self.zone).end + self.lateness
        return self.closes(at)

    def start_of(self, at: datetime) -> datetime:
        return aligned(self.over, at, self.zone).start

    def next_close(self, ledger: Ledger, now: datetime) -> datetime | None:
        """When the next window that can be judged closes: one that holds something, or the one after it."""
        if not self.over.is_aligned:
            ends = [self._closed_at(window.end) for window in self._cut_sessions(ledger)]
        else:
            spans = [Span(window.start, window.end) for window in self._by_start(ledger).values()]
            ends = [span.end + self.lateness for span in self._watched(spans)]
        return min((end for end in ends if end > now), default=None)

    # --- aligned -----------------------------------------------------------------------------------------------------

    def _aligned(self, ledger: Ledger, now: datetime) -> Iterator[Found]:
        windows = self._by_start(ledger)
        spans = [Span(window.start, window.end) for window in windows.values()]
        spans = self._watched(spans) if self.judge.at_close else spans
        before: dict[datetime, Span] = {}
        for span in spans:
            if not self._is_judged(span, ledger, now):
                continue
            earlier = self._earlier(ledger, windows, span, before)
            window = windows.get(span.start) or _nothing(span)
            if self.judge.holds(window.count, window.total, earlier):
                yield window, self.judge.find(window, earlier)

    def _is_judged(self, span: Span, ledger: Ledger, now: datetime) -> bool:
        """The first window of a key is incomplete: nothing is missing there."""
        close = span.end + self.lateness
        is_over = ledger.since < close <= ledger.closed and span.start != ledger.first
        return close + REMEMBERED > now and (is_over or not self.judge.at_close)

    def _watched(self, spans: Sequence[Span]) -> list[Span]:
        """Of the windows that hold something: they, and each that follows one; after an empty one nothing more."""
        return sorted({*spans, *(following(self.over, span, self.zone) for span in spans)})

    def _by_start(self, ledger: Ledger) -> dict[datetime, Window]:
        held: dict[Span, list[Item]] = {}
        end: datetime | None = None
        for item in ledger.items:
            if end is None or item.at >= end:
                span = aligned(self.over, item.at, self.zone)
                end, here = span.end, held.setdefault(span, [])
            here.append(item)
        folded = {folded.start: folded for folded in ledger.folded}
        for start in folded:
            held.setdefault(aligned(self.over, start, self.zone), [])
        windows = {}
        for span in sorted(held):
            window = self._window(span.start, span.end, span.start, held[span])
            if (more := folded.get(span.start)) is not None:
                count, total = window.count + more.count, window.total + Decimal(more.total)
                window = Window(span.start, span.end, span.start, count, total, window.items)
            windows[span.start] = window
        return windows

    def _earlier(
        self, ledger: Ledger, windows: dict[datetime, Window], span: Span, before: dict[datetime, Span]
    ) -> list[Window]:
        """The windows that one is compared with, empty ones too, oldest first; the first of all is incomplete and is
        left out. ``before``: what is known of which window precedes which, added to."""
        found: list[Window] = []
        while self.judge.learns and ledger.first is not None and len(found) < KEPT:
            if span.start not in before:
                before[span.start] = preceding(self.over, span, self.zone)
            span = before[span.start]
            if span.start <= ledger.first:
                break
            found.append(windows.get(span.start) or _nothing(span))
        return found[::-1]

    # --- sessions and sliding windows --------------------------------------------------------------------------------

    def _cut_sessions(self, ledger: Ledger) -> Iterator[Window]:
        times = [item.at for item in ledger.items]
        for first, after in sessions(self.over, times, self.zone):
            if ledger.cut is None or later(self.over.length, ledger.cut, self.zone) <= times[first]:
                yield self._window(times[first], times[after - 1], times[first], ledger.items[first:after])

    def _sessions(self, ledger: Ledger) -> Iterator[Window]:
        for window in self._cut_sessions(ledger):
            is_over = not self.judge.at_close or ledger.since < self._closed_at(window.end) <= ledger.closed
            if is_over and self.judge.holds(window.count, window.total, ()):
                yield window

    def _episodes(self, ledger: Ledger) -> Iterator[Window]:
        """Windows that hold; one that begins before the last one ends goes on with it."""
        times = [item.at for item in ledger.items]
        sums = list(accumulate((number(item.value) for item in ledger.items), initial=Decimal(0)))
        cut = ledger.cut and later(self.over.length, ledger.cut, self.zone)
        episode: tuple[datetime, int, int] | None = None
        for last, first in enumerate(sliding(self.over, times, self.zone)):
            is_whole = cut is None or times[last] >= cut
            count = self._count(ledger.items[first : last + 1]) if self.distinct else last + 1 - first
            if not is_whole or not self.judge.holds(count, sums[last + 1] - sums[first], ()):
                continue
            start = times[last]
            if episode is not None and start < later(self.over.length, times[episode[2]], self.zone):
                start = episode[0]
            elif episode is not None:
                yield self._episode(ledger, *episode)
            episode = start, first, last
        if episode is not None:
            yield self._episode(ledger, *episode)

    def _episode(self, ledger: Ledger, start: datetime, first: int, last: int) -> Window:
        items = ledger.items[first : last + 1]
        return self._window(start, items[-1].at, items[0].at, items)

    def _count(self, items: Sequence[Item]) -> int:
        return len({item.tag for item in items}) if self.distinct else len(items)

    def _window(self, start: datetime, end: datetime, begins: datetime, items: Sequence[Item]) -> Window:
        total = sum((number(item.value) for item in items), Decimal(0))
        return Window(start, end, begins, self._count(items), total, tuple(items))

    def repeats(self, ledger: Ledger, most: int) -> list[Item]:
        """The oldest of the things whose tag comes again later in their window: without them, it counts the same."""
        seen: set[tuple[datetime, str]] = set()
        found = []
        for item in reversed(ledger.items):
            about = self.start_of(item.at), item.tag
            if about in seen:
                found.append(item)
            seen.add(about)
        return found[::-1][:most]

    def newest(self, ledger: Ledger, at: datetime) -> Finding | None:
        """What is found in the window of an event, for the account of why nothing was said."""
        if self.over.is_aligned:
            windows, span = self._by_start(ledger), aligned(self.over, at, self.zone)
            window = windows.get(span.start) or _nothing(span)
            return self.judge.find(window, self._earlier(ledger, windows, span, {}))
        if self.over.shape == "session":
            return next((self.judge.find(w, ()) for w in self._cut_sessions(ledger) if w.start <= at <= w.end), None)
        items = [item for item in ledger.items if item.at <= at < later(self.over.length, item.at, self.zone)]
        return self.judge.find(self._window(at, at, at, items), ())


def _nothing(span: Span) -> Window:
    return Window(span.start, span.end, span.start, 0, Decimal(0), ())
