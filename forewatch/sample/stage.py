"""Stage: the household in which stories happen; it places them in time and keeps their amounts and numbers apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import pairwise
from zoneinfo import ZoneInfo

from forewatch.sample.cast import Company, Registry
from forewatch.sample.diary import Diary
from forewatch.sample.dice import Dice
from forewatch.sample.outages import Source, outages
from forewatch.sample.scene import Bank, Holding
from forewatch.sample.speech import LANGUAGES, Book, Language
from schemas.clock import at_local, local_day

YEAR = timedelta(days=365)
_TRIES = 400


def days(count: int) -> timedelta:
    return timedelta(days=count)


class Stage:
    """The same arguments give the same stage, and the same calls the same answers."""

    def __init__(self, seed: int, zone: ZoneInfo, start: date, book: Book = "usual") -> None:
        self.dice = Dice(seed)
        self.zone = zone
        self.start = start
        self.end = start + YEAR
        self.last = self.end - days(1)
        self.registry = Registry(self.dice["cast"], book)
        self.family = self.registry.family()
        self.outages = outages(self.dice["outages"], start)
        self.diary = Diary()
        self._grounded: list[tuple[date, date]] = []
        self._amounts: set[Decimal] = set()
        self._numbers: set[str] = set()
        self._claims: dict[Bank, list[tuple[date, date]]] = {}
        self._languages: dict[str, Iterator[Language]] = {}

    def moment(self, day: date, dice: Dice, hours: tuple[int, int] = (7, 20)) -> datetime:
        """Some time of that local day, in the household's zone."""
        wall = time(dice.between(*hours), dice.below(60), dice.below(60))
        return at_local(day, wall, self.zone).astimezone(self.zone)

    def at(self, day: date, hour: int, minute: int = 0) -> datetime:
        return at_local(day, time(hour, minute), self.zone).astimezone(self.zone)

    def day_of(self, at: datetime) -> date:
        """The household's local day of an instant."""
        return local_day(at, self.zone)

    def language(self, topic: str) -> Language:
        """All four languages in turn, in an order of the topic's own."""
        if topic not in self._languages:
            self._languages[topic] = _in_turn(self.dice["language", topic])
        return next(self._languages[topic])

    def company(self, topic: str, trade: str) -> Company:
        return self.registry.company(self.language(topic), trade)

    def amount(self, dice: Dice, low: int, high: int) -> Decimal:
        """Like no other reserved amount, so that a payment can be told from another by it."""
        while (amount := dice.cents(low, high)) in self._amounts:
            pass
        self._amounts.add(amount)
        return amount

    def unreserved(self, amount: Decimal) -> Decimal:
        """The nearest amount above that nobody has reserved."""
        while amount in self._amounts:
            amount += Decimal("0.01")
        return amount

    def number(self, dice: Dice, form: str = "##-####") -> str:
        """A reference number in this form (# a digit, @ a letter), unlike any other."""
        while True:
            text = "".join(
                dice.digits(1) if char == "#" else dice.letters(1, "ABCDEFGHKLMNPRSTUVWX") if char == "@" else char
                for char in form
            )
            if text not in self._numbers:
                self._numbers.add(text)
                return text

    def child(self, dice: Dice) -> str:
        return dice.pick(self.family.children)

    def ground(self, first: date, last: date) -> None:
        """No flight but a story's own lies in these days: a passport that runs out would be about any of them."""
        self._grounded.append((first, last))

    def is_grounded(self, first: date, last: date) -> bool:
        return any(low <= last and first <= high for low, high in self._grounded)

    def stretches(self, count: int, first: int, last: int) -> list[tuple[int, int]]:
        """The days first..last of the year in ``count`` parts, so that stories of a kind do not crowd."""
        edges = [first + (last - first) * index // count for index in range(count + 1)]
        return [(low, max(low, high - 1)) for low, high in pairwise(edges)]

    def place(
        self,
        dice: Dice,
        stretch: tuple[int, int],
        needs: Mapping[Source, Sequence[int]],
        alone: tuple[Bank, int, int] | None = None,
    ) -> date:
        """A first day in the stretch such that no source is out on the days (offsets) on which it must speak.

        ``alone``: an account and the first and last offset that no other story with ``alone`` may share. The stretch
        is widened where nothing in it fits.
        """
        low, high = stretch
        for attempt in range(_TRIES):
            slack = attempt // 20
            day = self.start + days(dice.between(max(1, low - slack), high + slack))
            if self._fits(day, needs) and self._claim(day, alone):
                return day
        raise AssertionError(f"no day in {stretch} fits {needs}")

    def _claim(self, day: date, alone: tuple[Bank, int, int] | None) -> bool:
        if alone is None:
            return True
        bank, first, last = alone
        taken = self._claims.setdefault(bank, [])
        if any(start <= day + days(last) and day + days(first) <= end for start, end in taken):
            return False
        taken.append((day + days(first), day + days(last)))
        return True

    def _fits(self, day: date, needs: Mapping[Source, Sequence[int]]) -> bool:
        return all(
            day + days(offset) < self.end and not self.outages.covers(source, day + days(offset))
            for source, offsets in needs.items()
            for offset in offsets
        )

    def seen_on(self, bank: Holding, booked: date) -> date:
        """The local day on which a statement first shows a row: the next day at bank A, the next Monday at bank B."""
        day = booked + days(7 - booked.weekday() if bank == "bank-b" else 1)
        outage = self.outages.of("bank-b" if bank == "bank-b" else "bank-a")
        return outage.until if outage.covers(day) else day

    def is_seen(self, bank: Holding, booked: date) -> bool:
        """Whether a statement of this year shows it."""
        return self.seen_on(bank, booked) < self.end


def _in_turn(dice: Dice) -> Iterator[Language]:
    while True:
        yield from dice.shuffled(LANGUAGES)
