"""The ordinary calendar: series with exceptions, single entries that move or fall through, whole days."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime

from forewatch.sample.dice import Dice
from forewatch.sample.ical import Entry, utc
from forewatch.sample.scene import Edit, Scene
from forewatch.sample.slots import Slot, free_slot, home_hour, instants, moved_days, random_slot
from forewatch.sample.speech import phrases
from forewatch.sample.stage import Stage, days

_WEEKS = 47
_SUNDAY = 6
"""Nothing takes place on every Sunday."""
_DAY_NAMES = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")


def stories(stage: Stage) -> Iterator[Scene]:
    dice = stage.dice["agenda"]
    own = stage.zone.key
    zones = (own, own, "Europe/Berlin", None, "W. Europe Standard Time", "America/New_York", "UTC")
    for index, zone in enumerate(zones):
        yield _weekly(stage, dice["weekly", index], index, zone)
    for index in range(3):
        yield _monthly(stage, dice["monthly", index], index)
    yield _whole_days(stage, dice["days"])
    for index, day in enumerate(_creation_days(stage, dice["when"])):
        yield _single(stage, dice["single", index], day)


def summary(stage: Stage, dice: Dice, sort: str, index: int | None = None) -> str:
    """A title in the owner's language, or a friend's."""
    lang = stage.family.owner.speaker.lang
    names = phrases(lang)["calendar"][sort]
    template: str = names[index % len(names)] if index is not None else dice.pick(names)
    child, child2 = stage.family.children
    return template.format(child=child, child2=child2, friend=dice["friend"].pick(stage.family.friends).first)


def place_name(stage: Stage, dice: Dice) -> str:
    lang = stage.family.owner.speaker.lang
    name: str = dice.pick(phrases(lang)["calendar"]["places"])
    return name


def new_uid(stage: Stage, dice: Dice) -> str:
    return f"{dice['uid'].hexes(16)}@{stage.family.owner.address.domain}"


def _opening(stage: Stage) -> datetime:
    """When the calendar first lies on disk."""
    return stage.at(stage.start, 6, 10)


def _weekly(stage: Stage, dice: Dice, index: int, zone: str | None) -> Scene:
    uid = new_uid(stage, dice)
    first = _free_series(stage, dice["slot"], zone)
    odd = dice["weeks"].shuffled(range(3, _WEEKS - 1))[:4]
    for week in range(_WEEKS):
        stage.diary.take(uid, [instants(stage, moved_days(first, 7 * week))], None if week in odd else stage.start)
    entry = Entry(
        uid=uid,
        summary=summary(stage, dice["title"], "weekly", index),
        start=first.start,
        end=first.end,
        zone=zone,
        stamp=_opening(stage),
        location=place_name(stage, dice["place"]),
        rule=f"FREQ=WEEKLY;COUNT={_WEEKS};BYDAY={_DAY_NAMES[first.start.weekday()]}",
    )
    return Scene(
        edits=(
            Edit(_opening(stage), uid, (entry.text(),)),
            *_exceptions(stage, dice["exceptions"], entry, first, sorted(odd)),
        )
    )


def _free_series(stage: Stage, dice: Dice, zone: str | None) -> Slot:
    """A weekly time that is free the whole year and by day at home, also where only one of two zones has DST."""
    while True:
        first = random_slot(stage, dice, stage.start + days(dice.between(2, 8)), zone)
        slots = [moved_days(first, 7 * week) for week in range(_WEEKS)]
        is_odd = first.start.hour < 4  # some wall times of the night do not exist on one day of the year
        is_odd = is_odd or stage.day_of(instants(stage, first)[0]).weekday() == _SUNDAY
        by_day = all(7 <= home_hour(stage, slot) <= 20 for slot in slots)
        if not is_odd and by_day and all(stage.diary.is_free(*instants(stage, slot)) for slot in slots):
            return first


def _exceptions(stage: Stage, dice: Dice, entry: Entry, first: Slot, weeks: list[int]) -> Iterator[Edit]:
    """Two weeks left out (EXDATE) and two moved (RECURRENCE-ID), each told some days ahead."""
    skipped: list[datetime] = []
    overrides: list[Entry] = []
    for number, week in enumerate(weeks):
        occurrence = moved_days(first, 7 * week)
        told_on = occurrence.start.date() - days(dice["ahead", number].between(4, 12))
        while told_on <= stage.start or stage.outages.covers("calendar", told_on):
            told_on += days(1)
        if told_on >= occurrence.start.date() - days(1):
            continue
        at = stage.moment(told_on, dice["time", number])
        if number % 2 == 0:
            skipped.append(occurrence.start)
        else:
            overrides.append(_override(stage, dice["move", number], entry, occurrence, at))
        entry = replace(entry, stamp=at, sequence=entry.sequence + 1, without=tuple(skipped))
        yield Edit(at, entry.uid, (entry.text(), *(override.text() for override in overrides)))


def _override(stage: Stage, dice: Dice, entry: Entry, occurrence: Slot, at: datetime) -> Entry:
    day = occurrence.start.date()
    slot = free_slot(stage, dice["slot"], day + days(1), day + days(2), entry.zone, hours=_hours(stage, occurrence))
    stage.diary.take(entry.uid, [instants(stage, slot)])
    return replace(
        entry,
        start=slot.start,
        end=slot.end,
        instead_of=occurrence.start,
        rule="",
        without=(),
        stamp=at,
        sequence=entry.sequence + 1,
    )


def _hours(stage: Stage, occurrence: Slot) -> tuple[int, int]:
    """About the same time of day."""
    hour = home_hour(stage, occurrence)
    return max(7, hour - 3), min(20, hour + 3)


def _monthly(stage: Stage, dice: Dice, index: int) -> Scene:
    """The second Tuesday, or the like: FREQ=MONTHLY with a BYDAY."""
    uid = new_uid(stage, dice)
    while True:
        nth, weekday = dice.between(1, 3), dice.below(5)
        months = [
            (stage.start.year + (stage.start.month + m) // 12, (stage.start.month + m) % 12 + 1) for m in range(11)
        ]
        wall = random_slot(stage, dice, stage.start, stage.zone.key)
        slots = [_on(wall, nth_weekday(*month, nth, weekday)) for month in months]
        if all(stage.diary.is_free(*instants(stage, slot)) for slot in slots):
            break
    stage.diary.take(uid, (instants(stage, slot) for slot in slots), stage.start)
    entry = Entry(
        uid=uid,
        summary=summary(stage, dice["title"], "monthly", index),
        start=slots[0].start,
        end=slots[0].end,
        zone=stage.zone.key,
        stamp=_opening(stage),
        rule=f"FREQ=MONTHLY;BYDAY={nth}{_DAY_NAMES[weekday]};UNTIL={utc(instants(stage, slots[-1])[0])}",
    )
    return Scene(edits=(Edit(_opening(stage), uid, (entry.text(),)),))


def nth_weekday(year: int, month: int, nth: int, weekday: int) -> date:
    first = date(year, month, 1)
    return first + days((weekday - first.weekday()) % 7 + 7 * (nth - 1))


def _on(slot: Slot, day: date) -> Slot:
    return moved_days(slot, (day - slot.start.date()).days)


def _whole_days(stage: Stage, dice: Dice) -> Scene:
    """Birthdays, holidays and the bins: all-day entries, none of which blocks a meeting."""
    entries = [_whole_day(stage, dice["birthday", index], "FREQ=YEARLY", 0, 1) for index in range(7)]
    entries += [
        _whole_day(stage, dice["holiday", index], "", 3, dice["length", index].between(2, 9)) for index in range(3)
    ]
    entries.append(_whole_day(stage, dice["bins"], "FREQ=WEEKLY;INTERVAL=2;COUNT=25", 2, 1))
    return Scene(edits=tuple(Edit(_opening(stage), entry.uid, (entry.text(),)) for entry in entries))


def _whole_day(stage: Stage, dice: Dice, rule: str, title: int, length: int) -> Entry:
    start = stage.start + days(dice.between(1, 14) if "WEEKLY" in rule else dice.between(10, 350))
    return Entry(
        uid=new_uid(stage, dice),
        summary=summary(stage, dice["title"], "all_day", title),
        start=start,
        end=start + days(length),
        zone=None,
        stamp=_opening(stage),
        rule=rule,
        transparent=dice["transparent"].chance(50),
    )


def _creation_days(stage: Stage, dice: Dice) -> Iterator[date]:
    """Somebody writes into the calendar every two or three days, but for the outage."""
    day = stage.start + days(1)
    while day < stage.end - days(1):
        if not stage.outages.covers("calendar", day):
            yield day
        day += days(dice.pick((1, 2, 2, 3, 4)))


def _single(stage: Stage, dice: Dice, created: date) -> Scene:
    zone = dice["zone"].pick((stage.zone.key,) * 6 + (None, "UTC", "Europe/Berlin", "W. Europe Standard Time"))
    slot = free_slot(stage, dice["slot"], created + days(4), created + days(25), zone)
    uid, at = new_uid(stage, dice), stage.moment(created, dice["time"], (8, 21))
    entry = Entry(
        uid=uid,
        summary=summary(stage, dice["title"], "single"),
        start=slot.start,
        end=slot.end,
        zone=zone,
        stamp=at,
        location=place_name(stage, dice["place"]) if dice["placed"].chance(60) else "",
    )
    later = tuple(_later(stage, dice["later"], entry, created))
    stage.diary.take(uid, [instants(stage, slot)], None if later else created)
    return Scene(edits=(Edit(at, uid, (entry.text(),)), *later))


def _later(stage: Stage, dice: Dice, entry: Entry, created: date) -> Iterator[Edit]:
    """One in five is moved, one in ten falls through, two to three days after it was made."""
    fate = dice.below(100)
    day = created + days(dice.between(1, 3))
    if fate >= 30 or day >= stage.end or stage.outages.covers("calendar", day):
        return
    at = stage.moment(day, dice["time"], (8, 21))
    if fate < 10:
        cancelled = replace(entry, status="CANCELLED", sequence=entry.sequence + 1, stamp=at)
        yield Edit(at, entry.uid, (cancelled.text(),) if fate < 6 else ())
        return
    slot = free_slot(stage, dice["slot"], day + days(3), day + days(20), entry.zone)
    stage.diary.take(entry.uid, [instants(stage, slot)])
    yield Edit(
        at, entry.uid, (replace(entry, start=slot.start, end=slot.end, sequence=entry.sequence + 1, stamp=at).text(),)
    )
