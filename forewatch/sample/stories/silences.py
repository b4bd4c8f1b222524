"""Sources that fall silent and come back, and pauses that are nothing unusual."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta

from forewatch.sample.dice import Dice
from forewatch.sample.ical import Entry
from forewatch.sample.labels import Label
from forewatch.sample.letter import Letter
from forewatch.sample.marking import notice, silence
from forewatch.sample.outages import Outage
from forewatch.sample.post import from_company, from_owner, from_person, newsletter
from forewatch.sample.scene import Edit, Scene
from forewatch.sample.slots import free_slot, instants
from forewatch.sample.stage import Stage, days
from forewatch.sample.stories.agenda import new_uid, summary

RULES = ("source-silent",)
_QUIET = ("mailbox-quiet",)
_PATIENCE = {"mail": 3, "calendar": 3, "bank-a": 3, "bank-b": 20}
"""Days of an outage before its silence can be called unusual: a week after the last arrival; four at bank B."""


def stories(stage: Stage) -> Iterator[Scene]:
    dice = stage.dice["silences"]
    for outage in stage.outages.silent:
        yield _outage(stage, dice[outage.source], outage)
    yield from _usual(stage, dice["usual"])
    yield _lost(stage, dice["lost"], stage.outages.lost)
    holiday, outage = stage.outages.holiday, stage.outages.of("mail")
    yield _paused(stage, dice["holiday"], holiday, "nobody writes for five days")
    yield _paused(stage, dice["outage"], outage, "the whole account is silent, of which another rule speaks")


def _outage(stage: Stage, dice: Dice, outage: Outage) -> Scene:
    window = (outage.first + days(_PATIENCE[outage.source]), outage.until)
    label = notice(
        outage.source, RULES, (f"account:{outage.source}",), window, "-", f"{outage.source} falls silent", outage.until
    )
    first_word = {"mail": _mail, "calendar": _entry}.get(outage.source)
    return first_word(stage, dice, outage.until, label) if first_word else Scene(labels=(label,))


def _mail(stage: Stage, dice: Dice, day: date, label: Label) -> Scene:
    """The first letter after an outage."""
    company = stage.company("silences", "media")
    letter = newsletter(from_company(stage, dice, company, "newsletter", stage.at(day, 7, 5), {}))
    return Scene((letter,), labels=(label,))


def _last(stage: Stage, dice: Dice, pause: Outage) -> Letter:
    """The last letter before a pause, later in the day than any other."""
    at = stage.at(pause.first - days(1), 23, 40)
    return from_person(stage, dice, dice["who"].pick(stage.family.friends), "chat", at, {"past": pause.first - days(9)})


def _lost(stage: Stage, dice: Dice, pause: Outage) -> Scene:
    """What comes is lost, and the owner, who does not know, goes on writing."""
    last = _last(stage, dice["last"], pause)
    sent = [
        from_owner(stage, dice["own", day], dice["to", day].pick(stage.family.friends), "hello_own",
                   stage.at(pause.first + days(day), 18, 5))
        for day in range(1, (pause.until - pause.first).days, 3)
    ]  # fmt: skip
    found = newsletter(
        from_company(
            stage, dice["found"], stage.company("lost", "media"), "newsletter", stage.at(pause.until, 7, 5), {}
        )
    )
    window = (pause.first + days(8), pause.until)
    label = notice("lost", _QUIET, (last.message_id,), window, "-", "mail is lost while the owner writes", pause.until)
    return Scene((last, *sent, found), labels=(label,))


def _paused(stage: Stage, dice: Dice, pause: Outage, why: str) -> Scene:
    last = _last(stage, dice, pause)
    label = silence(f"{pause.first:%m%d}", _QUIET, (last.message_id,), (pause.first, pause.until), "-", why)
    return Scene((last,), labels=(label,))


def _entry(stage: Stage, dice: Dice, day: date, label: Label) -> Scene:
    """The first entry after an outage."""
    slot = free_slot(stage, dice["slot"], day + days(4), day + days(20), stage.zone.key)
    uid, at = new_uid(stage, dice), stage.at(day, 7, 40)
    stage.diary.take(uid, [instants(stage, slot)], day)
    entry = Entry(uid, summary(stage, dice["title"], "single"), slot.start, slot.end, slot.zone, at)
    return Scene(edits=(Edit(at, uid, (entry.text(),)),), labels=(label,))


def _usual(stage: Stage, dice: Dice) -> Iterator[Scene]:
    holiday = stage.outages.holiday
    pauses = [("holiday", "mail", holiday.first, holiday.until, "nobody writes for five days")]
    for index in range(2):
        monday = stage.place(dice["week", index], (40, 330), {"bank-b": tuple(range(-7, 15))})
        monday -= timedelta(days=monday.weekday())
        pauses.append((f"week{index}", "bank-b", monday + days(1), monday + days(6), "its statements come once a week"))
    feast = date(stage.start.year, 12, 24)
    if stage.start + days(30) < feast < stage.end - days(8) and not stage.outages.covers("bank-a", feast):
        pauses.append(("feast", "bank-a", feast, feast + days(4), "banks rest over Christmas"))
    for name, account, first, last, why in pauses:
        label = silence(name, RULES, (f"account:{account}",), (first, last), "-", why)
        yield Scene(labels=(label,))
