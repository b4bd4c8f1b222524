"""Documents that run out, documents renewed in time, and documents that are only mentioned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date

from forewatch.sample.cast import Company
from forewatch.sample.dice import Dice
from forewatch.sample.letter import Letter
from forewatch.sample.marking import notice, silence
from forewatch.sample.phrasing import mid_sentence, thing
from forewatch.sample.post import from_company
from forewatch.sample.scene import Scene
from forewatch.sample.speech import Value
from forewatch.sample.stage import Stage, days
from forewatch.sample.telling import Story, told

RULES = ("document-expiring",)


def stories(stage: Stage) -> Iterator[Scene]:
    dice = stage.dice["documents"]
    true: Sequence[Story] = [_expiring] * (3 + dice.below(2)) + [_renewed] * 2
    quiet: Sequence[Story] = [_renewed_already] * 2 + [_mentioned] * 3
    yield from told(stage, dice, true, quiet, 10, 275)


def _document(stage: Stage, dice: Dice) -> tuple[Company, dict[str, Value]]:
    lang = stage.language("documents")
    document = thing("documents", lang, dice["which"])
    company = stage.registry.company(lang, document["trade"])
    whose = document["whose"].format(child=stage.child(dice["kid"])) if dice["kids"].chance(40) else document["your"]
    slots: dict[str, Value] = {
        "name": document["name"],
        "your": whose,
        "your_low": mid_sentence(whose, lang),
        "number": stage.number(dice["number"], "@##@####"),
    }
    return company, slots


def _warning(stage: Stage, dice: Dice, company: Company, day: date, slots: dict[str, Value], expiry: date) -> Letter:
    at = stage.moment(day, dice["time"], (8, 17))
    return from_company(stage, dice["warning"], company, "document", at, {**slots, "expiry": expiry})


def _expiring(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    notice_days = dice.between(18, 75)
    day = stage.place(dice["day"], stretch, {"mail": (0, notice_days)})
    company, slots = _document(stage, dice)
    expiry = day + days(notice_days)
    letter = _warning(stage, dice, company, day, slots, expiry)
    label = notice(name, RULES, (letter.message_id,), (day, expiry), company.lang, f"{slots['name']} runs out")
    return Scene((letter,), labels=(label,))


def _renewed(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    """The office confirms the renewal five days before the old document runs out."""
    notice_days = dice.between(20, 75)
    day = stage.place(dice["day"], stretch, {"mail": (0, notice_days - 5)})
    company, slots = _document(stage, dice)
    expiry = day + days(notice_days)
    letter = _warning(stage, dice, company, day, slots, expiry)
    over = expiry - days(5)
    slots["far"] = expiry + days(3652)
    renewed = from_company(
        stage, dice["renewed"], company, "document_renewed", stage.moment(over, dice["later"], (11, 17)), slots
    )
    why = f"{slots['name']} runs out, and is renewed in the end"
    label = notice(name, RULES, (letter.message_id,), (day, over), company.lang, why, over)
    return Scene((letter, renewed), labels=(label,))


def _renewed_already(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    """Only good news: the new date lies years ahead."""
    day = stage.place(dice["day"], stretch, {"mail": (0,)})
    company, slots = _document(stage, dice)
    slots["far"] = day + days(dice.between(1500, 3600))
    letter = from_company(stage, dice, company, "document_renewed", stage.moment(day, dice["time"]), slots)
    window = (day, day + days(120))
    label = silence(name, RULES, (letter.message_id,), window, company.lang, "renewed for years to come")
    return Scene((letter,), labels=(label,))


def _mentioned(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    ahead = dice.between(4, 14)
    day = stage.place(dice["day"], stretch, {"mail": (0,)})
    company, slots = _document(stage, dice)
    slots["soon"] = day + days(ahead)
    letter = from_company(stage, dice, company, "document_mention", stage.moment(day, dice["time"]), slots)
    window = (day, day + days(ahead + 5))
    rules = (*RULES, "due-soon")
    label = silence(name, rules, (letter.message_id,), window, company.lang, "a document and a date, but no expiry")
    return Scene((letter,), labels=(label,))
