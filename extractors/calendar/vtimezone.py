"""The time zone that a VTIMEZONE block describes, for files whose zone has no name that anybody knows."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo

from extractors.calendar.component import Component
from extractors.calendar.moment import UTC_ZONE, parse_moment, parse_offset
from extractors.calendar.recurrence import Budget, repeats
from extractors.calendar.rule import parse_rule
from schemas.errors import PoisonError

_FIRST, _LAST = datetime(1990, 1, 1), datetime(2070, 1, 1)  # noqa: DTZ001 - wall times
"""Changes are worked out between these; before and after, the nearest offset goes on."""

_STEPS = 40_000
_OBSERVANCES_CAP = 200


@dataclass(frozen=True, slots=True)
class _Change:
    """``utc``: when the offset changes, a naive UTC time."""

    utc: datetime
    before: timedelta
    after: timedelta

    def wall(self, fold: int) -> datetime:
        """Wall times from this one on have the new offset; what is skipped or happens twice, only with fold = 1."""
        return self.utc + (min if fold else max)(self.before, self.after)


class BlockZone(tzinfo):
    """A tzinfo like ZoneInfo, as far as a block goes: it knows nothing of ``dst``."""

    def __init__(self, name: str, changes: list[_Change], offset: timedelta) -> None:
        self._name = name
        self._first = changes[0].before if changes else offset
        self._changes = changes
        self._utc = [change.utc for change in changes]
        self._walls = [[change.wall(fold) for change in changes] for fold in (0, 1)]

    def __repr__(self) -> str:
        """Equal for zones that say the same."""
        return f"BlockZone({self._name!r}, {self._first!r}, {self._changes!r})"

    def utcoffset(self, moment: datetime | None) -> timedelta:
        if moment is None:
            return self._first
        return self._offset(bisect_right(self._walls[moment.fold], moment.replace(tzinfo=None)))

    def dst(self, moment: datetime | None) -> None:
        """Not known: the block's names STANDARD and DAYLIGHT are often wrong."""

    def tzname(self, moment: datetime | None) -> str:
        return self._name

    def fromutc(self, moment: datetime) -> datetime:
        offset = self._offset(bisect_right(self._utc, moment.replace(tzinfo=None)))
        wall = moment + offset
        return wall.replace(fold=int(self.utcoffset(wall) != offset))

    def _offset(self, passed: int) -> timedelta:
        return self._changes[passed - 1].after if passed else self._first


def block_zone(block: Component) -> BlockZone | None:
    """None for a block without a usable STANDARD or DAYLIGHT part."""
    budget = Budget(_STEPS)
    changes: list[_Change] = []
    offsets: list[timedelta] = []
    for part in block.children[:_OBSERVANCES_CAP]:
        try:
            before, after = parse_offset(part.value("TZOFFSETFROM")), parse_offset(part.value("TZOFFSETTO"))
            offsets.append(after)
            changes += [_Change(onset - before, before, after) for onset in _onsets(part, budget)]
        except PoisonError:
            continue
    if not offsets:
        return None
    changes.sort(key=lambda change: change.utc)
    return BlockZone(block.value("TZID"), changes, offsets[0])


def _onsets(part: Component, budget: Budget) -> Iterator[datetime]:
    """Wall times at which the part begins. A part that began long ago and never repeats begins at its DTSTART."""
    start = parse_moment(part.value("DTSTART"), UTC_ZONE, floating=True).wall
    yield start
    for line in part.all("RDATE"):
        for text in line.value.split(","):
            yield parse_moment(text.partition("/")[0], UTC_ZONE, floating=True).wall
    for line in part.all("RRULE"):
        rule = parse_rule(line.value, UTC_ZONE, floating=True)
        for onset in repeats(rule, start, _FIRST, _LAST, budget):
            if rule.until and onset > rule.until.wall + timedelta(hours=16):
                break  # UNTIL is in UTC here and onsets are walls: the margin is more than any offset
            yield onset
