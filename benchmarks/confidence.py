"""Confidence intervals at 95 %, without any library: of a share, and of a mean over seeds (pure)."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import mean, stdev

_Z = 1.959964
"""Of the normal distribution."""
_T = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
"""Of Student's t for 1 to 30 degrees of freedom; beyond that the normal distribution is near enough."""


def wilson(part: int, whole: int) -> tuple[float, float]:
    """Wilson's score interval of a share: it holds also where all or none is counted. (0, 1) for nothing at all."""
    if not 0 <= part <= whole:
        raise ValueError(f"{part} of {whole} is no share")
    if whole == 0:
        return 0.0, 1.0
    share, z2 = part / whole, _Z**2
    middle = (share + z2 / (2 * whole)) / (1 + z2 / whole)
    reach = _Z * sqrt(share * (1 - share) / whole + z2 / (4 * whole**2)) / (1 + z2 / whole)
    return max(0.0, middle - reach), min(1.0, middle + reach)


def of_mean(values: Sequence[float]) -> tuple[float, float]:
    """Student's interval of the mean of independent values, such as one rate a seed; of one value, that value."""
    if not values:
        raise ValueError("there is no mean of nothing")
    middle = mean(values)
    if len(values) == 1:
        return middle, middle
    free = len(values) - 1
    reach = (_T[free - 1] if free <= len(_T) else _Z) * stdev(values) / sqrt(len(values))
    return middle - reach, middle + reach
