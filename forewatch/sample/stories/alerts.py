"""What machines write: alerts about accounts, codes, advice, and floods of mail."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, timedelta

from forewatch.sample.cast import Company
from forewatch.sample.dice import Dice
from forewatch.sample.letter import Letter
from forewatch.sample.marking import notice, silence
from forewatch.sample.post import from_company
from forewatch.sample.scene import Scene
from forewatch.sample.speech import Value
from forewatch.sample.stage import Stage, days
from forewatch.sample.telling import Story, told

RULES = ("sign-in-alert",)
_FLOOD = ("mail-flood",)


def stories(stage: Stage) -> Iterator[Scene]:
    dice = stage.dice["alerts"]
    true: Sequence[Story] = [_alert] * (2 + dice.below(2)) + [_confirmed] * 2
    quiet: Sequence[Story] = [_code] * 2 + [_advice] * 2
    yield from told(stage, dice, true, quiet, 5, 350)
    yield from told(stage, dice["floods"], [_flood] * 3, [_trickle] * 3, 12, 350)


def _written(
    stage: Stage, dice: Dice, stretch: tuple[int, int], kind: str, later: Sequence[int] = ()
) -> tuple[Company, Letter, date]:
    company = stage.company("alerts", dice["trade"].pick(("service", "telecom")))
    day = stage.place(dice["day"], stretch, {"mail": (0, *later)})
    at = stage.moment(day, dice["time"], (7, 21))
    return company, from_company(stage, dice, company, kind, at, {"code": dice["code"].digits(6)}), day


def _alert(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    company, letter, day = _written(stage, dice, stretch, "account_alert")
    window = (day, day + days(2))
    label = notice(name, RULES, (letter.message_id,), window, company.lang, "somebody was at an account")
    return Scene((letter,), labels=(label,))


def _confirmed(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    """The owner tells the provider that it was the owner."""
    wait = dice["wait"].between(1, 3)
    company, letter, day = _written(stage, dice, stretch, "account_alert", (wait,))
    over = day + days(wait)
    at = stage.moment(over, dice["later"], (9, 18))
    fine = from_company(stage, dice["fine"], company, "account_fine", at, {})
    why = "somebody was at an account, and it was the owner"
    label = notice(name, RULES, (letter.message_id,), (day, over), company.lang, why, over)
    return Scene((letter, fine), labels=(label,))


def _code(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    return _quiet(stage, dice, name, stretch, "account_code", "a code that the owner asked for")


def _advice(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    return _quiet(stage, dice, name, stretch, "account_advice", "advice about such alerts")


def _quiet(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int], kind: str, why: str) -> Scene:
    company, letter, day = _written(stage, dice, stretch, kind)
    label = silence(name, RULES, (letter.message_id,), (day, day + days(10)), company.lang, why)
    return Scene((letter,), labels=(label,))


def _burst(stage: Stage, dice: Dice, stretch: tuple[int, int], count: int, apart: timedelta) -> tuple[Letter, ...]:
    """``count`` letters of one machine, one every ``apart``."""
    company = stage.company("floods", "service")
    first = stage.at(stage.place(dice["day"], stretch, {"mail": (0, 1)}), dice["hour"].between(7, 9))
    letters = []
    for number in range(count):
        slots: dict[str, Value] = {"code": f"{dice['code'].digits(3)}{number:02d}"}
        at = first + number * apart + timedelta(seconds=dice["second", number].below(90))
        letters.append(replace(from_company(stage, dice[number], company, "flood", at, slots), automatic=True))
    return tuple(letters)


def _flood(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    letters = _burst(
        stage, dice, stretch, dice["count"].between(15, 24), timedelta(minutes=dice["apart"].between(2, 6))
    )
    day = stage.day_of(letters[0].at)
    items = tuple(letter.message_id for letter in letters)
    why = "one sender floods the mailbox"
    return Scene(letters, labels=(notice(name, _FLOOD, items, (day, day + days(2)), letters[0].speaker.lang, why),))


def _trickle(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    letters = _burst(stage, dice, stretch, 10, timedelta(minutes=dice["apart"].between(35, 60)))
    day = stage.day_of(letters[0].at)
    items = tuple(letter.message_id for letter in letters)
    why = "many mails of one sender, over a whole day"
    return Scene(letters, labels=(silence(name, _FLOOD, items, (day, day + days(5)), letters[0].speaker.lang, why),))
