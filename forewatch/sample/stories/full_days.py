"""Days with seven appointments, and days that are full without being too full."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, timedelta

from forewatch.sample.dice import Dice
from forewatch.sample.ical import Entry
from forewatch.sample.marking import notice, silence
from forewatch.sample.scene import Edit, Scene
from forewatch.sample.slots import free_slot, instants, slot_at
from forewatch.sample.stage import Stage, days
from forewatch.sample.stories.agenda import new_uid, summary
from forewatch.sample.telling import Story, told

RULES = ("day-overbooked",)
_FULL = 7
_TRIES = 400


def stories(stage: Stage) -> Iterator[Scene]:
    dice = stage.dice["full days"]
    true: Sequence[Story] = [_stays] * 2 + [_relieved]
    quiet: Sequence[Story] = [_six] * 2 + [_free_time]
    yield from told(stage, dice, true, quiet, 20, 335)


def _planned(stage: Stage, dice: Dice, stretch: tuple[int, int], count: int) -> tuple[date, date, list[Entry]]:
    """``count`` appointments of one day on which there was none, written on three days; the last of these, the day."""
    for attempt in range(_TRIES):
        day = stage.place(dice["day", attempt], stretch, {"calendar": (0, 1, 2, 3, 4)})
        on = day + days(dice["ahead", attempt].between(6, 20))
        begin, end = stage.at(on, 7), stage.at(on, 22)
        if on < stage.end - days(1) and stage.diary.is_free(begin, end, room=timedelta(0)):
            break
    else:
        raise AssertionError(f"no empty day after {stretch}")
    stage.diary.take(new_uid(stage, dice["day taken"]), [(begin, end)])
    entries = [_entry(stage, dice[number], day + days(number % 3), on, number) for number in range(count)]
    return day + days(2), on, entries


def _entry(stage: Stage, dice: Dice, written: date, on: date, number: int) -> Entry:
    begin = stage.at(on, 8) + timedelta(minutes=110 * number + dice["minute"].pick((0, 5, 10)))
    slot = slot_at(stage, begin, timedelta(minutes=dice["length"].pick((30, 45, 60))), stage.zone.key)
    at = stage.moment(written, dice["at"], (8, 20))
    return Entry(new_uid(stage, dice), summary(stage, dice["title"], "single"), slot.start, slot.end, slot.zone, at)


def _edits(entries: Sequence[Entry]) -> tuple[Edit, ...]:
    return tuple(Edit(entry.stamp, entry.uid, (entry.text(),)) for entry in entries)


def _stays(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    day, on, entries = _planned(stage, dice, stretch, _FULL)
    items = tuple(entry.uid for entry in entries)
    lang = stage.family.owner.speaker.lang
    label = notice(name, RULES, items, (day - days(1), on), lang, "seven appointments on one day")
    return Scene(edits=_edits(entries), labels=(label,))


def _relieved(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    """Two days later one of them goes to another day."""
    day, on, entries = _planned(stage, dice, stretch, _FULL)
    over = day + days(2)
    at = stage.moment(over, dice["later"], (9, 20))
    slot = free_slot(stage, dice["slot"], on + days(1), on + days(8), stage.zone.key)
    moved = replace(entries[3], start=slot.start, end=slot.end, sequence=1, stamp=at)
    stage.diary.take(moved.uid, [instants(stage, slot)])
    items = tuple(entry.uid for entry in entries)
    lang, why = stage.family.owner.speaker.lang, "seven appointments on one day, until one is moved"
    label = notice(name, RULES, items, (day - days(1), over), lang, why, over)
    return Scene(edits=(*_edits(entries), Edit(at, moved.uid, (moved.text(),))), labels=(label,))


def _six(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    day, on, entries = _planned(stage, dice, stretch, _FULL - 1)
    return _quiet(stage, name, day, on, entries, "six appointments on one day")


def _free_time(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    """Two of the seven block no time."""
    day, on, entries = _planned(stage, dice, stretch, _FULL)
    entries = [replace(entry, transparent=number in (1, 4)) for number, entry in enumerate(entries)]
    return _quiet(stage, name, day, on, entries, "two of the seven block no time")


def _quiet(stage: Stage, name: str, day: date, on: date, entries: Sequence[Entry], why: str) -> Scene:
    items = tuple(entry.uid for entry in entries)
    label = silence(name, RULES, items, (day - days(2), on), stage.family.owner.speaker.lang, why)
    return Scene(edits=_edits(entries), labels=(label,))
