"""Promises of companies, of friends and of the owner: broken, kept late, kept, or none at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta

from forewatch.sample.cast import Person
from forewatch.sample.dice import Dice
from forewatch.sample.letter import Letter
from forewatch.sample.marking import notice, silence
from forewatch.sample.post import answering, by_owner, from_company, from_person
from forewatch.sample.scene import Scene
from forewatch.sample.speech import Value, phrases
from forewatch.sample.stage import Stage, days
from forewatch.sample.telling import Story, told

RULES = ("promise-open",)
_SILENT = (*RULES, "due-soon", "mail-unanswered")


@dataclass(frozen=True, slots=True)
class Promise:
    """``letters``: all up to the promise, which is the last of them; ``kept``: what keeps it."""

    letters: tuple[Letter, ...]
    due: date
    kept: Letter

    @property
    def letter(self) -> Letter:
        return self.letters[-1]


def stories(stage: Stage) -> Iterator[Scene]:
    dice = stage.dice["promises"]
    makers = (_company, _friend, _owner)
    true: Sequence[Story] = [_broken(make) for make in makers] + [_late(make) for make in makers]
    quiet: Sequence[Story] = [_kept(make) for make in makers] + [_no_promise("promise_vague", "names no day")] * 2
    quiet = [*quiet, _no_promise("promise_if", "hangs on an if")]
    yield from told(stage, dice, true, quiet, 10, 328)


def _days(stage: Stage, dice: Dice, stretch: tuple[int, int], wait: int) -> tuple[date, date]:
    """The day of the promise, and the one by which it is to be kept; ``wait`` days after that more comes."""
    ahead = dice["ahead"].between(4, 12)
    day = stage.place(dice["day"], stretch, {"mail": (0, 1, ahead, ahead + 1, ahead + wait)})
    return day, day + days(ahead)


def _company(stage: Stage, dice: Dice, stretch: tuple[int, int], wait: int) -> Promise:
    day, due = _days(stage, dice, stretch, wait)
    company = stage.company("promises", "craft")
    slots: dict[str, Value] = {"number": stage.number(dice["number"], "@-#####"), "due": due}
    letter = from_company(stage, dice, company, "promise_company", stage.moment(day, dice["time"], (8, 17)), slots)
    at = stage.moment(due + days(wait), dice["later"], (8, 17))
    kept = from_company(stage, dice["kept"], company, "promise_company_kept", at, slots)
    return Promise((letter,), due, kept)


def _friend(stage: Stage, dice: Dice, stretch: tuple[int, int], wait: int) -> Promise:
    day, due = _days(stage, dice, stretch, wait)
    who = _who(stage, dice)
    letter = from_person(stage, dice, who, "promise_person", stage.moment(day, dice["time"], (8, 20)), {"due": due})
    at = stage.moment(due + days(wait), dice["later"], (8, 20))
    kept = from_person(stage, dice["kept"], who, "promise_person_kept", at, {}, answers=letter)
    return Promise((letter,), due, replace(kept, subject=answering(letter)))


def _owner(stage: Stage, dice: Dice, stretch: tuple[int, int], wait: int) -> Promise:
    """What the owner promises in answer to a question."""
    day, due = _days(stage, dice, stretch, wait)
    who = _who(stage, dice)
    slots: dict[str, Value] = {
        "topic": dice["topic"].pick(phrases(who.speaker.lang)["words"]["topics"]),
        "soon": day + days(40),
    }
    asked = from_person(stage, dice["ask"], who, "question", stage.moment(day, dice["time"], (8, 16)), slots)
    at = asked.at + timedelta(minutes=dice["soon"].between(20, 200))
    letter = by_owner(stage, dice["promise"], asked, "promise_own", at, {"due": due})
    later = stage.moment(due + days(wait), dice["later"], (8, 20))
    return Promise((asked, letter), due, by_owner(stage, dice["kept"], asked, "promise_own_kept", later))


def _who(stage: Stage, dice: Dice) -> Person:
    lang = stage.language("promises of friends")
    return dice["who"].pick([friend for friend in stage.family.friends if friend.speaker.lang == lang])


Make = Callable[[Stage, Dice, tuple[int, int], int], Promise]
"""stage, dice, the stretch of days, how many days late it is kept."""


def _broken(make: Make) -> Story:
    def story(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
        promise = make(stage, dice, stretch, 2)
        window = (promise.due, promise.due + days(9))
        lang, why = promise.letter.speaker.lang, "promised by a day, and nothing came"
        label = notice(name, RULES, (promise.letter.message_id,), window, lang, why)
        return Scene(promise.letters, labels=(label,))

    return story


def _late(make: Make) -> Story:
    def story(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
        wait = dice["wait"].between(4, 9)
        promise = make(stage, dice, stretch, wait)
        over = promise.due + days(wait)
        lang, why = promise.letter.speaker.lang, "promised by a day, and kept days later"
        label = notice(name, RULES, (promise.letter.message_id,), (promise.due, over), lang, why, over)
        return Scene((*promise.letters, promise.kept), labels=(label,))

    return story


def _kept(make: Make) -> Story:
    def story(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
        promise = make(stage, dice, stretch, 0)
        return _quiet(stage, name, (*promise.letters, promise.kept), "a promise that is kept on its day")

    return story


def _no_promise(kind: str, why: str) -> Story:
    def story(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
        day, due = _days(stage, dice, stretch, 2)
        at = stage.moment(day, dice["time"], (8, 20))
        letter = from_person(stage, dice, _who(stage, dice), kind, at, {"due": due})
        return _quiet(stage, name, (letter,), f"a promise that {why}")

    return story


def _quiet(stage: Stage, name: str, letters: tuple[Letter, ...], why: str) -> Scene:
    items = tuple(letter.message_id for letter in letters)
    day = stage.day_of(letters[0].at)
    label = silence(name, _SILENT, items, (day, day + days(30)), letters[0].speaker.lang, why)
    return Scene(letters, labels=(label,))
