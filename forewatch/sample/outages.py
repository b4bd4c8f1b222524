"""When the sources of the household fall silent: four outages, mail that gets lost, and one holiday that is none."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal

from forewatch.sample.dice import Dice

Source = Literal["mail", "calendar", "bank-a", "bank-b"]

_SEGMENTS = ((96, 118), (150, 172), (206, 228), (262, 284))
"""Days of the year in which an outage may begin: far from one another, and after enough history."""
_LOST = (318, 336)
"""After all of them."""
_LENGTHS: dict[Source, tuple[int, int]] = {
    "mail": (11, 13),
    "calendar": (16, 18),
    "bank-a": (12, 13),
    "bank-b": (28, 28),
}


@dataclass(frozen=True, slots=True)
class Outage:
    """Nothing new from ``source`` on the days [first, until)."""

    source: Source
    first: date
    until: date

    def covers(self, day: date) -> bool:
        return self.first <= day < self.until


@dataclass(frozen=True, slots=True)
class Outages:
    """``holiday``: nobody writes for five days, which is not long enough to worry. ``lost``: a filter keeps what comes,
    while the owner goes on writing, so that the account is not silent."""

    silent: tuple[Outage, ...]
    holiday: Outage
    lost: Outage

    def of(self, source: Source) -> Outage:
        return next(outage for outage in self.silent if outage.source == source)

    def covers(self, source: Source, day: date) -> bool:
        if source == "mail" and (self.holiday.covers(day) or self.lost.covers(day)):
            return True
        return self.of(source).covers(day)


def outages(dice: Dice, start: date) -> Outages:
    """Each source is silent once, in an order that differs from year to year."""
    sources = dice.shuffled(list(_LENGTHS))
    silent = tuple(
        _outage(dice[source], source, start + timedelta(days=low), high - low)
        for source, (low, high) in zip(sources, _SEGMENTS, strict=True)
    )
    quiet = start + timedelta(days=dice.between(54, 78))
    lost = start + timedelta(days=dice.between(*_LOST))
    holiday = Outage("mail", quiet, quiet + timedelta(days=5))
    return Outages(silent, holiday, Outage("mail", lost, lost + timedelta(days=dice.between(11, 12))))


def _outage(dice: Dice, source: Source, earliest: date, room: int) -> Outage:
    first = earliest + timedelta(days=dice.below(room))
    if source == "bank-b":  # its statements come on Mondays
        first += timedelta(days=-first.weekday() % 7)
    if source == "bank-a":  # salaries come around the turn of the month: not then
        while not 7 <= first.day <= 10:
            first += timedelta(days=1)
    return Outage(source, first, first + timedelta(days=dice.between(*_LENGTHS[source])))
