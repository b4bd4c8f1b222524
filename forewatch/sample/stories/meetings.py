"""Meetings of other people: moved at short notice, or asking for something beforehand, or waiting for an answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta

from forewatch.sample.dice import Dice
from forewatch.sample.ical import Entry
from forewatch.sample.letter import Letter
from forewatch.sample.marking import notice, silence
from forewatch.sample.outages import Source
from forewatch.sample.post import by_owner, from_owner
from forewatch.sample.scene import Edit, Scene
from forewatch.sample.slots import Slot, free_slot, instants, random_slot
from forewatch.sample.speech import phrases
from forewatch.sample.stage import Stage, days
from forewatch.sample.stories.invitations import Meeting, accepted, invitation, meeting
from forewatch.sample.telling import Story, told

_MOVED = ("meeting-moved",)
_UNPREPARED = ("meeting-unprepared",)
_UNANSWERED = ("invitation-unanswered",)
_TRIES = 500


@dataclass(frozen=True, slots=True)
class Called:
    """A meeting to which somebody invites on ``day``, and which is to begin on ``on``."""

    met: Meeting
    invited: Letter
    day: date
    on: date

    @property
    def lang(self) -> str:
        return self.invited.speaker.lang

    @property
    def items(self) -> tuple[str, ...]:
        return (self.met.entry.uid, self.invited.message_id)


def stories(stage: Stage) -> Iterator[Scene]:
    dice = stage.dice["meetings"]
    moved: Sequence[Story] = [_put_off] * 2 + [_put_off_and_cancelled]
    settled: Sequence[Story] = [_in_good_time] * 2 + [_other_room]
    yield from told(stage, dice["moved"], moved, settled, 12, 336)
    asked: Sequence[Story] = [_unprepared] * 2 + [_prepared_late]
    easy: Sequence[Story] = [_prepared, _nothing_asked, _nothing_asked]
    yield from told(stage, dice["asked"], asked, easy, 14, 338)
    waiting: Sequence[Story] = [_unanswered] * 2 + [_accepted_late]
    answered: Sequence[Story] = [_answered_in_words, _cancelled, _accepted]
    yield from told(stage, dice["waiting"], waiting, answered, 16, 334)


def _called(
    stage: Stage, dice: Dice, stretch: tuple[int, int], calendar: tuple[int, ...], mail: tuple[int, ...] = (),
    description: str = "",
) -> Called:  # fmt: skip
    """``calendar``, ``mail``: days before the meeting on which these must speak; it begins a week after the letter."""
    day, slot = _free(stage, dice, stretch, calendar, mail)
    at = stage.moment(day, dice["time"], (8, 16))
    met = meeting(stage, dice["meeting"], slot, at, "clash")
    met = replace(met, entry=replace(met.entry, description=description))
    stage.diary.take(met.entry.uid, [instants(stage, slot)])
    return Called(met, invitation(stage, dice["invite"], met, at), day, slot.start.date())


def _free(
    stage: Stage, dice: Dice, stretch: tuple[int, int], calendar: tuple[int, ...], mail: tuple[int, ...]
) -> tuple[date, Slot]:
    """A day for the letter, and a free time about midday a week or two later."""
    for attempt in range(_TRIES):
        ahead = dice["ahead", attempt].between(6, 13)
        needs: dict[Source, Sequence[int]] = {
            "mail": (0, *(ahead - before for before in mail)),
            "calendar": (0, 1, *(ahead - before for before in calendar)),
        }
        day = stage.place(dice["day", attempt], stretch, needs)
        slot = random_slot(stage, dice["slot", attempt], day + days(ahead), stage.zone.key, (11, 18))
        if stage.diary.is_free(*instants(stage, slot)):
            return day, slot
    raise AssertionError(f"no room for a meeting in {stretch}")


def _taken_over(stage: Stage, called: Called) -> Edit:
    """Accepted within minutes."""
    return accepted(stage, called.met, called.invited.at.astimezone(stage.zone) + timedelta(minutes=25))


def _entry(stage: Stage, called: Called) -> Entry:
    """As the calendar has it once it is accepted."""
    return replace(called.met.entry, attendees=((stage.family.owner.address.mail, "ACCEPTED"),))


def _edit(entry: Entry, at: datetime) -> Edit:
    return Edit(at, entry.uid, (replace(entry, sequence=entry.sequence + 1, stamp=at).text(),))


# --- moved ---------------------------------------------------------------------------------------------------------


def _shifted(stage: Stage, dice: Dice, called: Called, first: int, last: int) -> Entry:
    """To a free time so many days after the old one."""
    slot = free_slot(stage, dice["new slot"], called.on + days(first), called.on + days(last), stage.zone.key, (9, 18))
    stage.diary.take(called.met.entry.uid, [instants(stage, slot)])
    return replace(_entry(stage, called), start=slot.start, end=slot.end, sequence=1)


def _put_off(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    """On the day before."""
    called = _called(stage, dice, stretch, (1, 0))
    told_on = called.on - days(1)
    edit = _edit(_shifted(stage, dice, called, 2, 5), stage.moment(told_on, dice["told"], (8, 17)))
    label = notice(name, _MOVED, called.items, (told_on, called.on + days(5)), called.lang, "moved on the day before")
    return Scene((called.invited,), edits=(_taken_over(stage, called), edit), labels=(label,))


def _put_off_and_cancelled(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    called = _called(stage, dice, stretch, (1, 0))
    told_on = called.on - days(1)
    entry = _shifted(stage, dice, called, 3, 6)
    edit = _edit(entry, stage.moment(told_on, dice["told"], (8, 17)))
    off = _edit(replace(entry, status="CANCELLED", sequence=2), stage.moment(called.on, dice["off"], (8, 17)))
    why = "moved on the day before, and then cancelled"
    label = notice(name, _MOVED, called.items, (told_on, called.on), called.lang, why, called.on)
    return Scene((called.invited,), edits=(_taken_over(stage, called), edit, off), labels=(label,))


def _in_good_time(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    """Four days before, by a week."""
    called = _called(stage, dice, stretch, (4,))
    edit = _edit(_shifted(stage, dice, called, 5, 9), stage.moment(called.on - days(4), dice["told"], (8, 17)))
    return _quiet(stage, name, _MOVED, called, (edit,), "moved days before, by a week")


def _other_room(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    called = _called(stage, dice, stretch, (1,))
    entry = replace(_entry(stage, called), location=f"{called.met.entry.location} B")
    edit = _edit(entry, stage.moment(called.on - days(1), dice["told"], (8, 17)))
    return _quiet(stage, name, _MOVED, called, (edit,), "only the room has changed")


def _quiet(
    stage: Stage, name: str, rules: tuple[str, ...], called: Called, edits: tuple[Edit, ...], why: str,
    letters: tuple[Letter, ...] = (),
) -> Scene:  # fmt: skip
    label = silence(name, rules, called.items, (called.day, called.on + days(9)), called.lang, why)
    return Scene((called.invited, *letters), edits=(_taken_over(stage, called), *edits), labels=(label,))


# --- something to prepare ------------------------------------------------------------------------------------------


def _described(stage: Stage, dice: Dice, kind: str) -> str:
    text: str = dice["words"].pick(phrases(stage.family.owner.speaker.lang)["calendar"][kind])
    return text


def _about(stage: Stage, dice: Dice, called: Called, at: datetime) -> Letter:
    """What was asked for, in a mail to the organiser."""
    letter = from_owner(stage, dice, called.met.organizer, "tell_own", at)
    subject: str = phrases(letter.speaker.lang)["calendar"]["prepared"]
    return replace(letter, subject=subject.format(summary=called.met.entry.summary))


def _unprepared(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    called = _called(stage, dice, stretch, (1,), (), _described(stage, dice, "prepare"))
    window = (called.on - days(2), called.on)
    label = notice(name, _UNPREPARED, called.items, window, called.lang, "asked to prepare something, and did not")
    return Scene((called.invited,), edits=(_taken_over(stage, called),), labels=(label,))


def _prepared_late(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    """In the evening before, the owner writes to the organiser."""
    called = _called(stage, dice, stretch, (1,), (1, 0), _described(stage, dice, "prepare"))
    over = called.on - days(1)
    sent = _about(stage, dice["send"], called, stage.moment(over, dice["eve"], (12, 18)))
    why = "asked to prepare something, and did so the evening before"
    label = notice(name, _UNPREPARED, called.items, (over - days(1), over), called.lang, why, over)
    return Scene((called.invited, sent), edits=(_taken_over(stage, called),), labels=(label,))


def _prepared(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    called = _called(stage, dice, stretch, (1,), (3,), _described(stage, dice, "prepare"))
    at = stage.moment(called.on - days(3), dice["eve"], (8, 18))
    sent = _about(stage, dice["send"], called, at)
    return _quiet(stage, name, _UNPREPARED, called, (), "what was asked for was sent days before", (sent,))


def _nothing_asked(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    called = _called(stage, dice, stretch, (1,), (), _described(stage, dice, "no_prepare"))
    return _quiet(stage, name, _UNPREPARED, called, (), "a description that asks for nothing")


# --- no answer yet -------------------------------------------------------------------------------------------------


def _unanswered(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    called = _called(stage, dice, stretch, (), (3, 2, 1))
    window = (called.on - days(4), called.on)
    label = notice(name, _UNANSWERED, called.items, window, called.lang, "an invitation without an answer")
    return Scene((called.invited,), labels=(label,))


def _accepted_late(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    called = _called(stage, dice, stretch, (1, 0), (3, 2, 1))
    over = called.on - days(1)
    edit = accepted(stage, called.met, stage.moment(over, dice["taken"], (12, 18)))
    why = "an invitation that is accepted on the day before"
    label = notice(name, _UNANSWERED, called.items, (called.on - days(4), over), called.lang, why, over)
    return Scene((called.invited,), edits=(edit,), labels=(label,))


def _answered_in_words(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    called = _called(stage, dice, stretch, (), (5,))
    at = stage.moment(called.on - days(5), dice["said"], (17, 20))
    answer = by_owner(stage, dice["say"], called.invited, "answer", at)
    return _unlisted(name, called, (answer,), "answered in a mail")


def _cancelled(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    """The organiser takes it back four days before."""
    called = _called(stage, dice, stretch, (), (4,))
    at = stage.moment(called.on - days(4), dice["off"], (8, 17))
    gone = replace(called.met, entry=replace(called.met.entry, status="CANCELLED", sequence=1, stamp=at))
    off = invitation(stage, dice["cancel"], gone, at, "CANCEL")
    return _unlisted(name, called, (off,), "an invitation that is taken back")


def _unlisted(name: str, called: Called, letters: tuple[Letter, ...], why: str) -> Scene:
    """The calendar never speaks of it."""
    label = silence(name, _UNANSWERED, called.items, (called.day, called.on), called.lang, why)
    return Scene((called.invited, *letters), labels=(label,))


def _accepted(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    called = _called(stage, dice, stretch, (3, 2), ())
    return _quiet(stage, name, _UNANSWERED, called, (), "accepted at once")
