"""Pending rows: which booked row settles which, and what comes of it."""

from __future__ import annotations

import json
from datetime import date, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extractors.bank.passbook import OPEN_LIMIT, Passbook, Taken
from extractors.bank.pending import settled_by
from extractors.bank.row import Row, Statement
from schemas.errors import CursorExpired
from schemas.money import Money

FIRST = date(2026, 3, 2)


def row(day: int = 0, amount: str = "-45.00", who: str = "Hotel Bellevue", **more: object) -> Row:
    fields = {"account": "DE1", "booked_on": FIRST + timedelta(days=day), "amount": Money.of(amount, "EUR")}
    return Row.model_validate({**fields, "counterparty": who, **more})


def settles(booked: Row, *pending: Row) -> int | None:
    found = settled_by(booked, {str(i): each for i, each in enumerate(pending)})
    return None if found is None else int(found)


@pytest.mark.parametrize(
    "booked",
    [
        row(3),
        row(3, who="HOTEL BELLEVUE 0423 LISBOA"),
        row(3, who="Hotel Bellev"),
        row(-1),
        row(20),
    ],
)
def test_the_same_amount_and_merchant_within_reach_settle(booked: Row) -> None:
    assert settles(booked, row(pending=True)) == 0


@pytest.mark.parametrize(
    "booked",
    [
        row(3, amount="-45.01"),
        row(3, amount="45.00"),
        row(3, who="Hotel Astoria"),
        row(30),
        row(-5),
        row(3, account="DE2"),
        row(3, who=""),
    ],
)
def test_what_does_not_fit_settles_nothing(booked: Row) -> None:
    assert settles(booked, row(pending=True)) is None


def test_a_shared_reference_is_proof_even_with_another_amount() -> None:
    pending = row(pending=True, who="Cafe", end_to_end_id="E2E-77")
    assert settles(row(2, amount="-50.00", who="CAFE UNO", end_to_end_id="E2E-77"), pending) == 0
    same_id = row(2, amount="-50.00", native_id="AUTH-9981")
    assert settles(same_id, row(pending=True, native_id="AUTH-9981")) == 0
    assert settles(row(2, amount="-50.00", end_to_end_id="VISA"), row(pending=True, end_to_end_id="VISA")) is None


def test_the_nearest_of_several_is_settled() -> None:
    assert settles(row(8), row(0), row(7), row(15)) == 1


def test_a_pending_row_without_a_name_goes_by_its_amount_if_it_is_the_only_one() -> None:
    assert settles(row(2), row(who="")) == 0
    assert settles(row(2), row(who=""), row(1, who="")) is None
    assert settles(row(9), row(who="")) is None


def take(book: Passbook, *rows: Row) -> Taken:
    return book.take("giro", [Statement("DE1", "EUR", rows=rows)])


def test_one_booking_settles_one_pending_row() -> None:
    book = Passbook()
    pending = take(book, row(pending=True), row(pending=True))
    first, second = take(book, row(2)), take(book, row(2), row(2))
    assert [len(pending.upserts), len(first.deletes), len(second.deletes)] == [2, 1, 1]
    assert {first.deletes[0].native_id, second.deletes[0].native_id} == {each.native_id for each in pending.upserts}


def test_a_settled_row_that_is_listed_again_stays_settled() -> None:
    book = Passbook()
    take(book, row(pending=True, native_id="AUTH-9981"))
    take(book, row(2, native_id="AUTH-9981"))
    again = take(book, row(pending=True, native_id="AUTH-9981"))
    renamed = take(book, row(pending=True, native_id="AUTH-9981", who="Hotel B."))
    assert (again.upserts, renamed.upserts) == ([], [])


def test_a_booked_row_that_is_described_better_later_still_knows_what_it_settled() -> None:
    book = Passbook()
    (pending,) = take(book, row(pending=True)).upserts
    take(book, row(2, native_id="BOOK-0001"))
    (better,) = take(book, row(2, native_id="BOOK-0001", purpose="Room 12")).upserts
    assert not better.is_new
    assert pending.native_id in better.raw.decode()


def test_a_passbook_survives_json_and_refuses_what_is_not_its_own() -> None:
    book = Passbook()
    take(book, row(pending=True), row(3, who="Shop"))
    again = Passbook.load(book.dump())
    assert again.dump() == book.dump()
    assert len(take(again, row(2)).deletes) == 1
    for stored in (None, {}, {"rows": "", "open": {"k": {}}, "recent": {}}, {"rows": "", "open": [], "recent": {}}):
        with pytest.raises(CursorExpired):
            Passbook.load(stored)


ROWS = st.lists(
    st.builds(
        row,
        day=st.integers(0, 9),
        amount=st.sampled_from(["-45.00", "-7.00"]),
        who=st.sampled_from(["Hotel", "Cafe", ""]),
        purpose=st.sampled_from(["", "a very long purpose " * 9]),
        native_id=st.sampled_from(["", "AUTH-0001", "AUTH-0002"]),
        pending=st.booleans(),
    ),
    max_size=6,
)


@settings(max_examples=80)
@given(files=st.lists(ROWS, max_size=5))
def test_a_cursor_that_was_stored_between_files_leads_to_the_same_records(files: list[list[Row]]) -> None:
    kept, stored = Passbook(), Passbook()
    for rows in files:
        assert take(kept, *rows) == take(stored, *rows)
        stored = Passbook.load(json.loads(json.dumps(stored.dump())))
    assert kept.dump() == stored.dump()


@settings(max_examples=80)
@given(files=st.lists(ROWS, max_size=5))
def test_each_pending_row_goes_once_and_what_replaces_it_stays(files: list[list[Row]]) -> None:
    book = Passbook()
    shown: set[str] = set()
    gone: list[str] = []
    for rows in files:
        taken = take(book, *rows)
        shown |= {each.native_id for each in taken.upserts}
        gone += [each.native_id for each in taken.deletes]
    assert len(gone) == len(set(gone))
    assert set(gone) <= shown


def test_a_passbook_stays_small() -> None:
    book = Passbook()
    for part in range(4):
        amounts = [f"-{part * 200 + n}.00" for n in range(200)]
        take(book, *(row(part * 9, amount, purpose="x" * 500, pending=n % 2 == 0) for n, amount in enumerate(amounts)))
    stored = book.dump()
    assert isinstance(stored, dict)
    assert isinstance(stored["open"], dict)
    assert len(stored["open"]) == OPEN_LIMIT
    assert len(str(stored)) < 300_000
