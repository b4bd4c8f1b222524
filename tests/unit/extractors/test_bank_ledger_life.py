"""Lives of movements as banks tell them, in any order and manner: in the end each real one is there exactly once."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extractors.bank.ledger import Ledger
from extractors.bank.listing import Listed, Listing
from extractors.bank.naming import Ids
from extractors.bank.row import Row
from schemas.money import Money

FIRST = date(2026, 3, 2)
DAYS = 24
Style = Literal["stable", "changing", "random", "blank", "positional"]


@dataclass(frozen=True)
class Movement:
    """Pending from ``day`` for ``waits`` days (0: booked at once), then booked, or gone if it was ``declined``."""

    number: int
    day: int
    waits: int
    amount: str
    who: str
    declined: bool

    def is_pending(self, today: int) -> bool:
        return today < self.day + self.waits

    def is_there(self, today: int) -> bool:
        return self.day <= today and (not self.declined or self.is_pending(today))

    def row(self, today: int, style: Style, place: int) -> Row:
        pending = self.is_pending(today)
        day = FIRST + timedelta(days=self.day if pending else self.day + self.waits)
        native_id = {
            "stable": f"TX-1{self.number:04}",
            "changing": f"{'PEND' if pending else 'POST'}-1{self.number:04}",
            "random": f"R-1{self.number:04}-{today:04}",
            "blank": "",
            "positional": f"{day:%Y%m%d}.{place}",
        }[style]
        who = self.who if pending else f"{self.who.upper()} 0423 LISBOA"
        amount = Money.of(self.amount, "EUR")
        return Row(account="DE1", booked_on=day, amount=amount, counterparty=who, native_id=native_id, pending=pending)


@dataclass(frozen=True)
class Poll:
    """``back``: how many days the answer covers. ``lost``: the answer lacks every row whose number it divides."""

    today: int
    back: int
    lost: int
    seed: int
    cut: int


class Account:
    def __init__(self, ids: Ids) -> None:
        self.ids = ids
        self.stored: Any = None
        self.rows: dict[str, Row] = {}
        self.matters: set[str] = set()
        self.versions: Counter[tuple[str, str]] = Counter()

    def take(self, answer: Listing, cut: int = 0) -> int:
        """``cut``: the poll dies after so many parts, and what it told by then stays told."""
        ledger = Ledger.load(json.loads(json.dumps(self.stored)), self.ids)
        changes = 0
        for part, told in enumerate(ledger.take("giro", answer, 1), 1):
            for upsert in told.upserts:
                row = Row.model_validate_json(upsert.raw)
                self.rows[upsert.native_id] = row
                self.matters.add(row.replaces or upsert.native_id)
                self.versions[upsert.native_id, upsert.version] += 1
            for delete in told.deletes:
                del self.rows[delete.native_id]
                self.versions[delete.native_id, delete.version] += 1
            changes += 1
            self.stored = ledger.dump()
            if part == cut:
                return changes
        self.stored = ledger.dump()
        return changes


def answer_of(movements: Sequence[Movement], poll: Poll, style: Style) -> Listing:
    rows = [m.row(poll.today, style, m.number % 7) for m in movements if m.is_there(poll.today)]
    since = FIRST + timedelta(days=poll.today - poll.back)
    listed = [row for row in rows if row.booked_on >= since]
    if poll.lost > 1:
        listed = [row for i, row in enumerate(listed) if i % poll.lost]
    random.Random(poll.seed).shuffle(listed)
    today = FIRST + timedelta(days=poll.today)
    return Listing("DE1", today, [Listed(row) for row in listed], since=since, is_whole=poll.lost < 2)


def movements(*, is_distinct: bool) -> st.SearchStrategy[list[Movement]]:
    def made(parts: list[tuple[int, int, int, int, bool]]) -> list[Movement]:
        return [
            Movement(
                number,
                day,
                waits,
                f"-{number * 7 + 3}.00" if is_distinct else f"-{amount}.00",
                ("Hotel Bellevue", "Cafe Uno")[who],
                declined and waits > 0,
            )
            for number, (day, waits, amount, who, declined) in enumerate(parts)
        ]

    part = st.tuples(
        st.integers(0, DAYS - 2),
        st.integers(0, 6),
        st.sampled_from([5, 9]),
        st.integers(0, 1),
        st.sampled_from([False, False, False, True]),
    )
    return st.lists(part, min_size=1, max_size=8).map(made)


POLLS = st.lists(
    st.builds(
        Poll,
        today=st.integers(0, DAYS - 1),
        back=st.integers(3, DAYS),
        lost=st.sampled_from([0, 0, 0, 2, 3]),
        seed=st.integers(0, 99),
        cut=st.sampled_from([0, 0, 1, 2]),
    ),
    max_size=10,
).map(lambda polls: sorted(polls, key=lambda poll: poll.today))

WAYS: list[tuple[Ids, Style]] = [
    ("unique", "stable"),
    ("unique", "changing"),
    ("hint", "stable"),
    ("hint", "changing"),
    ("hint", "random"),
    ("hint", "blank"),
    ("hint", "positional"),
]
LAST = Poll(DAYS, DAYS + 30, 0, 0, 0)


def lived(movements: Sequence[Movement], polls: Sequence[Poll], ids: Ids, style: Style) -> Account:
    account = Account(ids)
    for poll in polls:
        account.take(answer_of(movements, poll, style), poll.cut)
    account.take(answer_of(movements, LAST, style))
    assert account.take(answer_of(movements, LAST, style)) == 0
    return account


def held(rows: Sequence[Row]) -> Counter[tuple[str, str, str]]:
    return Counter((str(row.amount), row.counterparty, row.booked_on.isoformat()) for row in rows)


@pytest.mark.parametrize(("ids", "style"), WAYS)
@settings(max_examples=40, deadline=None)
@given(movements=movements(is_distinct=False), polls=POLLS)
def test_in_the_end_each_movement_is_there_once(
    ids: Ids, style: Style, movements: list[Movement], polls: list[Poll]
) -> None:
    account = lived(movements, polls, ids, style)
    truth = [m.row(DAYS, style, m.number % 7) for m in movements if m.is_there(DAYS)]
    assert held(list(account.rows.values())) == held(truth)
    assert max(account.versions.values(), default=1) == 1


@pytest.mark.parametrize(("ids", "style"), WAYS)
@settings(max_examples=40, deadline=None)
@given(movements=movements(is_distinct=True), polls=POLLS)
def test_each_movement_has_one_history(ids: Ids, style: Style, movements: list[Movement], polls: list[Poll]) -> None:
    """One matter for each movement that was ever told: the booking goes on with what the pending row began."""
    account = lived(movements, polls, ids, style)
    told = {m.number for m in movements if m.is_there(DAYS)}
    told |= {m.number for m in movements for poll in polls if m.is_there(poll.today)}
    assert len(account.matters) <= len(told)
    assert len(account.rows) == sum(m.is_there(DAYS) for m in movements)


@settings(max_examples=50, deadline=None)
@given(movements=movements(is_distinct=False), data=st.data())
def test_changes_that_are_told_by_links_may_come_in_any_order(movements: list[Movement], data: st.DataObject) -> None:
    """As Plaid tells them: a booking names its pending row, which is removed before, with or after it."""
    account = Account("unique")
    told: list[tuple[int, Listed | str]] = []
    for m in movements:
        if m.waits:
            told.append((m.day, Listed(m.row(m.day, "changing", 0))))
            told.append((m.day + m.waits, f"PEND-1{m.number:04}"))
        if not m.declined:
            link = f"PEND-1{m.number:04}" if m.waits else ""
            told.append((m.day + m.waits, Listed(m.row(m.day + m.waits, "changing", 0), link)))
    told = data.draw(st.permutations(told).map(lambda each: sorted(each, key=lambda item: item[0])))
    while told:
        size = data.draw(st.integers(1, 5))
        part, told = [each for _, each in told[:size]], told[size:]
        rows = [each for each in part if isinstance(each, Listed)]
        removed = [each for each in part if isinstance(each, str)]
        rows = [each for each in rows if each.row.native_id not in removed]
        account.take(Listing("DE1", FIRST, rows, removed))
    truth = [m.row(m.day + m.waits, "changing", 0) for m in movements if not m.declined]
    assert held(list(account.rows.values())) == held(truth)
    assert len(account.matters) <= len(movements)
