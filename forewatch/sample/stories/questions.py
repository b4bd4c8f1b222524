"""Questions from people: answered, answered late, or forgotten; and questions that want no answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta

from forewatch.sample.cast import Person
from forewatch.sample.dice import Dice
from forewatch.sample.letter import Letter
from forewatch.sample.marking import notice, silence
from forewatch.sample.post import by_owner, from_company, from_person, newsletter
from forewatch.sample.scene import Scene
from forewatch.sample.speech import Value, phrases
from forewatch.sample.stage import Stage, days
from forewatch.sample.telling import Story, told

RULES = ("mail-unanswered", "due-soon")


def stories(stage: Stage) -> Iterator[Scene]:
    dice = stage.dice["questions"]
    true: Sequence[Story] = [_forgotten] * (4 + dice.below(2)) + [_late] * 3
    quiet: Sequence[Story] = [_quick] * 3 + [_bulk] * 2 + [_quoted]
    yield from told(stage, dice, true, quiet, 6, 344)
    for index, stretch in enumerate(stage.stretches(64, 2, 358)):
        yield _ordinary(stage, dice["ordinary", index], stretch)


def _asked(stage: Stage, dice: Dice, friend: Person, day_offset: int, stretch: tuple[int, int]) -> Letter:
    """A question; the days up to ``day_offset`` must be days on which mail comes."""
    day = stage.place(dice["day"], stretch, {"mail": tuple(range(day_offset + 1))})
    slots: dict[str, Value] = {
        "topic": dice["topic"].pick(phrases(friend.speaker.lang)["words"]["topics"]),
        "soon": day + days(dice.between(16, 30)),
    }
    return from_person(stage, dice["ask"], friend, "question", stage.moment(day, dice["time"], (8, 18)), slots)


def _friend(stage: Stage, dice: Dice) -> Person:
    lang = stage.language("questions")
    return dice.pick([friend for friend in stage.family.friends if friend.speaker.lang == lang])


def _forgotten(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    letter = _asked(stage, dice, friend := _friend(stage, dice["who"]), 9, stretch)
    day = stage.day_of(letter.at)
    label = notice(
        name,
        RULES,
        (letter.message_id,),
        (day + days(1), day + days(10)),
        friend.speaker.lang,
        "a question nobody answers",
    )
    return Scene((letter,), labels=(label,))


def _late(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    """Answered after eight days or more."""
    wait = dice.between(8, 11)
    letter = _asked(stage, dice, friend := _friend(stage, dice["who"]), wait + 1, stretch)
    day = stage.day_of(letter.at)
    answered_on = day + days(wait)
    answer = by_owner(stage, dice["answer"], letter, "answer", stage.moment(answered_on, dice["later"], (17, 20)))
    why = "a question that is answered late"
    label = notice(
        name, RULES, (letter.message_id,), (day + days(1), answered_on), friend.speaker.lang, why, answered_on
    )
    return Scene((letter, answer), labels=(label,))


def _answer_soon(stage: Stage, dice: Dice, letter: Letter) -> Letter:
    """Within hours, or the next morning."""
    at = letter.at + timedelta(minutes=dice.between(20, 300))
    if at.hour >= 22 or at.date() != stage.day_of(letter.at):
        at = stage.moment(stage.day_of(letter.at) + days(1), dice["morning"], (7, 9))
    return by_owner(stage, dice["reply"], letter, "answer", at)


def _quick(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    letter = _asked(stage, dice, friend := _friend(stage, dice["who"]), 1, stretch)
    day = stage.day_of(letter.at)
    label = silence(
        name,
        RULES,
        (letter.message_id,),
        (day, day + days(20)),
        friend.speaker.lang,
        "answered on the same day or the next",
    )
    return Scene((letter, _answer_soon(stage, dice["answer"], letter)), labels=(label,))


def _bulk(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    company = stage.company("surveys", dice["trade"].pick(("lodging", "shop", "table")))
    day = stage.place(dice["day"], stretch, {"mail": (0,)})
    letter = newsletter(from_company(stage, dice, company, "bulk_question", stage.moment(day, dice["time"]), {}))
    label = silence(name, RULES, (letter.message_id,), (day, day + days(20)), company.lang, "a question in a bulk mail")
    return Scene((letter,), labels=(label,))


def _quoted(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    """Thanks that quote the question which was answered long ago."""
    asked = _asked(stage, dice, friend := _friend(stage, dice["who"]), 3, stretch)
    answer = _answer_soon(stage, dice["answer"], asked)
    at = stage.moment(stage.day_of(asked.at) + days(2), dice["thanks"])
    thanks = from_person(
        stage,
        dice["thank"],
        friend,
        "chat",
        at,
        {"past": stage.day_of(asked.at)},
        answers=replace(answer, answers=asked),
        quote=True,
    )
    window = (stage.day_of(asked.at), stage.day_of(asked.at) + days(22))
    items = (asked.message_id, thanks.message_id)
    label = silence(name, RULES, items, window, friend.speaker.lang, "the question stands in the quote, answered")
    return Scene((asked, answer, thanks), labels=(label,))


def _ordinary(stage: Stage, dice: Dice, stretch: tuple[int, int]) -> Scene:
    letter = _asked(stage, dice, dice["who"].pick(stage.family.friends), 1, stretch)
    return Scene((letter, _answer_soon(stage, dice["answer"], letter)))
