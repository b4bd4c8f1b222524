"""The rules of the benchmark, in the language of every contender, and the events that they are tried on."""

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


@dataclass(frozen=True, slots=True)
class Spec:
    """One rule: 95 % ask for a merchant and an amount, the others for a word or an amount alone."""

    merchant: str
    below: int
    word: str

    def condition(self) -> Condition:
        if self.merchant:
            return Condition(kind=("bank.posted",), match={"merchant": self.merchant}, where=f"amount < {self.below}")
        if self.word:
            return Condition(kind=("bank.posted",), match={"title": {"words": [self.word]}})
        return Condition(kind=("bank.posted",), match={"amount": {"below": self.below}})

    def text(self, both: str, kind: str = "kind", *, number: str = "{}") -> str:
        """As an expression of Python, CEL or rule-engine: they differ in the word for *and*, and in numbers."""
        if self.merchant:
            rest = f"merchant == '{self.merchant}' {both} amount < {number.format(self.below)}"
        elif self.word:
            rest = f"'{self.word}' in words"
        else:
            rest = f"amount < {number.format(self.below)}"
        return f"{kind} == 'bank.posted' {both} {rest}"


def specs(count: int, rng: random.Random) -> list[Spec]:
    """About one match for two events, whatever the count; every count has rules of all three sorts."""
    return [_spec(number, count, rng) for number in range(count)]


def _spec(number: int, count: int, rng: random.Random) -> Spec:
    if number % 40 == 0:
        return Spec("", -500 - rng.randrange(50), "")
    if number % 40 == 7:
        return Spec("", 0, f"word{number}")
    return Spec(f"merchant-{rng.randrange(count)}", -rng.randrange(1, 500), "")


def wire(size: int, count: int, rng: random.Random) -> list[bytes]:
    """As the log holds them. The more rules have a bound alone, the rarer an amount that is below many of them."""
    made: list[Event] = []
    for number in range(size):
        merchant = f"merchant-{rng.randrange(count)}"
        amount = rng.randrange(1, 500) if rng.randrange(40 + count) else rng.randrange(500, 560)
        short: dict[str, Json] = {
            "kind": "bank.posted",
            "amount": f"-{amount}.00 EUR",
            "title": f"{merchant} word{rng.randrange(count)} branch",
            "payload": {"merchant": merchant},
        }
        made += events(short, number, "owner", ZONE)
    return [encode(event) for event in made]


def plain(batch: Sequence[Any]) -> list[dict[str, Any]]:
    """What peers get: a flat dict with the words already cut. Making it is not part of their time."""
    return [
        {
            "kind": event.kind,
            "merchant": event.payload.merchant,
            "amount": float(event.amount.amount),
            "words": event.title.lower().split(),
        }
        for event in batch
    ]
