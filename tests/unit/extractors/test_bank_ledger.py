"""The ledger: each movement that a bank's API gives is told once, whatever the API does with ids and answers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date, timedelta

import pytest

from extractors.bank.archive import LIMIT
from extractors.bank.ledger import KEPT_BYTES, Ledger, Told
from extractors.bank.listing import Listed, Listing
from extractors.bank.naming import Ids
from extractors.bank.row import Balance, Row
from schemas.errors import CursorExpired
from schemas.money import Money

FIRST = date(2026, 3, 2)
SINCE = FIRST - timedelta(days=30)


def row(day: int = 0, amount: str = "-45.00", who: str = "Hotel Bellevue", native_id: str = "", **more: object) -> Row:
    fields = {"account": "DE1", "booked_on": FIRST + timedelta(days=day), "amount": Money.of(amount, "EUR")}
    return Row.model_validate({**fields, "counterparty": who, "native_id": native_id, **more})


def pending(day: int = 0, amount: str = "-45.00", who: str = "Hotel Bellevue", native_id: str = "") -> Row:
    return row(day, amount, who, native_id, pending=True)


def listing(*rows: Row | Listed, **more: object) -> Listing:
    listed = [each if isinstance(each, Listed) else Listed(each) for each in rows]
    return Listing(**{"account": "DE1", "on": FIRST + timedelta(days=14), "rows": listed, "since": SINCE, **more})


def changes(*rows: Row | Listed, removed: Sequence[str] = ()) -> Listing:
    return listing(*rows, since=None, removed=removed)


class Account:
    """A ledger that is stored and read between any two answers, and what it told so far, folded."""

    def __init__(self, ids: Ids = "hint") -> None:
        self.ids: Ids = ids
        self.stored: object = None
        self.rows: dict[str, Row] = {}
        self.records: list[tuple[str, str]] = []
        self.seen: set[str] = set()

    def take(self, answer: Listing, size: int = 2) -> Told:
        ledger = Ledger.load(json.loads(json.dumps(self.stored)), self.ids)
        total = Told()
        for told in ledger.take("giro", answer, size):
            self._keep(told)
            total.upserts += told.upserts
            total.deletes += told.deletes
            total.warnings += told.warnings
            self.stored = ledger.dump()
        self.stored = ledger.dump()
        return total

    def _keep(self, told: Told) -> None:
        self.records += [(each.native_id, each.version) for each in (*told.upserts, *told.deletes)]
        for upsert in told.upserts:
            if not upsert.native_id.startswith("balance:"):
                assert upsert.is_new == (upsert.native_id not in self.seen)
                self.seen.add(upsert.native_id)
                self.rows[upsert.native_id] = Row.model_validate_json(upsert.raw)
        for delete in told.deletes:
            del self.rows[delete.native_id]

    @property
    def said(self) -> list[tuple[str, str, bool]]:
        return sorted((str(each.amount), each.counterparty, each.pending) for each in self.rows.values())


IDS = pytest.mark.parametrize("ids", ["hint", "unique"])


@IDS
def test_an_answer_that_comes_again_tells_nothing(ids: Ids) -> None:
    account = Account(ids)
    answer = listing(row(0, native_id="TX-1001"), row(1, "-7.00"), row(1, "-7.00"), pending(2))
    assert len(account.take(answer).upserts) == 4
    assert not account.take(answer)


@IDS
def test_two_equal_purchases_are_two_and_a_third_is_one_more(ids: Ids) -> None:
    account = Account(ids)
    account.take(listing(row(), row()))
    assert len(account.take(listing(row(), row(), row())).upserts) == 1
    assert len(account.rows) == 3


@IDS
def test_a_pending_row_that_is_booked_goes_and_the_booked_one_names_it(ids: Ids) -> None:
    account = Account(ids)
    (first,) = account.take(listing(pending(native_id="PEND-100"))).upserts
    told = account.take(listing(row(3, native_id="POST-200")))
    (booked,) = told.upserts
    (gone,) = told.deletes
    assert gone.native_id == first.native_id
    assert gone.meta["settled_by"] == booked.native_id
    assert account.rows[booked.native_id].replaces == first.native_id


@IDS
def test_the_banks_own_link_settles_even_with_another_amount_and_name(ids: Ids) -> None:
    account = Account(ids)
    (first,) = account.take(changes(pending(native_id="PEND-100"))).upserts
    linked = Listed(row(3, "-52.00", "HBV 0423", "POST-200"), settles="PEND-100")
    told = account.take(changes(linked, removed=["PEND-100"]))
    assert [each.native_id for each in told.deletes] == [first.native_id]
    assert account.said == [("-52.00 EUR", "HBV 0423", False)]
    assert not account.take(changes(linked))


def test_a_linked_pending_row_that_comes_after_its_booking_is_passed_over() -> None:
    account = Account("unique")
    account.take(changes(Listed(row(3, native_id="POST-200"), settles="PEND-100")))
    assert not account.take(changes(pending(native_id="PEND-100")))


@IDS
def test_a_pending_row_that_vanishes_is_removed_at_once(ids: Ids) -> None:
    account = Account(ids)
    account.take(listing(row(), pending(2, "-9.00", "Declined Ltd", "PEND-100")))
    assert len(account.take(listing(row())).deletes) == 1
    assert account.said == [("-45.00 EUR", "Hotel Bellevue", False)]


@IDS
def test_a_pending_row_that_vanishes_and_is_booked_later_is_named_by_its_booking(ids: Ids) -> None:
    account = Account(ids)
    (first,) = account.take(listing(pending(native_id="PEND-100"), row(1, "-1.00", "Cafe"))).upserts[:1]
    account.take(listing(row(1, "-1.00", "Cafe")))
    told = account.take(listing(row(1, "-1.00", "Cafe"), row(4, native_id="POST-200")))
    assert not told.deletes
    assert account.rows[told.upserts[0].native_id].replaces == first.native_id


@IDS
def test_a_pending_row_that_is_listed_beside_its_booking_goes_later_and_the_booking_is_not_told_again(ids: Ids) -> None:
    account = Account(ids)
    account.take(listing(pending(native_id="PEND-100")))
    assert len(account.take(listing(pending(native_id="PEND-100"), row(2, native_id="POST-200"))).upserts) == 1
    told = account.take(listing(row(2, native_id="POST-200")))
    assert not told.upserts
    assert len(told.deletes) == 1
    assert account.said == [("-45.00 EUR", "Hotel Bellevue", False)]


@IDS
def test_a_merge_that_turns_out_wrong_is_taken_back(ids: Ids) -> None:
    account = Account(ids)
    (first,) = account.take(listing(pending(native_id="PEND-100"))).upserts
    (booked,) = account.take(listing(row(2, native_id="POST-200"))).upserts
    told = account.take(listing(pending(native_id="PEND-100"), row(2, native_id="POST-200")))
    assert {each.native_id for each in told.upserts} == {first.native_id, booked.native_id}
    assert not told.deletes
    assert account.rows[booked.native_id].replaces is None
    assert account.rows[first.native_id].pending
    assert len(set(account.records)) == len(account.records)
    (last,) = account.take(listing(row(2, native_id="POST-200"), row(3, native_id="POST-300"))).upserts
    assert account.rows[last.native_id].replaces == first.native_id
    assert account.said == [("-45.00 EUR", "Hotel Bellevue", False)] * 2


def test_a_guess_gives_way_to_the_banks_own_link() -> None:
    account = Account("unique")
    (first,) = account.take(changes(pending(native_id="PEND-100"))).upserts
    (guess,) = account.take(changes(row(2, native_id="POST-200"), removed=["PEND-100"])).upserts
    told = account.take(changes(Listed(row(2, native_id="POST-300"), settles="PEND-100")))
    assert not told.deletes
    assert account.rows[guess.native_id].replaces is None
    named = [key for key, each in account.rows.items() if each.replaces == first.native_id]
    assert named == [each.native_id for each in told.upserts if each.is_new]


@IDS
def test_a_row_that_is_issued_anew_is_not_told_again(ids: Ids) -> None:
    account = Account(ids)
    account.take(listing(row(0, native_id="OLD-1001"), row(1, "-7.00", "Cafe", "OLD-1002")))
    assert not account.take(listing(row(0, native_id="NEW-2001"), row(1, "-7.00", "Cafe", "NEW-2002")))
    assert not account.take(listing(row(0, native_id=""), row(1, "-7.00", "Cafe", "2026-03-03.1")))


@IDS
def test_a_row_that_is_issued_anew_in_other_words_is_a_new_version(ids: Ids) -> None:
    account = Account(ids)
    (first,) = account.take(listing(row(0, native_id="OLD-1001"))).upserts
    (again,) = account.take(listing(row(1, who="HOTEL BELLEVUE 0423 LISBOA", native_id="NEW-2001"))).upserts
    assert (again.native_id, again.is_new) == (first.native_id, False)
    assert len(account.rows) == 1


@IDS
def test_a_booked_row_must_be_missing_on_two_days(ids: Ids) -> None:
    account = Account(ids)
    rows = [row(), row(1, "-7.00", "Cafe")]
    days = [FIRST + timedelta(days=14 + day) for day in range(3)]
    account.take(listing(*rows))
    assert not account.take(listing(row(), on=days[0]))
    assert not account.take(listing(row(), on=days[0]))
    assert not account.take(listing(*rows, on=days[1]))
    assert not account.take(listing(row(), on=days[1]))
    assert len(account.take(listing(row(), on=days[2])).deletes) == 1
    (back,) = account.take(listing(*rows, on=days[2])).upserts
    assert not back.is_new
    assert len(set(account.records)) == len(account.records)


@IDS
def test_an_answer_that_is_empty_or_in_doubt_removes_nothing(ids: Ids) -> None:
    account = Account(ids)
    account.take(listing(row(), pending(1, "-7.00", "Cafe")))
    stored = account.stored
    assert account.take(listing()).warnings
    assert not account.take(listing(row(5, "-1.00", "Kiosk"), is_whole=False)).deletes
    assert account.take(listing()).warnings
    assert account.stored != stored
    assert len(account.rows) == 3


@IDS
def test_what_an_answer_does_not_cover_stays(ids: Ids) -> None:
    account = Account(ids)
    account.take(listing(row(-20), pending(-19, "-7.00", "Cafe")))
    told = account.take(listing(row(1, "-1.00", "Kiosk"), since=FIRST - timedelta(days=10)))
    assert not told.deletes
    assert len(account.rows) == 3


@IDS
def test_an_order_that_is_booked_in_parts_settles_once(ids: Ids) -> None:
    account = Account(ids)
    (order,) = account.take(listing(pending(0, "-50.00", "Bookshop", "PEND-100"))).upserts
    told = account.take(listing(row(1, "-20.00", "Bookshop", "POST-201"), row(2, "-30.00", "Bookshop", "POST-202")))
    assert [each.native_id for each in told.deletes] == [order.native_id]
    assert {each.replaces for each in account.rows.values()} == {order.native_id}


@IDS
def test_payments_that_are_booked_as_one_are_all_settled(ids: Ids) -> None:
    account = Account(ids)
    account.take(listing(pending(0, "-20.00", "Bookshop", "PEND-101"), pending(0, "-30.00", "Bookshop", "PEND-102")))
    told = account.take(listing(row(1, "-50.00", "Bookshop", "POST-200")))
    assert len(told.deletes) == 2
    assert {each.meta["settled_by"] for each in told.deletes} == {told.upserts[0].native_id}


@IDS
def test_a_reversal_is_a_movement_of_its_own(ids: Ids) -> None:
    account = Account(ids)
    account.take(listing(row(0, "-45.00", native_id="POST-200"), pending(3, "-45.00", native_id="PEND-100")))
    told = account.take(
        listing(row(0, "-45.00", native_id="POST-200"), row(4, "45.00", native_id="POST-201", reversal=True))
    )
    assert len(account.rows) == 2
    assert account.rows[told.upserts[0].native_id].replaces is None


def test_an_id_that_is_used_for_a_purchase_and_its_fee_names_two_rows() -> None:
    account = Account("hint")
    answer = listing(row(0, "-45.00", native_id="SHARED-77"), row(0, "-0.79", "Fee", "SHARED-77"))
    assert len(account.take(answer).upserts) == 2
    assert not account.take(answer)


@IDS
def test_a_text_that_goes_back_to_what_it_was_is_told_under_a_version_of_its_own(ids: Ids) -> None:
    account = Account(ids)
    for who in ("Hotel Bellevue", "HOTEL BELLEVUE LISBOA", "Hotel Bellevue"):
        assert len(account.take(listing(row(0, who=who, native_id="POST-200"))).upserts) == 1
    assert len(set(account.records)) == len(account.records) == 3


def test_a_full_listing_after_a_lost_cursor_removes_what_is_gone_at_once() -> None:
    account = Account("unique")
    account.take(changes(row(0, native_id="POST-201"), row(1, "-7.00", "Cafe", "POST-202")))
    told = account.take(listing(row(0, native_id="POST-201"), is_final=True))
    assert not told.upserts
    assert len(told.deletes) == 1


def balance(day: int, amount: str) -> Balance:
    return Balance(account="DE1", as_of=FIRST + timedelta(days=day), amount=Money.of(amount, "EUR"))


def judged(told: Told) -> list[bool | None]:
    found = [each for each in told.upserts if each.native_id.startswith("balance:")]
    return [Balance.model_validate_json(each.raw).consistent for each in found]


def test_a_balance_is_checked_against_the_rows_since_the_last_one() -> None:
    account = Account()
    assert judged(account.take(listing(row(), balance=balance(0, "100.00")))) == [None]
    told = account.take(listing(row(), row(1, "-7.00", "Cafe"), balance=balance(1, "93.00")))
    assert judged(told) == [True]
    assert not told.warnings
    assert not account.take(listing(row(), row(1, "-7.00", "Cafe"), balance=balance(1, "93.00")))
    assert not account.take(listing(row(), row(1, "-7.00", "Cafe"), balance=balance(2, "93.00")))
    told = account.take(listing(row(), row(1, "-7.00", "Cafe"), balance=balance(2, "90.00")))
    assert judged(told) == [False]
    assert "off by -3.00 EUR" in told.warnings[0]
    late = listing(
        row(), row(1, "-7.00", "Cafe"), row(2, "-3.00", "Kiosk"), row(3, "-1.00", "Bus"), balance=balance(3, "89.00")
    )
    assert judged(account.take(late)) == [True]


def test_a_balance_that_counts_pending_rows_in_agrees_too() -> None:
    account = Account()
    account.take(listing(row(), balance=balance(0, "100.00")))
    told = account.take(listing(row(), pending(1, "-7.00", "Cafe"), balance=balance(1, "93.00")))
    assert judged(told) == [True]


def test_what_is_missing_for_good_is_told_three_times_and_then_taken_as_it_is() -> None:
    account = Account()
    account.take(listing(row(), balance=balance(0, "100.00")))
    rows = [row(), *(row(day, "-1.00", "Bus") for day in range(1, 6))]
    answers = [listing(*rows[: day + 1], balance=balance(day, f"{90 - day}.00")) for day in range(1, 6)]
    assert [judged(account.take(answer)) for answer in answers] == [[False], [False], [False], [True], [True]]


@pytest.mark.parametrize("stored", [1, [], {}, {"v": 2}, {"v": 1, "rows": [[1]], "archive": {}, "standings": []}])
def test_a_ledger_refuses_what_is_not_its_own(stored: object) -> None:
    with pytest.raises(CursorExpired):
        Ledger.load(stored)


def test_a_ledger_stays_small_and_knows_old_rows_again() -> None:
    account = Account("unique")
    names = "A merchant with quite a long name " * 3
    old = [row(day % 28, f"-{day}.50", names, f"POST-{day:06}") for day in range(1_500)]
    account.take(changes(*old), size=1_000)
    stored = json.loads(json.dumps(account.stored))
    archived = 1_500 - len(stored["rows"])
    assert archived > 200
    assert len(json.dumps(stored["archive"])) / archived * LIMIT + KEPT_BYTES < 600_000
    assert not account.take(changes(*old[:20]))
    oldest = [each for each in old if each.booked_on == FIRST][:3]
    assert len(account.take(changes(removed=[each.native_id for each in oldest])).deletes) == 3


@IDS
def test_a_poll_that_dies_between_a_booking_and_its_pending_row_still_links_them(ids: Ids) -> None:
    account = Account(ids)
    (first,) = account.take(listing(pending(native_id="PEND-100"))).upserts
    ledger = Ledger.load(account.stored, ids)
    told = next(ledger.take("giro", listing(row(2, native_id="POST-200")), 1))
    (booked,) = told.upserts
    account.stored = ledger.dump()
    account.seen.add(booked.native_id)
    again = account.take(listing(row(2, native_id="POST-200")))
    assert [(each.native_id, each.meta["settled_by"]) for each in again.deletes] == [
        (first.native_id, booked.native_id)
    ]
    assert not again.upserts


def test_a_full_listing_says_nothing_of_what_is_older_but_for_pending_rows() -> None:
    account = Account("unique")
    account.take(changes(row(0, native_id="OLD"), pending(0, "-7.00", "Cafe", "OLD-P"), row(5, "-1.00", "Bus", "NEW")))
    account.take(listing(row(5, "-1.00", "Bus", "NEW"), since=FIRST + timedelta(days=5), is_final=True))
    assert account.said == [("-1.00 EUR", "Bus", False), ("-45.00 EUR", "Hotel Bellevue", False)]


@IDS
def test_a_pending_row_that_no_answer_reaches_any_more_is_given_up_in_the_end(ids: Ids) -> None:
    account = Account(ids)
    account.take(listing(pending(0, native_id="PEND-100")))
    days = [FIRST + timedelta(days=day) for day in (40, 45, 46)]
    bus = row(39, "-1.00", "Bus", "POST-200")
    answers = [listing(bus, on=day, since=day - timedelta(days=14)) for day in days]
    assert [len(account.take(answer).deletes) for answer in answers] == [0, 0, 1]
