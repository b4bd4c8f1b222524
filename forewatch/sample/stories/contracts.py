"""Contracts that renew by themselves unless somebody gives notice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from forewatch.sample.cast import Company
from forewatch.sample.dice import Dice
from forewatch.sample.marking import notice, silence
from forewatch.sample.phrasing import thing
from forewatch.sample.post import from_company
from forewatch.sample.scene import Scene
from forewatch.sample.speech import Value
from forewatch.sample.stage import Stage, days
from forewatch.sample.telling import Story, told

RULES = ("contract-notice", "due-soon")


def stories(stage: Stage) -> Iterator[Scene]:
    dice = stage.dice["contracts"]
    true: Sequence[Story] = [_renewing] * (2 + dice.below(2)) + [_cancelled] * 2
    quiet: Sequence[Story] = [_settled] * 2 + [_cancelled_already] * 2
    yield from told(stage, dice, true, quiet, 10, 300)


def _contract(stage: Stage, dice: Dice) -> tuple[Company, dict[str, Value]]:
    lang = stage.language("contracts")
    contract = thing("contracts", lang, dice["which"])
    slots: dict[str, Value] = {
        "name": contract["name"],
        "number": stage.number(dice["number"], "@#######"),
        "months": dice["months"].pick((6, 12, 24)),
    }
    return stage.registry.company(lang, contract["trade"]), slots


def _renewing(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    ahead = dice.between(14, 50)
    day = stage.place(dice["day"], stretch, {"mail": (0, ahead)})
    company, slots = _contract(stage, dice)
    last_day = day + days(ahead)
    slots |= {"notice": last_day, "end": last_day + days(dice["period"].pick((30, 60, 90)))}
    letter = from_company(stage, dice, company, "contract", stage.moment(day, dice["time"], (8, 17)), slots)
    label = notice(
        name, RULES, (letter.message_id,), (day, last_day), company.lang, f"last day to cancel the {slots['name']}"
    )
    return Scene((letter,), labels=(label,))


def _cancelled(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    """The company confirms the cancellation one day before the last day for it."""
    ahead = dice.between(16, 50)
    day = stage.place(dice["day"], stretch, {"mail": (0, ahead - 1)})
    company, slots = _contract(stage, dice)
    last_day = day + days(ahead)
    slots |= {"notice": last_day, "end": last_day + days(dice["period"].pick((30, 60, 90)))}
    letter = from_company(stage, dice, company, "contract", stage.moment(day, dice["time"], (8, 17)), slots)
    over = last_day - days(1)
    confirmed = from_company(
        stage, dice["confirm"], company, "contract_cancelled", stage.moment(over, dice["later"], (14, 19)), slots
    )
    why = f"last day to cancel the {slots['name']}; then it is cancelled"
    label = notice(name, RULES, (letter.message_id,), (day, over), company.lang, why, over)
    return Scene((letter, confirmed), labels=(label,))


def _settled(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    return _quiet(stage, dice, name, stretch, "contract_quiet", "news about a contract that ask for nothing")


def _cancelled_already(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    return _quiet(stage, dice, name, stretch, "contract_cancelled", "cancelled already: its end is no deadline")


def _quiet(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int], kind: str, why: str) -> Scene:
    day = stage.place(dice["day"], stretch, {"mail": (0,)})
    company, slots = _contract(stage, dice)
    slots["end"] = day + days(dice.between(20, 50))
    letter = from_company(stage, dice, company, kind, stage.moment(day, dice["time"], (8, 17)), slots)
    window = (day, day + days(60))
    label = silence(name, RULES, (letter.message_id,), window, company.lang, why)
    return Scene((letter,), labels=(label,))
