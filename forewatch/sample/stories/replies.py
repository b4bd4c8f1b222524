"""Questions of the owner: never answered, answered late, answered by a machine only, or answered in time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, timedelta

from forewatch.sample.cast import Person
from forewatch.sample.dice import Dice
from forewatch.sample.letter import Letter
from forewatch.sample.marking import notice, silence
from forewatch.sample.post import answering, from_owner, from_person
from forewatch.sample.scene import Scene
from forewatch.sample.stage import Stage, days
from forewatch.sample.telling import Story, told

RULES = ("reply-owed",)


def stories(stage: Stage) -> Iterator[Scene]:
    dice = stage.dice["replies"]
    true: Sequence[Story] = [_never] * (1 + dice.below(2)) + [_late] * 2 + [_by_machine]
    quiet: Sequence[Story] = [_soon] * 3 + [_no_question] * 2
    yield from told(stage, dice, true, quiet, 7, 335)


def _sent(
    stage: Stage, dice: Dice, stretch: tuple[int, int], later: Sequence[int], kind: str = "ask_own"
) -> tuple[Person, Letter, date]:
    lang = stage.language("replies")
    friend = dice["who"].pick([friend for friend in stage.family.friends if friend.speaker.lang == lang])
    day = stage.place(dice["day"], stretch, {"mail": (0, *later)})
    return friend, from_owner(stage, dice, friend, kind, stage.moment(day, dice["time"], (8, 20))), day


def _answer(stage: Stage, dice: Dice, friend: Person, to: Letter, on: date) -> Letter:
    at = stage.moment(on, dice["answered"], (8, 20))
    letter = from_person(stage, dice["answer"], friend, "ask_answered", at, {}, answers=to, quote=True)
    return replace(letter, subject=answering(to))


def _never(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    friend, letter, day = _sent(stage, dice, stretch, (5, 6))
    window = (day + days(3), day + days(12))
    label = notice(name, RULES, (letter.message_id,), window, friend.speaker.lang, "a question that nobody answers")
    return Scene((letter,), labels=(label,))


def _late(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    wait = dice["wait"].between(7, 13)
    friend, letter, day = _sent(stage, dice, stretch, (5, 6, wait))
    over = day + days(wait)
    why = "a question that is answered late"
    label = notice(name, RULES, (letter.message_id,), (day + days(3), over), friend.speaker.lang, why, over)
    return Scene((letter, _answer(stage, dice, friend, letter, over)), labels=(label,))


def _by_machine(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    """Nobody reads it, says a machine, and then nobody does."""
    friend, letter, day = _sent(stage, dice, stretch, (0, 5, 6))
    at = letter.at + timedelta(minutes=1)
    away = from_person(stage, dice["away"], friend, "ask_auto", at, {}, answers=letter)
    away = replace(away, subject=answering(letter), automatic=True)
    why = "only a machine has answered"
    window = (day + days(3), day + days(12))
    label = notice(name, RULES, (letter.message_id,), window, friend.speaker.lang, why)
    return Scene((letter, away), labels=(label,))


def _soon(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    wait = dice["wait"].between(1, 3)
    friend, letter, day = _sent(stage, dice, stretch, (wait,))
    answer = _answer(stage, dice, friend, letter, day + days(wait))
    return _quiet(name, (letter, answer), day, "answered within days")


def _no_question(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    _, letter, day = _sent(stage, dice, stretch, (), "tell_own")
    return _quiet(name, (letter,), day, "a letter that asks nothing")


def _quiet(name: str, letters: tuple[Letter, ...], day: date, why: str) -> Scene:
    items = tuple(letter.message_id for letter in letters)
    rules = (*RULES, "mail-unanswered")
    label = silence(name, rules, items, (day, day + days(25)), letters[0].speaker.lang, why)
    return Scene(letters, labels=(label,))
