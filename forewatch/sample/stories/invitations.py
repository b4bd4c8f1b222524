"""Meetings that arrive as invitations in the mail (iTIP), and are moved or cancelled the same way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from forewatch.sample import ical
from forewatch.sample.cast import Person
from forewatch.sample.dice import Dice
from forewatch.sample.ical import Entry
from forewatch.sample.letter import Letter, Shape
from forewatch.sample.post import from_person
from forewatch.sample.scene import Edit, Scene
from forewatch.sample.slots import Slot, free_slot, instants
from forewatch.sample.speech import Value
from forewatch.sample.stage import Stage, days
from forewatch.sample.stories.agenda import new_uid, place_name, summary


@dataclass(frozen=True, slots=True)
class Meeting:
    entry: Entry
    slot: Slot
    organizer: Person


def stories(stage: Stage) -> Iterator[Scene]:
    dice = stage.dice["invitations"]
    for index, stretch in enumerate(stage.stretches(22, 4, 340)):
        yield _invited(stage, dice[index], stretch)


def meeting(stage: Stage, dice: Dice, slot: Slot, stamp: datetime, sort: str = "single") -> Meeting:
    organizer = dice["organizer"].pick(stage.family.friends)
    entry = Entry(
        uid=new_uid(stage, dice),
        summary=summary(stage, dice["title"], sort),
        start=slot.start,
        end=slot.end,
        zone=slot.zone,
        stamp=stamp,
        location=place_name(stage, dice["place"]),
        organizer=organizer.address.mail,
        attendees=((stage.family.owner.address.mail, "NEEDS-ACTION"),),
    )
    return Meeting(entry, slot, organizer)


def invitation(stage: Stage, dice: Dice, met: Meeting, at: datetime, method: str = "REQUEST") -> Letter:
    """The mail that carries the entry."""
    start = instants(stage, met.slot)[0].astimezone(stage.zone)
    words: dict[str, Value] = {
        "summary": met.entry.summary,
        "organizer": met.organizer.address.name,
        "date": start.date(),
        "time": start.time(),
        "place": met.entry.location,
    }
    letter = from_person(stage, dice, met.organizer, "invitation", at, words)
    text = ical.file([met.entry.text()], method).decode()
    mark = {"CANCEL": "\N{MULTIPLICATION X} "}.get(method, "")
    shape: Shape = "both" if letter.shape == "both" else "plain"
    mailer = letter.mailer.removesuffix(" flowed")
    return replace(
        letter, subject=f"{mark}{letter.subject}", invitation=text, method=method, shape=shape, mailer=mailer
    )


def accepted(stage: Stage, met: Meeting, at: datetime) -> Edit:
    """The calendar has taken it over."""
    entry = replace(met.entry, attendees=((stage.family.owner.address.mail, "ACCEPTED"),))
    return Edit(at, entry.uid, (entry.text(),))


def _invited(stage: Stage, dice: Dice, stretch: tuple[int, int]) -> Scene:
    day = stage.place(dice["day"], stretch, {"mail": (0, 3), "calendar": (0, 1, 3)})
    zone = dice["zone"].pick((stage.zone.key, stage.zone.key, "UTC", "Europe/Berlin"))
    slot = free_slot(stage, dice["slot"], day + days(6), day + days(22), zone)
    at = stage.moment(day, dice["time"], (8, 17))
    met = meeting(stage, dice["meeting"], slot, at)
    stage.diary.take(met.entry.uid, [instants(stage, slot)])
    edits = [accepted(stage, met, at + timedelta(minutes=dice.between(5, 300)))]
    letters = [invitation(stage, dice["invite"], met, at)]
    if dice["fate"].chance(25):
        later = stage.moment(day + days(3), dice["later"], (8, 17))
        gone = replace(met, entry=replace(met.entry, status="CANCELLED", sequence=1, stamp=later))
        letters.append(invitation(stage, dice["cancel"], gone, later, "CANCEL"))
        edits.append(Edit(later + timedelta(minutes=20), met.entry.uid, (gone.entry.text(),)))
    return Scene(tuple(letters), edits=tuple(edits))
