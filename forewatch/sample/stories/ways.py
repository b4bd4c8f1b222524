"""Appointments in two towns with too little time for the way, and those for which the time is enough."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta

from forewatch.sample.dice import Dice
from forewatch.sample.ical import Entry
from forewatch.sample.marking import notice, silence
from forewatch.sample.scene import Edit, Scene
from forewatch.sample.slots import free_slot, instants, slot_at
from forewatch.sample.speech import phrases
from forewatch.sample.stage import Stage, days
from forewatch.sample.stories.agenda import new_uid, summary
from forewatch.sample.stories.bookings import TOWNS
from forewatch.sample.telling import Story, told

RULES = ("travel-unreachable",)
_HOUR = timedelta(hours=1)
_TRIES = 2000


@dataclass(frozen=True, slots=True)
class Pair:
    """Two appointments of one day ``on``; the second is written into the calendar on ``day``, after the first."""

    day: date
    on: date
    first: Entry
    second: Entry

    @property
    def edits(self) -> tuple[Edit, ...]:
        return tuple(Edit(entry.stamp, entry.uid, (entry.text(),)) for entry in (self.first, self.second))


def stories(stage: Stage) -> Iterator[Scene]:
    dice = stage.dice["ways"]
    true: Sequence[Story] = [_stays] * (1 + dice.below(2)) + [_moved, _online]
    quiet: Sequence[Story] = [_same_town, _enough, _call, _rooms]
    yield from told(stage, dice, true, quiet, 18, 338)


def _pair(stage: Stage, dice: Dice, stretch: tuple[int, int], minutes: int) -> Pair:
    """With so many minutes between them, in different towns."""
    day = stage.place(dice["day"], stretch, {"calendar": (0, 1, 2, 3)})
    begin = _room(stage, dice["room"], day, 2 * _HOUR + timedelta(minutes=minutes))
    towns = dice["towns"].shuffled(TOWNS)
    first = _entry(stage, dice["first"], stage.moment(day, dice["at"], (8, 20)), begin, towns[0])
    at = stage.moment(day + days(1), dice["at again"], (8, 20))
    second = _entry(stage, dice["second"], at, begin + _HOUR + timedelta(minutes=minutes), towns[1])
    stage.diary.take(first.uid, [(begin, begin + 2 * _HOUR + timedelta(minutes=minutes))])
    return Pair(day + days(1), stage.day_of(begin), first, second)


def _room(stage: Stage, dice: Dice, day: date, length: timedelta) -> datetime:
    """A free time five to sixteen days later."""
    for _ in range(_TRIES):
        begin = stage.at(day + days(dice.between(5, 16)), dice.between(7, 15), dice.pick((0, 15, 30)))
        if stage.diary.is_free(begin, begin + length):
            return begin
    raise AssertionError(f"the diary is full after {day}")


def _entry(stage: Stage, dice: Dice, at: datetime, begin: datetime, town: str) -> Entry:
    slot = slot_at(stage, begin, _HOUR, stage.zone.key)
    return Entry(
        uid=new_uid(stage, dice),
        summary=summary(stage, dice["title"], "single"),
        start=slot.start,
        end=slot.end,
        zone=slot.zone,
        stamp=at,
        location=f"{_street(stage, dice['street'])}, {town}",
    )


def _street(stage: Stage, dice: Dice) -> str:
    template: str = dice.pick(phrases(stage.family.owner.speaker.lang)["calendar"]["streets"])
    return template.format(n=dice.between(2, 90))


def _true(stage: Stage, name: str, pair: Pair, more: tuple[Edit, ...], why: str, over: date | None = None) -> Scene:
    items = (pair.first.uid, pair.second.uid)
    lang = stage.family.owner.speaker.lang
    label = notice(name, RULES, items, (pair.day, over or pair.on), lang, why, over)
    return Scene(edits=(*pair.edits, *more), labels=(label,))


def _near(dice: Dice) -> int:
    return dice["gap"].pick((15, 30, 45, 60))


def _stays(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    pair = _pair(stage, dice, stretch, _near(dice))
    return _true(stage, name, pair, (), "two towns, and no time for the way")


def _moved(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    """Two days later the second one goes to a day on which there is room."""
    pair = _pair(stage, dice, stretch, _near(dice))
    over = pair.day + days(2)
    slot = free_slot(stage, dice["slot"], pair.on + days(1), pair.on + days(6), stage.zone.key)
    stage.diary.take(pair.second.uid, [instants(stage, slot)])
    moved = replace(pair.second, start=slot.start, end=slot.end, sequence=1, location="")
    return _changed(stage, dice, name, pair, moved, "no time for the way, until one is moved", over)


def _online(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    pair = _pair(stage, dice, stretch, _near(dice))
    moved = replace(pair.second, sequence=1, location="https://meet.example/room")
    over = pair.day + days(2)
    return _changed(stage, dice, name, pair, moved, "no time for the way, until one is held online", over)


def _changed(stage: Stage, dice: Dice, name: str, pair: Pair, entry: Entry, why: str, over: date) -> Scene:
    at = stage.moment(over, dice["later"], (9, 20))
    edit = Edit(at, entry.uid, (replace(entry, stamp=at).text(),))
    return _true(stage, name, pair, (edit,), why, over)


def _quiet(stage: Stage, name: str, pair: Pair, why: str) -> Scene:
    items = (pair.first.uid, pair.second.uid)
    lang = stage.family.owner.speaker.lang
    label = silence(name, (*RULES, "meeting-clash"), items, (pair.day - days(1), pair.on), lang, why)
    return Scene(edits=pair.edits, labels=(label,))


def _same_town(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    pair = _pair(stage, dice, stretch, _near(dice))
    town = pair.first.location.rpartition(", ")[2]
    second = replace(pair.second, location=f"{_street(stage, dice['other street'])}, {town}")
    return _quiet(stage, name, replace(pair, second=second), "two streets of one town")


def _enough(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    pair = _pair(stage, dice, stretch, dice["gap"].pick((120, 150, 180)))
    return _quiet(stage, name, pair, "two towns, and hours for the way")


def _call(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    pair = _pair(stage, dice, stretch, _near(dice))
    second = replace(pair.second, location="https://meet.example/room")
    return _quiet(stage, name, replace(pair, second=second), "one of the two is a call")


def _rooms(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    pair = _pair(stage, dice, stretch, _near(dice))
    places = phrases(stage.family.owner.speaker.lang)["calendar"]["places"]
    second = replace(pair.second, location=dice["place"].pick((places[0], places[3], places[4])))
    return _quiet(stage, name, replace(pair, second=second), "a room is no town")
