"""Goods that may be sent back until a day: not sent, sent at the last moment, sent soon, or only advertised."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date

from forewatch.sample.cast import Company
from forewatch.sample.dice import Dice
from forewatch.sample.letter import Letter
from forewatch.sample.marking import notice, silence
from forewatch.sample.post import from_company, newsletter
from forewatch.sample.scene import Scene
from forewatch.sample.speech import Value
from forewatch.sample.stage import Stage, days
from forewatch.sample.telling import Story, told

RULES = ("return-window",)
_SILENT = (*RULES, "due-soon", "document-expiring", "contract-notice")


def stories(stage: Stage) -> Iterator[Scene]:
    dice = stage.dice["returns"]
    true: Sequence[Story] = [_kept] * (1 + dice.below(2)) + [_last_moment] * 2
    quiet: Sequence[Story] = [_sent_soon] * 2 + [_advertised] * 2
    yield from told(stage, dice, true, quiet, 9, 335)


def _order(
    stage: Stage, dice: Dice, stretch: tuple[int, int], ahead: int, later: Sequence[int], kind: str = "return_window"
) -> tuple[Company, dict[str, Value], Letter, date]:
    """``later``: days after the letter on which more is told."""
    company = stage.company("returns", "shop")
    day = stage.place(dice["day"], stretch, {"mail": (0, *later)})
    slots: dict[str, Value] = {"number": stage.number(dice["number"], "####-####"), "end": day + days(ahead)}
    letter = from_company(stage, dice, company, kind, stage.moment(day, dice["time"], (8, 17)), slots)
    return company, slots, letter, day


def _returned(stage: Stage, dice: Dice, company: Company, on: date, slots: dict[str, Value]) -> Letter:
    return from_company(stage, dice["back"], company, "returned", stage.moment(on, dice["later"], (12, 18)), slots)


def _kept(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    ahead = dice["ahead"].between(12, 28)
    company, _, letter, day = _order(stage, dice, stretch, ahead, (ahead,))
    window = (day, day + days(ahead))
    label = notice(name, RULES, (letter.message_id,), window, company.lang, "the last days to send something back")
    return Scene((letter,), labels=(label,))


def _last_moment(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    ahead = dice["ahead"].between(12, 28)
    company, slots, letter, day = _order(stage, dice, stretch, ahead, (ahead - 3, ahead - 1))
    over = day + days(ahead - 1)
    why = "sent back on the last day but one"
    label = notice(name, RULES, (letter.message_id,), (day, over), company.lang, why, over)
    return Scene((letter, _returned(stage, dice, company, over, slots)), labels=(label,))


def _sent_soon(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    ahead = dice["ahead"].between(14, 28)
    company, slots, letter, day = _order(stage, dice, stretch, ahead, (ahead - 7,))
    back = _returned(stage, dice, company, day + days(ahead - 7), slots)
    return _quiet(name, (letter, back), day, company, "sent back a week before")


def _advertised(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    company, _, letter, day = _order(stage, dice, stretch, 20, (), "return_quiet")
    return _quiet(name, (newsletter(letter),), day, company, "advertised to everybody")


def _quiet(name: str, letters: tuple[Letter, ...], day: date, company: Company, why: str) -> Scene:
    items = tuple(letter.message_id for letter in letters)
    return Scene(letters, labels=(silence(name, _SILENT, items, (day, day + days(35)), company.lang, why),))
