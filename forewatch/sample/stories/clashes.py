"""Meetings that overlap, and meetings that only seem to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta

from forewatch.sample.diary import Taken
from forewatch.sample.dice import Dice
from forewatch.sample.ical import Entry
from forewatch.sample.labels import Label
from forewatch.sample.marking import notice, silence
from forewatch.sample.outages import Source
from forewatch.sample.scene import Edit, Scene
from forewatch.sample.slots import Slot, instants, slot_at
from forewatch.sample.stage import Stage, days
from forewatch.sample.stories.agenda import new_uid, place_name, summary
from forewatch.sample.stories.invitations import invitation, meeting
from forewatch.sample.telling import Story, told

RULES = ("meeting-clash",)
_AHEAD = (5, 14)
"""Days between the day on which a clash is made and the day of the meetings."""
_TRIES = 300


def stories(stage: Stage) -> Iterator[Scene]:
    dice = stage.dice["clashes"]
    true: Sequence[Story] = [_stays] * (2 + dice.below(2)) + [_moved, _cancelled, _invited]
    quiet: Sequence[Story] = [_touching] * 2 + [_whole_day, _declined, _transparent, _other_zone, _withdrawn]
    yield from told(stage, dice, true, quiet, 15, 340)


def _victim(
    stage: Stage, dice: Dice, stretch: tuple[int, int], before: timedelta, after: timedelta, mail: bool = False
) -> tuple[date, Taken]:
    """A day on which the calendar changes, and an entry some days later with nothing else around it."""
    for attempt in range(_TRIES):
        needs: dict[Source, Sequence[int]] = {"calendar": (0, 1, 2), "mail": (0,) if mail else ()}
        day = stage.place(dice["day", attempt], stretch, needs)
        ahead = stage.diary.lasting(
            stage.at(day + days(_AHEAD[0]), 0), stage.at(day + days(_AHEAD[1]), 0), day - days(1)
        )
        lonely = [
            taken for taken in ahead if stage.diary.is_free(taken.start - before, taken.end + after, but=taken.uid)
        ]
        if lonely:
            return day, dice["victim", attempt].pick(lonely)
    raise AssertionError(f"nothing in the calendar to clash with in {stretch}")


def _rival(stage: Stage, dice: Dice, day: date, start: datetime, length: timedelta) -> tuple[Entry, datetime]:
    at = stage.moment(day, dice["time"], (8, 20))
    slot = slot_at(stage, start, length, stage.zone.key)
    entry = Entry(
        uid=new_uid(stage, dice),
        summary=summary(stage, dice["title"], "clash"),
        start=slot.start,
        end=slot.end,
        zone=slot.zone,
        stamp=at,
        location=place_name(stage, dice["place"]),
    )
    stage.diary.take(entry.uid, [(start, start + length)])
    return entry, at


def _overlap(stage: Stage, dice: Dice, stretch: tuple[int, int]) -> tuple[date, Taken, Entry, datetime]:
    """A new entry that begins in the middle of another one."""
    day, victim = _victim(stage, dice, stretch, timedelta(0), timedelta(minutes=75))
    start = victim.start + (victim.end - victim.start) / 2
    entry, at = _rival(stage, dice["rival"], day, start, timedelta(minutes=dice["length"].pick((45, 60, 75))))
    return day, victim, entry, at


def _true(
    stage: Stage, name: str, victim: Taken, uid: str, window: tuple[date, date], why: str, over: date | None = None
) -> Label:
    lang = stage.family.owner.speaker.lang
    return notice(name, RULES, (victim.uid, uid), window, lang, why, over)


def _stays(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    day, victim, entry, at = _overlap(stage, dice, stretch)
    label = _true(stage, name, victim, entry.uid, (day, stage.day_of(victim.start)), "two meetings overlap")
    return Scene(edits=(Edit(at, entry.uid, (entry.text(),)),), labels=(label,))


def _moved(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    """Two days later the new entry goes to a day on which there is room."""
    day, victim, entry, at = _overlap(stage, dice, stretch)
    over = day + days(2)
    later = stage.moment(over, dice["later"], (9, 20))
    slot = _room(stage, dice["room"], entry)
    stage.diary.take(entry.uid, [instants(stage, slot)])
    moved = replace(entry, start=slot.start, end=slot.end, sequence=1, stamp=later)
    label = _true(stage, name, victim, entry.uid, (day, over), "two meetings overlap until one is moved", over)
    return Scene(edits=(Edit(at, entry.uid, (entry.text(),)), Edit(later, entry.uid, (moved.text(),))), labels=(label,))


def _room(stage: Stage, dice: Dice, entry: Entry) -> Slot:
    while True:
        begin = stage.at(entry.start + days(dice.between(1, 6)), dice.between(8, 18))
        slot = slot_at(stage, begin, timedelta(hours=1), stage.zone.key)
        if stage.diary.is_free(*instants(stage, slot)):
            return slot


def _cancelled(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    day, victim, entry, at = _overlap(stage, dice, stretch)
    over = day + days(2)
    later = stage.moment(over, dice["later"], (9, 20))
    gone = (replace(entry, status="CANCELLED", sequence=1, stamp=later).text(),) if dice["how"].chance(60) else ()
    label = _true(stage, name, victim, entry.uid, (day, over), "two meetings overlap until one is cancelled", over)
    return Scene(edits=(Edit(at, entry.uid, (entry.text(),)), Edit(later, entry.uid, gone)), labels=(label,))


def _invited(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    """Somebody invites to a time that is taken; nobody has answered yet."""
    day, victim = _victim(stage, dice, stretch, timedelta(0), timedelta(minutes=75), mail=True)
    start = victim.start + (victim.end - victim.start) / 2
    slot = slot_at(stage, start, timedelta(hours=1), stage.zone.key)
    at = stage.moment(day, dice["time"], (8, 17))
    met = meeting(stage, dice["meeting"], slot, at, "clash")
    stage.diary.take(met.entry.uid, [instants(stage, slot)])
    letter = invitation(stage, dice["invite"], met, at)
    window = (day, stage.day_of(victim.start))
    items = (victim.uid, met.entry.uid, letter.message_id)
    label = notice(name, RULES, items, window, letter.speaker.lang, "an invitation to a time that is taken")
    return Scene((letter,), labels=(label,))


def _silent(stage: Stage, name: str, victim: Taken, uid: str, day: date, why: str) -> Label:
    window = (day, stage.day_of(victim.start))
    return silence(name, RULES, (uid,), window, stage.family.owner.speaker.lang, why)


def _touching(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    """Begins in the minute in which the other one ends, at the same place."""
    day, victim = _victim(stage, dice, stretch, timedelta(0), timedelta(minutes=60))
    entry, at = _rival(stage, dice["rival"], day, victim.end, timedelta(minutes=60))
    entry = replace(entry, location="")
    label = _silent(stage, name, victim, entry.uid, day, "one ends when the other begins")
    return Scene(edits=(Edit(at, entry.uid, (entry.text(),)),), labels=(label,))


def _whole_day(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    day, victim = _victim(stage, dice, stretch, timedelta(0), timedelta(0))
    on = stage.day_of(victim.start)
    uid, at = new_uid(stage, dice), stage.moment(day, dice["time"], (8, 20))
    entry = Entry(uid, summary(stage, dice["title"], "all_day"), on, on + days(1), None, at)
    label = _silent(stage, name, victim, uid, day, "an all-day entry blocks no meeting")
    return Scene(edits=(Edit(at, uid, (entry.text(),)),), labels=(label,))


def _declined(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    day, victim, entry, at = _overlap(stage, dice, stretch)
    friend = dice["organizer"].pick(stage.family.friends)
    owner = stage.family.owner.address.mail
    entry = replace(entry, organizer=friend.address.mail, attendees=((owner, "DECLINED"),))
    label = _silent(stage, name, victim, entry.uid, day, "the owner has declined it")
    return Scene(edits=(Edit(at, entry.uid, (entry.text(),)),), labels=(label,))


def _transparent(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    day, victim, entry, at = _overlap(stage, dice, stretch)
    entry = replace(entry, transparent=True)
    label = _silent(stage, name, victim, entry.uid, day, "marked as free time")
    return Scene(edits=(Edit(at, entry.uid, (entry.text(),)),), labels=(label,))


def _other_zone(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    """The same wall time in another zone: hours apart in truth."""
    zone = "America/New_York" if stage.zone.key != "America/New_York" else "Europe/Berlin"
    for attempt in range(_TRIES):
        day, victim = _victim(stage, dice["try", attempt], stretch, timedelta(0), timedelta(0))
        start = victim.start.astimezone(stage.zone).replace(tzinfo=None)
        slot = Slot(start, start + (victim.end - victim.start), zone)
        if stage.diary.is_free(*instants(stage, slot)):
            break
    uid, at = new_uid(stage, dice), stage.moment(day, dice["time"], (8, 20))
    stage.diary.take(uid, [instants(stage, slot)])
    entry = Entry(uid, summary(stage, dice["title"], "single"), slot.start, slot.end, zone, at)
    label = _silent(stage, name, victim, uid, day, "the same time by the clock, in another zone")
    return Scene(edits=(Edit(at, uid, (entry.text(),)),), labels=(label,))


def _withdrawn(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    day, victim, old, at = _overlap(stage, dice, stretch)
    gone = replace(old, status="CANCELLED")
    label = _silent(stage, name, victim, old.uid, day, "the entry was cancelled before anybody saw it")
    return Scene(edits=(Edit(at, old.uid, (gone.text(),)),), labels=(label,))
