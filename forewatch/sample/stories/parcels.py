"""Parcels: late ones, those that come in time, and those that are put off and then come."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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

RULES = ("parcel-late", "due-soon")
_ORDINARY = 33


@dataclass(frozen=True, slots=True)
class Parcel:
    """``due``: the day on which it should come."""

    company: Company
    number: str
    sent: Letter
    sent_on: date
    due: date

    @property
    def slots(self) -> dict[str, Value]:
        return {"number": self.number, "soon": self.due}


def stories(stage: Stage) -> Iterator[Scene]:
    dice = stage.dice["parcels"]
    true: Sequence[Story] = [_lost] * (1 + dice.below(2)) + [_found] * 2
    quiet: Sequence[Story] = [_in_time] * 3 + [_put_off] * 2
    yield from told(stage, dice, true, quiet, 8, 330)
    shops = [stage.company("ordinary parcels", "shop") for _ in range(6)]
    for index, stretch in enumerate(stage.stretches(_ORDINARY, 1, 352)):
        one = dice["ordinary", index]
        parcel = _sent(stage, one, one["who"].pick(shops), stretch, one.between(2, 5))
        yield Scene((parcel.sent, _delivered(stage, one, parcel, parcel.due)))


def _sent(
    stage: Stage, dice: Dice, company: Company, stretch: tuple[int, int], ahead: int, later: Sequence[int] = ()
) -> Parcel:
    """``later``: how many days after it is due more is told."""
    offsets = (0, ahead, *(ahead + wait for wait in later))
    day = stage.place(dice["day"], stretch, {"mail": offsets})
    number, due = stage.number(dice["number"], "########"), day + days(ahead)
    slots: dict[str, Value] = {"number": number, "soon": due}
    letter = from_company(stage, dice, company, "parcel", stage.moment(day, dice["time"]), slots)
    return Parcel(company, number, letter, day, due)


def _delivered(stage: Stage, dice: Dice, parcel: Parcel, on: date) -> Letter:
    at = stage.moment(on, dice["door"], (9, 18))
    return from_company(stage, dice["delivered"], parcel.company, "parcel_delivered", at, parcel.slots)


def _lost(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    parcel = _sent(stage, dice, stage.company("parcels", "shop"), stretch, dice.between(3, 6), (3,))
    window = (parcel.due + days(1), parcel.due + days(10))
    label = notice(name, RULES, (parcel.sent.message_id,), window, parcel.company.lang, "a parcel that never comes")
    return Scene((parcel.sent,), labels=(label,))


def _found(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    wait = dice.between(5, 9)
    parcel = _sent(stage, dice, stage.company("parcels", "shop"), stretch, dice.between(3, 6), (3, wait))
    over = parcel.due + days(wait)
    window = (parcel.due + days(1), over)
    why = "a parcel that comes days late"
    label = notice(name, RULES, (parcel.sent.message_id,), window, parcel.company.lang, why, over)
    return Scene((parcel.sent, _delivered(stage, dice, parcel, over)), labels=(label,))


def _in_time(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    parcel = _sent(stage, dice, stage.company("parcels", "shop"), stretch, dice.between(3, 6))
    delivered = _delivered(stage, dice, parcel, parcel.due)
    return _quiet(name, parcel, (parcel.sent, delivered), "a parcel that comes on its day")


def _put_off(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    """On its day they name another, on which it comes."""
    wait = dice.between(4, 7)
    parcel = _sent(stage, dice, stage.company("parcels", "shop"), stretch, dice.between(3, 6), (wait,))
    over = parcel.due + days(wait)
    at = stage.moment(parcel.due, dice["sorry"], (8, 12))
    slots = {**parcel.slots, "later": over}
    delayed = from_company(stage, dice["delayed"], parcel.company, "parcel_delayed", at, slots)
    letters = (parcel.sent, delayed, _delivered(stage, dice, parcel, over))
    return _quiet(name, parcel, letters, "put off to another day, and there on that day")


def _quiet(name: str, parcel: Parcel, letters: tuple[Letter, ...], why: str) -> Scene:
    items = tuple(letter.message_id for letter in letters)
    window = (parcel.sent_on, parcel.due + days(25))
    return Scene(letters, labels=(silence(name, RULES, items, window, parcel.company.lang, why),))
