"""Whether 03/04/2026 is the third of April or March the fourth: by proof, then by hints, then by a guess."""

from __future__ import annotations

import re
from typing import NamedTuple

from extractors.facts.context import TextContext
from extractors.facts.language import guess

_SLASHED = re.compile(r"(?<![\d/.-])(\d{1,2})[/-](\d{1,2})[/-](?:\d{4}|\d{2})(?![\d/])")
_DOLLARS = re.compile(r"\bUSD\b|(?<![A-Z])US\$|(?<![A-Z])\$\s?\d")
_OTHER_MONEY = re.compile(r"€|£|\b(?:EUR|GBP|CHF|AUD|NZD)\b")


class DayOrder(NamedTuple):
    day_first: bool
    certainty: float


def day_order(text: str, context: TextContext) -> DayOrder:
    """One order for the whole text. Another date in it that can be read in one way only is proof."""
    if context.day_first is not None:
        return DayOrder(context.day_first, 0.95)
    pairs = [(int(a), int(b)) for a, b in _SLASHED.findall(text)]
    day_first = any(a > 12 >= b for a, b in pairs)
    month_first = any(b > 12 >= a for a, b in pairs)
    if day_first != month_first:
        return DayOrder(day_first, 0.9)
    return _by_hints(text, context)


def _by_hints(text: str, context: TextContext) -> DayOrder:
    language = guess(text)
    if language not in (None, "en"):
        return DayOrder(True, 0.85)
    if _DOLLARS.search(text) and not _OTHER_MONEY.search(text):
        return DayOrder(False, 0.7)
    if _OTHER_MONEY.search(text):
        return DayOrder(True, 0.7)
    return DayOrder(not context.zone.key.startswith(("America/", "US/")), 0.5)
