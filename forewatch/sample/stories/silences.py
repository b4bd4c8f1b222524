"""Sources that fall silent and come back, and pauses that are nothing unusual."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta

from forewatch.sample.dice import Dice
from forewatch.sample.ical import Entry
from forewatch.sample.labels import Label
from forewatch.sample.marking import notice, silence
from forewatch.sample.outages import Outage
from forewatch.sample.post import from_company, newsletter
from forewatch.sample.scene import Edit, Scene
from forewatch.sample.slots import free_slot, instants
from forewatch.sample.stage import Stage, days
from forewatch.sample.stories.agenda import new_uid, summary

RULES = ("source-silent",)
_PATIENCE = {"mail": 3, "calendar": 3, "bank-a": 3, "bank-b": 20}
"""Days of an outage before its silence can be called unusual: a week after the last arrival; four at bank B."""


def stories(stage: Stage) -> Iterator[Scene]:
    dice = stage.dice["silences"]
    for outage in stage.outages.silent:
        yield _outage(stage, dice[outage.source], outage)
    yield from _usual(stage, dice["usual"])


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
