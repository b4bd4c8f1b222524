"""Diary: which times are taken, so that meetings overlap only where a story says so."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

_ROOM = timedelta(minutes=45)
"""Between ordinary entries, to get from one to the next."""


@dataclass(frozen=True, slots=True)
class Taken:
    """``since``: the day from which the calendar shows it for good; None where it moves or falls through."""

    start: datetime
    end: datetime
    uid: str
    since: date | None


class Diary:
    """Works in UTC: aware datetimes of one zone compare by the wall clock, which DST makes wrong."""

    def __init__(self) -> None:
        self._taken: list[Taken] = []

    def is_free(self, start: datetime, end: datetime, but: str = "", room: timedelta = _ROOM) -> bool:
        """Nobody else (``but`` one entry) has these instants, nor ``room`` around them."""
        start, end = start.astimezone(UTC), end.astimezone(UTC)
        return not any(
            taken.start < end + room and start - room < taken.end for taken in self._taken if taken.uid != but
        )

    def take(self, uid: str, times: Iterable[tuple[datetime, datetime]], since: date | None = None) -> None:
        """A time once taken stays taken: what moves away was there before, and would have clashed."""
        self._taken += [Taken(start.astimezone(UTC), end.astimezone(UTC), uid, since) for start, end in times]

    def lasting(self, first: datetime, last: datetime, on: date) -> list[Taken]:
        """What begins in [first, last) and stands in the calendar from ``on`` or before, in order."""
        first, last = first.astimezone(UTC), last.astimezone(UTC)
        found = (taken for taken in self._taken if taken.since and taken.since <= on and first <= taken.start < last)
        return sorted(found, key=lambda taken: (taken.start, taken.uid))
