"""Enable Banking's transactions and balances as rows, and whatever else it may send."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extractors.enablebanking.errors import code_of, raised
from extractors.enablebanking.rows import balance, row
from extractors.http import Answer
from extractors.openbanking.errors import AccountUnreadable, PeriodTooLong, PlaceLost
from extractors.testing import START
from schemas.errors import AuthError, RateLimited, TransientError
from tests.standins.enablebanking import closing, pending, transaction
from tests.standins.enablebanking_contract import ERRORS

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
FIELDS = [*sorted(transaction(0)), "exchange_rate", "reference_number", "reference_number_schema", "debtor"]


def test_a_payment_has_its_payee_and_leaves_the_account() -> None:
    found = row(transaction(3), "DE1")
    assert found is not None
    assert (found.amount.amount, found.counterparty, found.purpose) == (
        Decimal("-13.50"),
        "Shop 3",
        "Purchase 3 Thank you",
    )
    assert found.counterparty_iban == "DE02120300000000202051"
    assert found.booking_text == "Kartenzahlung"
    assert not found.pending


def test_an_income_has_its_payer() -> None:
    given_row = transaction(3, credit_debit_indicator="CRDT", creditor=None, debtor={"name": "Employer"})
    found = row(given_row, "DE1")
    assert found is not None
    assert (found.amount.amount, found.counterparty) == (Decimal("13.50"), "Employer")


@pytest.mark.parametrize("amount", ["13.50", "-13.50"])
def test_the_indicator_decides_the_sign(amount: str) -> None:
    found = row(transaction(3, transaction_amount={"currency": "EUR", "amount": amount}), "DE1")
    assert found is not None
    assert found.amount.amount == Decimal("-13.50")


@pytest.mark.parametrize(
    ("status", "booking", "is_pending"),
    [("BOOK", None, False), ("PDNG", "2026-02-14", True), ("HOLD", None, True), ("OTHR", None, True),
     ("OTHR", "2026-02-14", False)],
)  # fmt: skip
def test_what_is_not_booked_is_pending(status: str, booking: str | None, is_pending: bool) -> None:
    found = row(transaction(3, status=status, booking_date=booking), "DE1")
    assert found is not None
    assert found.pending is is_pending


@pytest.mark.parametrize("status", ["CNCL", "RJCT", "SCHD"])
def test_what_moved_no_money_is_no_row(status: str) -> None:
    assert row(transaction(3, status=status), "DE1") is None


def test_a_price_in_another_currency_is_kept_beside_the_amount() -> None:
    rate = {"instructed_amount": {"currency": "USD", "amount": "15.00"}}
    found = row(transaction(3, exchange_rate=rate), "DE1")
    assert found is not None
    assert found.original is not None
    assert str(found.original) == "-15.00 USD"


def test_yen_stay_whole() -> None:
    found = row(transaction(3, transaction_amount={"currency": "JPY", "amount": "5000"}), "JP1")
    assert found is not None
    assert str(found.amount) == "-5000 JPY"


def test_a_reference_that_the_text_lacks_is_added() -> None:
    found = row(transaction(3, reference_number="RF18539007547034", remittance_information=["Rent"]), "DE1")
    assert found is not None
    assert found.purpose == "Rent RF18539007547034"


def test_a_pending_row_is_of_the_day_of_the_purchase() -> None:
    found = row(pending(3, transaction_date="2026-02-10"), "DE1")
    assert found is not None
    assert found.booked_on == date(2026, 2, 10)


def test_the_most_telling_balance_is_taken() -> None:
    today = date(2026, 3, 2)
    available = {**closing(today, "90.00"), "balance_type": "CLAV"}
    interim = {**closing(today, "95.00"), "balance_type": "ITBD"}
    found, is_closing = balance([available, closing(today, "100.00"), interim], "DE1", today)
    assert found is not None
    assert (str(found.amount), is_closing) == ("95.00 EUR", False)
    found, is_closing = balance([available, closing(date(2026, 2, 27), "100.00")], "DE1", today)
    assert found is not None
    assert (str(found.amount), found.as_of, is_closing) == ("100.00 EUR", date(2026, 2, 27), True)
    assert balance([{**available, "balance_amount": {"amount": "x", "currency": "EUR"}}], "DE1", today) == (None, False)


def refusal(status: int, code: str, **headers: str) -> Answer:
    body = json.dumps({"message": "m", "code": status, "error": code}).encode()
    return Answer(status, httpx.Headers(headers), body, httpx.URL("https://api.example/"))


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (401, "EXPIRED_SESSION", AuthError),
        (401, "CLOSED_SESSION", AuthError),
        (401, "REVOKED_SESSION", AuthError),
        (404, "SESSION_DOES_NOT_EXIST", AuthError),
        (401, "UNAUTHORIZED_ACCESS", AuthError),
        (403, "ACCESS_DENIED", AuthError),
        (422, "PSU_HEADER_NOT_PROVIDED", AuthError),
        (400, "ASPSP_PSU_ACTION_REQUIRED", AuthError),
        (404, "ACCOUNT_DOES_NOT_EXIST", AccountUnreadable),
        (400, "ASPSP_ACCOUNT_NOT_ACCESSIBLE", AccountUnreadable),
        (422, "WRONG_TRANSACTIONS_PERIOD", PeriodTooLong),
        (422, "WRONG_CONTINUATION_KEY", PlaceLost),
        (400, "ASPSP_ERROR", TransientError),
        (408, "ASPSP_TIMEOUT", TransientError),
        (422, "WRONG_REQUEST_PARAMETERS", TransientError),
        (429, "ASPSP_RATE_LIMIT_EXCEEDED", RateLimited),
        (500, "", TransientError),
        (401, "", AuthError),
        (302, "", TransientError),
    ],
)
def test_each_published_error_means_one_thing(status: int, code: str, kind: type[Exception]) -> None:
    assert type(raised(refusal(status, code), START)) is kind


def test_an_error_for_a_person_says_what_to_do() -> None:
    for code in ERRORS.split():
        error = raised(refusal(400, code), START)
        assert not isinstance(error, AuthError) or error.remedy, code


def test_a_limit_ends_when_the_source_says_or_after_a_while() -> None:
    told = raised(refusal(429, "ASPSP_RATE_LIMIT_EXCEEDED", **{"Retry-After": "3600"}), START)
    untold = raised(refusal(429, "ASPSP_RATE_LIMIT_EXCEEDED"), START)
    assert isinstance(told, RateLimited)
    assert isinstance(untold, RateLimited)
    assert told.retry_at == START + timedelta(hours=1)
    assert untold.retry_at == START + timedelta(hours=6)


@settings(max_examples=150, deadline=None)
@given(field=st.sampled_from(FIELDS), value=JSON)
def test_whatever_stands_in_a_field_is_a_row_or_a_refusal(field: str, value: Any) -> None:
    with suppress(LookupError, TypeError, AttributeError, ValueError):
        found = row(transaction(1, **{field: value}), "DE1")
        assert found is None or found.account == "DE1"


@settings(max_examples=100, deadline=None)
@given(item=JSON, body=st.binary(max_size=60), status=st.integers(300, 599))
def test_whatever_is_sent_is_answered(item: Any, body: bytes, status: int) -> None:
    balance([item, [item]], "DE1", date(2026, 3, 2))
    with suppress(LookupError, TypeError, AttributeError, ValueError):
        row(item, "DE1")
    answer = Answer(status, httpx.Headers(), body, httpx.URL("https://api.example/"))
    assert isinstance(code_of(answer), str)
    assert isinstance(raised(answer, START), Exception)
