"""Free trials that turn into paid subscriptions unless they are cancelled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from forewatch.sample import bankdays
from forewatch.sample.cast import Company
from forewatch.sample.dice import Dice
from forewatch.sample.marking import notice, silence
from forewatch.sample.post import from_company, newsletter
from forewatch.sample.scene import Row, Scene
from forewatch.sample.speech import Value
from forewatch.sample.stage import Stage, days
from forewatch.sample.telling import Story, told

RULES = ("trial-ending", "due-soon", "contract-notice")


def stories(stage: Stage) -> Iterator[Scene]:
    dice = stage.dice["trials"]
    true: Sequence[Story] = [_ending] * (2 + dice.below(2)) + [_cancelled] * 2
    quiet: Sequence[Story] = [_offered] * 2 + [_subscribed]
    yield from told(stage, dice, true, quiet, 10, 325)


@dataclass(frozen=True, slots=True)
class Trial:
    company: Company
    number: str
    amount: Decimal
    words: dict[str, Value]

    def until(self, day: date, length: int) -> dict[str, Value]:
        """What a letter of that day can say about a trial of that length."""
        return {**self.words, "end": day + days(length), "days": length}


def _trial(stage: Stage, dice: Dice) -> Trial:
    company = stage.company("trials", "service")
    number = stage.number(dice["number"], "@@-#####")
    amount = stage.amount(dice["price"], 4, 29)
    return Trial(company, number, amount, {"number": number, "amount": amount})


def _ending(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    """Nobody cancels: the charges begin."""
    length = dice.pick((7, 10, 14, 14, 30))
    day = stage.place(dice["day"], stretch, {"mail": (0, length)})
    trial = _trial(stage, dice)
    end = day + days(length)
    words = trial.until(day, length)
    letter = from_company(stage, dice, trial.company, "trial", stage.moment(day, dice["time"]), words)
    label = notice(
        name, RULES, (letter.message_id,), (day, end), trial.company.lang, "a free trial that will cost money"
    )
    return Scene((letter,), _charges(stage, dice, trial, end + days(1)), labels=(label,))


def _charges(stage: Stage, dice: Dice, trial: Trial, first: date) -> tuple[Row, ...]:
    """Every thirty days, by card at bank B."""
    name = trial.company.name
    return tuple(
        Row(
            bank="bank-b",
            booked=bankdays.on_or_after(first + days(30 * index)),
            amount=-trial.amount,
            counterparty=name,
            purpose=f"{name} {trial.number}",
            reference=f"7{dice['e2e', index].digits(14)}",
        )
        for index in range((stage.end - first).days // 30 + 1)
    )


def _cancelled(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    """The owner cancels in the evening before the last day."""
    length = dice.pick((10, 14, 14, 30))
    day = stage.place(dice["day"], stretch, {"mail": (0, length - 1)})
    trial = _trial(stage, dice)
    end = day + days(length)
    words = trial.until(day, length)
    letter = from_company(stage, dice, trial.company, "trial", stage.moment(day, dice["time"]), words)
    over = end - days(1)
    confirmed = from_company(
        stage, dice["confirm"], trial.company, "trial_cancelled", stage.moment(over, dice["later"], (18, 20)), words
    )
    label = notice(
        name, RULES, (letter.message_id,), (day, over), trial.company.lang, "a free trial, cancelled in time", over
    )
    return Scene((letter, confirmed), labels=(label,))


def _offered(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    day = stage.place(dice["day"], stretch, {"mail": (0,)})
    trial = _trial(stage, dice)
    letter = newsletter(
        from_company(stage, dice, trial.company, "trial_quiet", stage.moment(day, dice["time"]), trial.words)
    )
    label = silence(name, RULES, (letter.message_id,), (day, day + days(35)), trial.company.lang, "an advertised trial")
    return Scene((letter,), labels=(label,))


def _subscribed(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    day = stage.place(dice["day"], stretch, {"mail": (0,)})
    trial = _trial(stage, dice)
    letter = from_company(stage, dice, trial.company, "trial_quiet", stage.moment(day, dice["time"]), trial.words)
    label = silence(name, RULES, (letter.message_id,), (day, day + days(35)), trial.company.lang, "no trial that ends")
    return Scene((letter,), labels=(label,))
