"""Deterministic chance: named streams of randomness that give the same numbers on every machine.

Only ``getrandbits`` and exact decimal arithmetic are used, because floating-point logarithms differ in the last digit
between C libraries, and one cent of difference is another file.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import TypeVar

T = TypeVar("T")

_EXACT = Context(prec=28, rounding=ROUND_HALF_EVEN)
_QUANTILES = (
    "-1.9600", "-1.4395", "-1.1503", "-0.9346", "-0.7554", "-0.5978", "-0.4538", "-0.3186", "-0.1891", "-0.0627",
    "0.0627", "0.1891", "0.3186", "0.4538", "0.5978", "0.7554", "0.9346", "1.1503", "1.4395", "1.9600",
)  # fmt: skip
"""The normal distribution in twenty equal parts, by the middle of each."""


class Dice:
    """One stream of randomness; the same names, the same throws."""

    def __init__(self, seed: int, *names: object) -> None:
        self._seed = seed
        self._names = names
        self._rng = random.Random("\x1f".join(map(str, (seed, *names))))

    def __getitem__(self, name: object) -> Dice:
        """A stream of its own: throwing it does not move this one."""
        return Dice(self._seed, *self._names, name)

    def below(self, n: int) -> int:
        """0 .. n-1, uniform."""
        bits = n.bit_length()
        while (value := self._rng.getrandbits(bits)) >= n:
            pass
        return value

    def between(self, low: int, high: int) -> int:
        """low .. high, both included."""
        return low + self.below(high - low + 1)

    def chance(self, percent: int) -> bool:
        return self.below(100) < percent

    def pick(self, items: Sequence[T]) -> T:
        return items[self.below(len(items))]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        result = list(items)
        for index in range(len(result) - 1, 0, -1):
            other = self.below(index + 1)
            result[index], result[other] = result[other], result[index]
        return result

    def hexes(self, digits: int) -> str:
        return f"{self._rng.getrandbits(4 * digits):0{digits}x}"

    def letters(self, count: int, alphabet: str = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789") -> str:
        return "".join(self.pick(alphabet) for _ in range(count))

    def digits(self, count: int) -> str:
        return f"{self.between(1, 9)}" + "".join(str(self.below(10)) for _ in range(count - 1))

    def cents(self, low: int, high: int) -> Decimal:
        """An amount between two whole units, with cents."""
        return Decimal(self.between(low * 100, high * 100)).scaleb(-2)


def lognormal(median: Decimal, sigma: Decimal, z: Decimal) -> Decimal:
    """``median * e^(sigma z)`` to the cent; Decimal.exp rounds correctly, so it is the same everywhere."""
    factor = _EXACT.exp(_EXACT.multiply(sigma, z))
    return _EXACT.multiply(median, factor).quantize(Decimal("0.01"), context=_EXACT)


def spread(dice: Dice, count: int) -> list[Decimal]:
    """``count`` standard-normal values within two sigma, evenly spread even over short stretches.

    Ten values in a row hold one of each tenth of the distribution, so that six of them already show its width.
    """
    values: list[Decimal] = []
    while len(values) < count:
        for tenth in _balanced(dice):
            values.append(Decimal(_QUANTILES[2 * tenth + dice.below(2)]) + Decimal(dice.between(-5, 5)).scaleb(-2))
    return values[:count]


def _balanced(dice: Dice) -> list[int]:
    """The ten tenths in an order whose every pair lies on both sides of the middle."""
    order: list[int] = []
    for low, high in zip(dice.shuffled(range(5)), dice.shuffled(range(5, 10)), strict=True):
        order += dice.shuffled((low, high))
    return order
