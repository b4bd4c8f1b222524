"""Ledger: what a window rule remembers of one key; small JSON in the data of the key's case."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from functools import lru_cache

import msgspec

from rules.case import Case
from schemas.event import Trust
from schemas.trigger import Evidence

LEDGER = "ledger"
"""Where the data of a case has it."""
MOST = 100
"""Things that are remembered one by one; of more, aligned windows keep the sum and other windows say nothing."""
MOST_FOLDED = 30
MOST_CASES = 40


number = lru_cache(maxsize=16_384)(Decimal)
"""From a text to the number: the same things are added up again with each event."""


class Item(msgspec.Struct, frozen=True, array_like=True, order=True):
    """One thing that counts: the newest version of a subject. ``value`` is a decimal number, ``tag`` what is counted
    once however often it comes."""

    at: datetime
    subject: str
    event: str
    value: str
    kind: str
    title: str
    account: str
    trust: Trust
    tag: str = ""

    def evidence(self) -> Evidence:
        return Evidence(
            event=self.event,
            account=self.account,
            kind=self.kind,
            title=self.title,
            occurred_at=self.at,
            trust=self.trust,
        )


class Folded(msgspec.Struct, array_like=True):
    """What an aligned window held of things that are no longer remembered one by one."""

    start: datetime
    count: int
    total: str


class Ledger(msgspec.Struct):
    """``since``: when the key was first seen; ``closed``: windows that end by then were judged, or could have been.

    ``first``: the start of the earliest aligned window. ``cut``: when the newest thing that was dropped occurred.
    ``said``: the keys of the cases of its windows. ``late``: we were stopped, sources are read before windows close.
    """

    unit: str
    since: datetime
    closed: datetime
    first: datetime | None = None
    cut: datetime | None = None
    late: bool = False
    items: list[Item] = []
    folded: list[Folded] = []
    said: list[str] = []

    @classmethod
    def of(cls, case: Case) -> Ledger:
        """Whoever changes it keeps it again: it is the case's own, and became JSON only in the state."""
        kept = case.data[LEDGER]
        return kept if isinstance(kept, cls) else msgspec.convert(kept, cls)

    def keep_in(self, case: Case) -> None:
        """``others``: the subjects by which the case is found when one of them changes."""
        case.data = {LEDGER: self, "others": [item.subject for item in self.items]}

    def has(self, subject: str) -> bool:
        return any(item.subject == subject for item in self.items)

    def put(self, item: Item) -> None:
        """In place of an earlier version of the same thing."""
        self.remove(item.subject)
        insort(self.items, item)

    def remove(self, subject: str) -> None:
        self.items = [item for item in self.items if item.subject != subject]

    def fold(self, start: datetime, item: Item) -> None:
        """Only the sum of the window that begins at ``start`` remembers the thing from now on."""
        self.items.remove(item)
        for folded in self.folded:
            if folded.start == start:
                folded.count, folded.total = folded.count + 1, str(Decimal(folded.total) + Decimal(item.value))
                return
        self.folded.append(Folded(start, 1, item.value))
        self.folded = sorted(self.folded, key=lambda folded: folded.start)[-MOST_FOLDED:]

    def drop(self, item: Item) -> None:
        self.items.remove(item)
        self.cut = item.at if self.cut is None else max(self.cut, item.at)

    def surplus(self) -> Iterator[Item]:
        """The oldest things beyond the most that are remembered."""
        yield from list(self.items[: max(len(self.items) - MOST, 0)])
