"""Free times in the household's diary, as wall times of a zone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from forewatch.sample.dice import Dice
from forewatch.sample.stage import Stage
from schemas.clock import at_local

WINDOWS_NAMES = {"W. Europe Standard Time": "Europe/Berlin"}
_TRIES = 2000


@dataclass(frozen=True, slots=True)
class Slot:
    """``start``/``end`` are naive wall times of ``zone``; None: floating, that is the household's own."""

    start: datetime
    end: datetime
    zone: str | None


def instants(stage: Stage, slot: Slot) -> tuple[datetime, datetime]:
    """When it really is, in UTC."""
    tz = zone_of(stage, slot.zone)
    return at_local(slot.start.date(), slot.start.time(), tz), at_local(slot.end.date(), slot.end.time(), tz)


def zone_of(stage: Stage, name: str | None) -> ZoneInfo:
    return stage.zone if name is None else ZoneInfo(WINDOWS_NAMES.get(name, name))


def moved_days(slot: Slot, count: int) -> Slot:
    return Slot(slot.start + timedelta(days=count), slot.end + timedelta(days=count), slot.zone)


def free_slot(
    stage: Stage, dice: Dice, first: date, last: date, zone: str | None, hours: tuple[int, int] = (8, 18)
) -> Slot:
    """A random free time between two days, within ``hours`` at home, written in ``zone``."""
    for _ in range(_TRIES):
        day = first + timedelta(days=dice.below((last - first).days + 1))
        slot = random_slot(stage, dice, day, zone, hours)
        if stage.diary.is_free(*instants(stage, slot)):
            return slot
    raise AssertionError(f"the diary is full from {first} to {last}")


def random_slot(stage: Stage, dice: Dice, day: date, zone: str | None, hours: tuple[int, int] = (8, 18)) -> Slot:
    """Any time of that day, taken or not."""
    begin = stage.at(day, dice.between(*hours), dice.pick((0, 15, 30, 45)))
    return slot_at(stage, begin, timedelta(minutes=dice.pick((30, 45, 60, 60, 90))), zone)


def slot_at(stage: Stage, begin: datetime, length: timedelta, zone: str | None) -> Slot:
    """An instant and a length as wall times of ``zone``."""
    start = begin.astimezone(zone_of(stage, zone)).replace(tzinfo=None, fold=0)
    return Slot(start, start + length, zone)


def home_hour(stage: Stage, slot: Slot) -> int:
    return instants(stage, slot)[0].astimezone(stage.zone).hour
