"""Progress: where the reading of a stream begins, how it moves from page to page, and which bound it leaves behind."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from itertools import pairwise

from extractors.connector import Context
from extractors.rest import rows
from extractors.rest.changes import Changes
from extractors.rest.definition import Definition, FullDiff, Stream
from extractors.rest.source import Listed
from extractors.rest.stamp import of_moment
from extractors.rest.state import StreamState, Walk, after, short
from schemas.clock import start_of_day
from schemas.duration import Duration

STUCK_CAP = 5_000
"""Rows of one stamp that are watched for leaving it."""


class Progress:
    """Of one stream in one poll; it moves the walk and the bound of its state."""

    def __init__(self, definition: Definition, stream: Stream, state: StreamState, context: Context) -> None:
        self._stream = stream
        self._state = state
        self._now = context.now
        self._owner = context.zone
        incremental = stream.incremental
        self._stamps = None if incremental is None else rows.stamps(definition, incremental, context.zone)

    def begin(self) -> Walk:
        """A stream without a bound is read whole; so is one whose turn for a whole listing has come."""
        incremental, state = self._stream.incremental, self._state
        full = incremental is None or state.bound is None or self._is_diff_due()
        low = None
        if incremental is not None and full:
            low = self._start(incremental.start)
        elif incremental is not None and state.bound is not None:
            low = state.bound - self._lookback(incremental.lookback)
        if full:
            state.generation = after(state.generation)
        by_field = incremental is not None and incremental.order is not None
        started = self._now.isoformat()
        return Walk(full, state.generation, started, first_low=low, low=low, by_field=by_field)

    def _lookback(self, lookback: Duration) -> int:
        """A number has no time: every unit of the look-back is one step."""
        seconds = int(lookback.timedelta().total_seconds())
        return seconds if self._stamps is not None and not self._stamps.is_time else seconds * 1_000_000

    def _start(self, start: str | None) -> int | None:
        if start is None:
            return None
        try:
            return of_moment(start_of_day(date.fromisoformat(start), self._owner))
        except ValueError:
            return of_moment(self._now - Duration.parse(start).timedelta())

    def _is_diff_due(self) -> bool:
        deletions = self._stream.deletions
        if not isinstance(deletions, FullDiff):
            return False
        return not self._state.full_at or self.age(self._state.full_at) >= deletions.every.timedelta()

    def age(self, moment: str) -> timedelta:
        return self._now - datetime.fromisoformat(moment)

    def abandon(self) -> None:
        """The unfinished reading is forgotten; the bound stays behind whatever it did not read."""
        walk, state = self._state.walk, self._state
        if walk is not None and walk.stuck is not None and state.bound is not None:
            state.bound = min(state.bound, walk.stuck)
        state.walk = None

    def written(self, low: int | None) -> str | int | None:
        """As the source is asked with it."""
        stamps = self._stamps
        return None if low is None or stamps is None else stamps.write(low)

    def advance(self, walk: Walk, listed: Listed, changes: Changes) -> bool:
        """Moves on to the next page; False after the last one."""
        walk.pages += 1
        walk.rows += len(listed.items)
        walk.blind = walk.blind or changes.blind
        if listed.note:
            walk.is_partial = True
            changes.warnings.append(f"{self._stream.name}: {listed.note}")
        stamps = [stamp for _, stamp in changes.stamps]
        if stamps:
            walk.top = max(stamps) if walk.top is None else max(walk.top, *stamps)
        self._watch_movement(walk, changes)
        if walk.by_field and not self._is_in_order(walk, stamps):
            walk.by_field = False
            changes.warnings.append(f"{self._stream.name}: the list is not sorted and bounded as the definition says")
        moves = bool(walk.by_field and stamps and self.written(stamps[-1]) != self.written(walk.low))
        if walk.by_field and stamps and not walk.is_partial:
            self.reach(stamps[-1])
        if listed.next is None:
            return False
        if moves:
            walk.low, walk.position = stamps[-1], None
        else:
            self._note_stuck(walk, changes)
            walk.position = listed.next
        return True

    def _is_in_order(self, walk: Walk, stamps: Sequence[int]) -> bool:
        """Every stamp at or after the one before it, and none before the bound that was asked with."""
        floor = None if walk.low is None or self._stamps is None else self._stamps.read(self._stamps.write(walk.low))
        in_order = all(one <= two for one, two in pairwise(stamps))
        return in_order and not (stamps and floor is not None and stamps[0] < floor)

    def _note_stuck(self, walk: Walk, changes: Changes) -> None:
        """Rows of one stamp fill more than a page. Where the source counts them off, be it behind a token, another
        slips past when one of them leaves."""
        if not (walk.by_field and changes.stamps):
            return
        stamp = changes.stamps[-1][1]
        walk.stuck = stamp if walk.stuck is None else min(walk.stuck, stamp)
        walk.stuck_keys += [short(key)[:6] for key, _ in changes.stamps]
        del walk.stuck_keys[STUCK_CAP:]

    def _watch_movement(self, walk: Walk, changes: Changes) -> None:
        if walk.stuck is None or walk.moved:
            return
        stuck, written = frozenset(walk.stuck_keys), self.written(walk.stuck)
        walk.moved = any(
            self.written(stamp) != written and stamp > walk.stuck and short(key)[:6] in stuck
            for key, stamp in changes.stamps
        )

    def reach(self, reached: int) -> None:
        """Never past this moment: one row dated in the future must not hide all that come before it."""
        stamps = self._stamps
        if stamps is not None and stamps.is_time:
            reached = min(reached, of_moment(self._now))
        before = self._state.bound
        self._state.bound = reached if before is None else max(before, reached)
