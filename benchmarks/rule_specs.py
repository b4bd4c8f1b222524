"""The rules of the benchmark, in the language of every contender, and the events that they are tried on.

As the page that set the targets has it: half of the events are of the bank, a third and a bit are mails, the others
meetings; 95 % of the rules ask for a kind, for whom it is with and for a number, the others for a word or a number
alone; an event satisfies about one rule.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

from rules.shorthand import events
from schemas.event import Event
from schemas.model import Json
from schemas.rule import Condition
from streams.codec import encode

ZONE = ZoneInfo("UTC")
BANK, MAIL, CALENDAR = "bank.posted", "mail.received", "calendar.scheduled"
SHARES = {BANK: 50, MAIL: 35, CALENDAR: 15}
_WHO = {BANK: "merchant", MAIL: "party.domain", CALENDAR: "payload.organizer"}
_NUMBER = {BANK: "amount", MAIL: "amount", CALENDAR: "payload.sequence"}


@dataclass(frozen=True, slots=True)
class Spec:
    """One rule: ``who`` and ``above``, or ``word`` alone, or ``above`` alone. ``above`` is a bound of the number of an
    event: of an amount that was paid (without its sign), or of how often a meeting was changed."""

    kind: str
    who: str = ""
    above: int = 0
    word: str = ""

    def condition(self) -> Condition:
        if self.word:
            return Condition(kind=(self.kind,), match={"title": {"words": [self.word]}})
        bound: dict[str, Json] = {"below": -self.above} if self.kind == BANK else {"above": self.above}
        number = _NUMBER[self.kind]
        if not self.who:
            return Condition(kind=(self.kind,), match={number: bound})
        return Condition(kind=(self.kind,), match={_WHO[self.kind]: self.who, number: bound})

    def rest(self, both: str, *, number: str = "{}") -> str:
        """The rule without its kind, as an expression of Python, CEL or rule-engine: they differ in the word for *and*,
        and in numbers."""
        if self.word:
            return f"'{self.word}' in words"
        bound = f"number > {number.format(self.above)}"
        return f"who == '{self.who}' {both} {bound}" if self.who else bound

    def text(self, both: str, *, number: str = "{}") -> str:
        return f"kind == '{self.kind}' {both} {self.rest(both, number=number)}"


def specs(count: int, rng: random.Random) -> list[Spec]:
    """Every count has rules of all sorts."""
    return [_spec(number, count, rng) for number in range(count)]


def _spec(number: int, count: int, rng: random.Random) -> Spec:
    if number % 40 == 0:
        return Spec(BANK, above=500 + rng.randrange(50))
    if number % 40 == 7:
        return Spec(MAIL, word=f"word{number}")
    kind = _kind(rng)
    return Spec(kind, _who(kind, count, rng), rng.randrange(1, 500))


def _kind(rng: random.Random) -> str:
    return rng.choices(list(SHARES), list(SHARES.values()))[0]


def _who(kind: str, count: int, rng: random.Random) -> str:
    """Two rules for each that there is."""
    one = rng.randrange(max(1, count * SHARES[kind] // 200))
    return {BANK: f"merchant-{one}", MAIL: f"sender-{one}.example", CALENDAR: f"host-{one}@office.example"}[kind]


def wire(size: int, count: int, rng: random.Random) -> list[bytes]:
    """As the log holds them. The more rules have a bound alone, the rarer an amount that is above many of them."""
    made: list[Event] = []
    for number in range(size):
        kind = _kind(rng)
        made += events(_SHORT[kind](_who(kind, count, rng), count, rng), number, "owner", ZONE)
    return [encode(event) for event in made]


def _bank(who: str, count: int, rng: random.Random) -> dict[str, Json]:
    amount = rng.randrange(1, 500) if rng.randrange(40 + count) else rng.randrange(500, 560)
    return {"kind": BANK, "amount": f"-{amount}.00 EUR", "title": who, "payload": {"merchant": who}}


def _mail(who: str, count: int, rng: random.Random) -> dict[str, Json]:
    title = f"Your invoice word{rng.randrange(count)} of March"
    return {"kind": MAIL, "amount": f"{rng.randrange(1, 500)}.00 EUR", "title": title, "from": f"billing@{who}"}


def _calendar(who: str, count: int, rng: random.Random) -> dict[str, Json]:
    payload: dict[str, Json] = {"organizer": who, "sequence": rng.randrange(1, 500)}
    return {"kind": CALENDAR, "title": "Weekly meeting", "starts": "1d 10:00", "ends": "1d 11:00", "payload": payload}


_SHORT = {BANK: _bank, MAIL: _mail, CALENDAR: _calendar}


def plain(batch: Sequence[Any]) -> list[dict[str, Any]]:
    """What peers get: a flat dict with the words already cut. Making it is not part of their time."""
    return [
        {
            "kind": event.kind,
            "who": _WHO_OF[event.kind](event),
            "number": _number(event),
            "words": event.title.lower().split(),
        }
        for event in batch
    ]


_WHO_OF = {
    BANK: lambda event: event.payload.merchant,
    MAIL: lambda event: event.parties[0].domain,
    CALENDAR: lambda event: event.payload.organizer,
}


def _number(event: Any) -> float:
    return float(abs(event.amount.amount) if event.amount is not None else event.payload.sequence)
