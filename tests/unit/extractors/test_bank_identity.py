"""Which row is which: over repeats, overlaps, reused ids and two equal purchases."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import date, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extractors.bank.balances import checked
from extractors.bank.identity import folded, is_trustworthy, keyed
from extractors.bank.known import LIMIT, Known
from extractors.bank.passbook import Passbook
from extractors.bank.row import Row, Statement
from schemas.errors import CursorExpired
from schemas.money import Money

FIRST = date(2026, 3, 2)


def row(day: int = 0, amount: str = "-4.20", who: str = "Cafe", **more: object) -> Row:
    fields = {"account": "DE1", "booked_on": FIRST + timedelta(days=day), "amount": Money.of(amount, "EUR")}
    return Row.model_validate({**fields, "counterparty": who, **more})


def statement(*rows: Row, **more: object) -> Statement:
    return Statement("DE1", "EUR", rows=rows, **more)  # type: ignore[arg-type]  # the tests name real fields


def keys(*statements: Statement) -> list[str]:
    return [each.key for each in keyed("giro", statements)]


def test_two_equal_purchases_are_two_rows() -> None:
    assert len(set(keys(statement(row(), row(), row(1))))) == 3


def test_the_same_statement_twice_in_one_file_is_one() -> None:
    assert keys(statement(row(), row()), statement(row(), row())) == 2 * keys(statement(row(), row()))


def test_a_statement_that_continues_another_adds_its_equal_rows() -> None:
    balances = [Money.of(amount, "EUR") for amount in ("100", "95.80", "91.60")]
    chain = [checked(statement(row(), opening=balances[i], closing=balances[i + 1])) for i in range(2)]
    assert len(set(keys(*chain))) == 2
    assert len(set(keys(chain[0], chain[0]))) == 1


def test_the_order_of_a_file_is_no_matter() -> None:
    rows = [row(day % 3, who=f"Cafe {day % 2}", value_on=FIRST + timedelta(days=day)) for day in range(9)]
    forwards = dict(zip(rows, keys(statement(*rows)), strict=True))
    backwards = dict(zip(reversed(rows), keys(statement(*reversed(rows))), strict=True))
    assert forwards == backwards


@pytest.mark.parametrize(
    "other",
    [
        row(1),
        row(amount="-4.21"),
        row(who="Bar"),
        row(purpose="Latte"),
        row(account="DE2"),
        row(pending=True),
        row(end_to_end_id="E-1"),
        row(native_id="REF-0001"),
    ],
)
def test_rows_that_differ_in_what_makes_a_row_differ_in_key(other: Row) -> None:
    assert set(keys(statement(row()))).isdisjoint(keys(statement(other)))


def test_how_a_bank_prints_a_text_is_no_difference() -> None:
    assert keys(statement(row(who="CAFE  Uno."))) == keys(statement(row(who="Cafe UNO")))
    assert folded("Ｃafé-1") == "café1"


def test_a_trustworthy_id_outlives_a_better_text_and_a_reused_one_is_told_apart_by_amount() -> None:
    one, better = row(native_id="REF-0077"), row(native_id="REF-0077", who="Cafe Uno, Lisboa")
    fee = row(native_id="REF-0077", amount="-0.50")
    assert keys(statement(one)) == keys(statement(better))
    assert keys(statement(one)) != keys(statement(fee))


@pytest.mark.parametrize("native_id", ["", "0", "1", "999", "00001", "NONREF", "NOTPROVIDED", "abc", "-", "0000000000"])
def test_ids_that_name_no_row_are_not_trusted(native_id: str) -> None:
    assert not is_trustworthy(native_id, row())
    assert keys(statement(row(native_id=native_id))) == keys(statement(row()))


@pytest.mark.parametrize("native_id", ["2026-03-02.0", "2026030201", "20260302-12", "260302.3"])
def test_a_place_within_the_day_is_no_id(native_id: str) -> None:
    assert not is_trustworthy(native_id, row())


@pytest.mark.parametrize("native_id", ["REF77X", "202603020000471182", "A1B2C3", "1234567", "2026030112345"])
def test_other_ids_are_trusted(native_id: str) -> None:
    assert is_trustworthy(native_id, row())


ROWS = st.lists(
    st.builds(
        row,
        day=st.integers(0, 5),
        amount=st.sampled_from(["-4.20", "-1.00", "7.00"]),
        who=st.sampled_from(["Cafe", "Bar"]),
        native_id=st.sampled_from(["", "1", "REF-0001"]),
    ),
    max_size=14,
)


def windows(rows: Sequence[Row], rng: random.Random) -> list[Statement]:
    """The statement as overlapping exports of whole days, which together hold every day."""
    days = sorted({each.booked_on for each in rows})
    found = []
    for i, day in enumerate(days):
        until = days[min(len(days) - 1, i + rng.randrange(3))]
        part = [each for each in rows if day <= each.booked_on <= until]
        found.append(statement(*(reversed(part) if rng.random() < 0.5 else part)))
    return found


def taken(parts: Sequence[Statement]) -> set[tuple[str, str]]:
    book = Passbook()
    found: list[tuple[str, str]] = []
    for part in parts:
        found += [(each.native_id, each.version) for each in book.take("giro", [part]).upserts]
        book = Passbook.load(book.dump())
    assert len(found) == len(set(found)), "a row was handed out twice"
    return set(found)


@settings(max_examples=60)
@given(rows=ROWS, seed=st.integers(0, 10_000))
def test_overlapping_parts_in_any_order_give_what_the_whole_gives(rows: list[Row], seed: int) -> None:
    rng = random.Random(seed)
    parts = windows(rows, rng)
    rng.shuffle(parts)
    whole = taken([statement(*rows)])
    assert taken(parts) == whole == taken([*parts, statement(*rows), *parts])
    assert len(whole) == len(rows)


@settings(max_examples=60)
@given(rows=ROWS)
def test_the_rows_handed_out_add_up_to_the_balances(rows: list[Row]) -> None:
    opening = Money.of("100.00", "EUR")
    closing = sum((each.amount for each in rows), opening)
    whole = checked(statement(*rows, opening=opening, closing=closing, closing_on=FIRST))
    assert whole.consistent is True
    assert whole.balance is not None
    assert whole.balance.amount == closing
    if rows:
        short = checked(statement(*rows[1:], opening=opening, closing=closing, closing_on=FIRST))
        assert short.consistent is False


def test_known_things_survive_their_text_form_and_the_oldest_are_forgotten_first() -> None:
    known = Known()
    for number in range(LIMIT + 10):
        known.add(f"row {number}", "1")
    again = Known.load(known.dump())
    assert len(again) == LIMIT
    assert [again.status(f"row {n}", v) for n, v in ((9, "1"), (10, "1"), (LIMIT, "2"))] == ["new", "same", "changed"]
    assert len(known.dump()) < 600_000


@pytest.mark.parametrize("text", ["?", "AAAA", "é"])
def test_a_damaged_list_of_known_things_asks_for_a_full_listing(text: str) -> None:
    with pytest.raises(CursorExpired):
        Known.load(text)
