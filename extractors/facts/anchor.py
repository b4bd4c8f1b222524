"""Binding: which date or amount of a clause a trigger word speaks of."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeVar

from extractors.facts.clause import Clause, Whole

M = TypeVar("M", bound=Whole)

REACH = 90
"""Characters between a trigger and what it binds."""


def inside(clause: Clause, mentions: Sequence[M]) -> list[M]:
    return [mention for mention in mentions if clause.covers(mention.start, mention.end)]


def nearest(clause: Clause, trigger: re.Match[str], mentions: Sequence[M]) -> M | None:
    """What the trigger (a match in ``clause.text``) speaks of: the first mention behind it, else the last before it.

    "due on 15 March" and "15 March is the deadline" both bind. ``mentions`` are those of this clause, in order.
    """
    start, end = clause.start + trigger.start(), clause.start + trigger.end()
    behind = [mention for mention in mentions if mention.end > end]  # a trigger may reach into its date
    if behind and behind[0].start - end <= REACH:
        return behind[0]
    before = [mention for mention in mentions if mention.end <= start]
    return before[-1] if before and start - before[-1].end <= REACH else None
