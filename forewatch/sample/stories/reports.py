"""Reports that a machine sends each night, until it does not; and such as have pauses, or never had a rhythm."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date

from forewatch.sample.cast import Company
from forewatch.sample.dice import Dice
from forewatch.sample.letter import Letter
from forewatch.sample.marking import notice, silence
from forewatch.sample.post import from_company
from forewatch.sample.scene import Scene
from forewatch.sample.stage import Stage, days
from forewatch.sample.telling import Story, told

RULES = ("report-stopped",)
_NOTICED = (4, 7)
"""Days after the last report."""
_PATIENCE = 9


def stories(stage: Stage) -> Iterator[Scene]:
    true: Sequence[Story] = [_stopped, _stopped_at_work, _back_again]
    quiet: Sequence[Story] = [_paused, _weekly, _now_and_then, _tried]
    yield from told(stage, stage.dice["reports"], true, quiet, 5, 280)


def _written(stage: Stage, dice: Dice, stretch: tuple[int, int], offsets: Sequence[int]) -> list[Letter]:
    """One on each of the days, and mail comes for some days after the last: nothing else may be silent then."""
    company = stage.company("reports", "service")
    spoken = tuple(range(-1, offsets[-1] + _PATIENCE))
    first = stage.place(dice["day"], stretch, {"mail": spoken})
    return [_report(stage, dice, company, first + days(offset)) for offset in offsets]


def _report(stage: Stage, dice: Dice, company: Company, day: date) -> Letter:
    own = dice["report", day]
    letter = from_company(
        stage, own, company, "report", stage.at(day, 5, own.between(2, 40)), {"number": own.digits(4)}
    )
    return replace(letter, automatic=True)


def _nightly(dice: Dice) -> range:
    return range(dice["count"].between(14, 20))


def _stopped(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    letters = _written(stage, dice, stretch, _nightly(dice))
    return _situation(stage, name, letters, "a nightly report stops")


def _stopped_at_work(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    """It comes on working days only."""
    company = stage.company("reports", "service")
    count = dice["count"].between(24, 30)
    first = stage.place(dice["day"], stretch, {"mail": tuple(range(-1, count + _PATIENCE))})
    nights = [first + days(offset) for offset in range(count)]
    letters = [_report(stage, dice, company, day) for day in nights if day.weekday() < 5]
    return _situation(stage, name, letters, "a report of working days stops")


def _back_again(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    nights = _nightly(dice)
    last = len(nights) - 1
    letters = _written(stage, dice, stretch, [*nights, last + dice["back"].between(7, 8)])
    return _situation(stage, name, letters[:-1], "a nightly report stops, and comes again", letters[-1])


def _paused(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    """Three nights without one are no end; the end comes later."""
    before = list(_nightly(dice))
    after = [before[-1] + 4 + night for night in range(dice["after"].between(3, 6))]
    letters = _written(stage, dice, stretch, [*before, *after])
    end = _situation(stage, f"{name}-end", letters, "a nightly report stops, which had paused before")
    pause = _look_alike(stage, name, letters[: len(before)], "a nightly report pauses for three nights", 3)
    return Scene(end.letters, labels=(*end.labels, *pause.labels))


def _weekly(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    letters = _written(stage, dice, stretch, range(0, 36, 7))
    return _look_alike(stage, name, letters, "a report that comes once a week")


def _now_and_then(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    offsets, day = [], 0
    for number in range(12):
        offsets.append(day)
        day += dice["gap", number].between(1, 3) if number % 4 else dice["gap", number].between(5, 8)
    return _look_alike(stage, name, _written(stage, dice, stretch, offsets), "reports that come now and then")


def _tried(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    letters = _written(stage, dice, stretch, range(dice["count"].between(5, 8)))
    return _look_alike(stage, name, letters, "a report that was tried for a week")


def _situation(stage: Stage, name: str, letters: Sequence[Letter], why: str, over: Letter | None = None) -> Scene:
    last = stage.day_of(letters[-1].at)
    until = None if over is None else stage.day_of(over.at)
    window = (last + days(_NOTICED[0]), last + days(_NOTICED[1]))
    label = notice(name, RULES, (letters[-1].message_id,), window, letters[-1].speaker.lang, why, until)
    return Scene((*letters, *(() if over is None else (over,))), labels=(label,))


def _look_alike(stage: Stage, name: str, letters: Sequence[Letter], why: str, quiet: int = 20) -> Scene:
    first, last = (stage.day_of(letter.at) for letter in (letters[0], letters[-1]))
    items = tuple(letter.message_id for letter in letters)
    label = silence(name, RULES, items, (first, last + days(quiet)), letters[0].speaker.lang, why)
    return Scene(tuple(letters), labels=(label,))
