"""Claims and complaints that wait for an answer, that are decided, and that one could only make."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date

from forewatch.sample.cast import Company
from forewatch.sample.dice import Dice
from forewatch.sample.letter import Letter
from forewatch.sample.marking import notice, silence
from forewatch.sample.post import from_company
from forewatch.sample.scene import Scene
from forewatch.sample.speech import Value
from forewatch.sample.stage import Stage, days
from forewatch.sample.telling import Story, told

RULES = ("claim-open", "promise-open")


def stories(stage: Stage) -> Iterator[Scene]:
    dice = stage.dice["claims"]
    true: Sequence[Story] = [_waiting] * 2 + [_late] * 2 + [_dated]
    quiet: Sequence[Story] = [_asked_back] * 2 + [_decided_soon] * 2 + [_possible]
    yield from told(stage, dice, true, quiet, 8, 318)


def _claim(
    stage: Stage, dice: Dice, stretch: tuple[int, int], later: Sequence[int], kind: str = "claim", ahead: int = 14
) -> tuple[Company, dict[str, Value], Letter, date]:
    company = stage.company("claims", "insurer")
    day = stage.place(dice["day"], stretch, {"mail": (0, *later)})
    slots: dict[str, Value] = {"number": stage.number(dice["number"], "@@-#####"), "due": day + days(ahead)}
    letter = from_company(stage, dice, company, kind, stage.moment(day, dice["time"], (8, 17)), slots)
    return company, slots, letter, day


def _more(stage: Stage, dice: Dice, company: Company, kind: str, on: date, slots: dict[str, Value]) -> Letter:
    return from_company(stage, dice[kind], company, kind, stage.moment(on, dice["later"], (8, 17)), slots)


def _waiting(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    company, _, letter, day = _claim(stage, dice, stretch, (21, 22))
    window = (day + days(14), day + days(30))
    label = notice(name, RULES, (letter.message_id,), window, company.lang, "a claim that nobody decides")
    return Scene((letter,), labels=(label,))


def _late(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    wait = dice["wait"].between(24, 32)
    company, slots, letter, day = _claim(stage, dice, stretch, (21, 22, wait))
    over = day + days(wait)
    why = "a claim that is decided late"
    label = notice(name, RULES, (letter.message_id,), (day + days(14), over), company.lang, why, over)
    return Scene((letter, _more(stage, dice, company, "claim_settled", over, slots)), labels=(label,))


def _dated(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    """They named a day for their answer."""
    ahead = dice["ahead"].between(8, 18)
    company, _, letter, day = _claim(stage, dice, stretch, (ahead, ahead + 1), "claim_dated", ahead)
    window = (day + days(ahead), day + days(ahead + 9))
    label = notice(name, RULES, (letter.message_id,), window, company.lang, "no answer on the day that they named")
    return Scene((letter,), labels=(label,))


def _asked_back(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    wait = dice["wait"].between(6, 15)
    company, slots, letter, day = _claim(stage, dice, stretch, (wait,))
    more = _more(stage, dice, company, "claim_progress", day + days(wait), slots)
    return _quiet(name, (letter, more), day, company, "they are at work on it")


def _decided_soon(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    wait = dice["wait"].between(5, 18)
    company, slots, letter, day = _claim(stage, dice, stretch, (wait,))
    more = _more(stage, dice, company, "claim_settled", day + days(wait), slots)
    return _quiet(name, (letter, more), day, company, "decided within three weeks")


def _possible(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    company, _, letter, day = _claim(stage, dice, stretch, (), "claim_quiet")
    return _quiet(name, (letter,), day, company, "how one could complain")


def _quiet(name: str, letters: tuple[Letter, ...], day: date, company: Company, why: str) -> Scene:
    items = tuple(letter.message_id for letter in letters)
    window = (day, day + days(40))
    return Scene(letters, labels=(silence(name, (*RULES, "mail-unanswered"), items, window, company.lang, why),))
