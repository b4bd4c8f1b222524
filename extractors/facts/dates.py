"""Dates that a text names: absolute, without a year, relative to the day of writing, and named weekdays.

What a date *means* is not decided here: a date is a mention until a trigger word in its clause says more.
"""

from __future__ import annotations

from collections.abc import Iterator

from extractors.facts.context import TextContext
from extractors.facts.date_readers import DateMention
from extractors.facts.date_rules import RULES, Rule
from extractors.facts.order import DayOrder, day_order
from extractors.text import mask_addresses

__all__ = ["DateMention", "find"]


def find(text: str, context: TextContext) -> list[DateMention]:
    """Every date in the text, in order, none overlapping another. Linear in the length of the text."""
    masked = mask_addresses(text)
    order = day_order(masked, context)
    found = [mention for rule in RULES for mention in _apply(rule, masked, context, order)]
    return list(_leftmost(found))


def _apply(rule: Rule, text: str, context: TextContext, order: DayOrder) -> Iterator[DateMention]:
    pattern, read = rule
    for match in pattern.finditer(text):
        try:
            mention = read(match, context, order)
        except (ValueError, OverflowError):  # 31 June, or a year that the calendar does not have
            continue
        if mention is not None and 1970 <= mention.day.year <= 2199:
            yield mention


def _leftmost(found: list[DateMention]) -> Iterator[DateMention]:
    end = 0
    for mention in sorted(found, key=lambda m: (m.start, -m.end, m.weak)):
        if mention.start >= end:
            end = mention.end
            yield mention
