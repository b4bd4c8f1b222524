"""Deadlines that are not about money, and dates that are no deadlines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import time

from forewatch.sample.cast import Company
from forewatch.sample.dice import Dice
from forewatch.sample.marking import notice, silence
from forewatch.sample.post import from_company, newsletter
from forewatch.sample.scene import Scene
from forewatch.sample.speech import Value, phrases
from forewatch.sample.stage import Stage, days
from forewatch.sample.telling import Story, told

RULES = ("due-soon",)


def stories(stage: Stage) -> Iterator[Scene]:
    dice = stage.dice["deadlines"]
    true: Sequence[Story] = [_missed] * (3 + dice.below(2)) + [_met] * 3
    quiet: Sequence[Story] = [_appointment] * 2 + [_over] + [_offer] * 4
    yield from told(stage, dice, true, quiet, 8, 332)


def _sender(stage: Stage, dice: Dice) -> Company:
    return stage.company("deadlines", dice.pick(("school", "library", "office", "energy")))


def _slots(stage: Stage, dice: Dice) -> dict[str, Value]:
    return {"number": stage.number(dice["number"], "@@-####")}


def _missed(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    ahead = dice.between(8, 24)
    day = stage.place(dice["day"], stretch, {"mail": (0, ahead)})
    company, slots = _sender(stage, dice["trade"]), _slots(stage, dice)
    slots["due"] = day + days(ahead)
    letter = from_company(stage, dice, company, "deadline", stage.moment(day, dice["time"], (8, 17)), slots)
    label = notice(name, RULES, (letter.message_id,), (day, day + days(ahead)), company.lang, "something is due")
    return Scene((letter,), labels=(label,))


def _met(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    """On the last day but one the sender confirms that all has arrived."""
    ahead = dice.between(9, 24)
    day = stage.place(dice["day"], stretch, {"mail": (0, ahead - 1)})
    company, slots = _sender(stage, dice["trade"]), _slots(stage, dice)
    slots["due"] = day + days(ahead)
    letter = from_company(stage, dice, company, "deadline", stage.moment(day, dice["time"], (8, 17)), slots)
    over = day + days(ahead - 1)
    done = from_company(
        stage,
        dice["done"],
        company,
        "deadline_done",
        stage.moment(over, dice["later"], (13, 17)),
        slots,
        answers=letter,
    )
    why = "something is due, and done at the last moment"
    label = notice(name, RULES, (letter.message_id,), (day, over), company.lang, why, over)
    return Scene((letter, done), labels=(label,))


def _silent(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int], trade: str, kind: str, why: str) -> Scene:
    ahead = dice.between(3, 12)
    day = stage.place(dice["day"], stretch, {"mail": (0,)})
    company, slots = stage.company("no deadlines", trade), _slots(stage, dice)
    slots |= {
        "soon": day + days(ahead),
        "past": day - days(ahead),
        "time": time(dice.between(8, 17), dice.pick((0, 15, 30))),
        "topic": dice["topic"].pick(phrases(company.lang)["words"]["topics"]),
    }
    letter = from_company(stage, dice, company, kind, stage.moment(day, dice["time"], (8, 17)), slots)
    if kind == "newsletter_offer":
        letter = newsletter(letter)
    rules = (*RULES, "trial-ending", "document-expiring", "invoice-unpaid")
    label = silence(name, rules, (letter.message_id,), (day, day + days(ahead + 5)), company.lang, why)
    return Scene((letter,), labels=(label,))


def _appointment(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    return _silent(stage, dice, name, stretch, "doctor", "appointment", "an appointment, not a deadline")


def _over(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    return _silent(stage, dice, name, stretch, "club", "deadline_over", "the deadline has passed, says a look back")


def _offer(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    return _silent(stage, dice, name, stretch, "shop", "newsletter_offer", "an advertised offer that ends")
