"""GoCardless' transactions and balances as rows, and whatever else it may send."""

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

from extractors.gocardless.errors import raised, type_of
from extractors.gocardless.requisition import ends
from extractors.gocardless.rows import balance, row
from extractors.gocardless.token import Tokens
from extractors.http import Answer
from extractors.openbanking.errors import AccountUnreadable, PeriodTooLong
from extractors.testing import START
from schemas.errors import AuthError, RateLimited, TransientError
from tests.standins.gocardless import closing, pending, transaction

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
FIELDS = [*sorted(transaction(0)), "currencyExchange", "debtorName", "remittanceInformationUnstructuredArray"]


def test_amounts_are_signed_as_they_come() -> None:
    paid = row(transaction(3), "DE1", pending=False)
    got = row(
        transaction(3, transactionAmount={"amount": "7.00", "currency": "EUR"}, debtorName="Employer"),
        "DE1",
        pending=False,
    )
    assert (paid.amount.amount, paid.counterparty) == (Decimal("-13.50"), "Shop 3")
    assert (got.amount.amount, got.counterparty) == (Decimal("7.00"), "Employer")


def test_the_bank_s_own_id_goes_before_the_one_that_gocardless_makes() -> None:
    assert row(transaction(3), "DE1", pending=False).native_id == "ref-7000003"
    assert row(transaction(3, transactionId=None), "DE1", pending=False).native_id == "internal-7000003"
    assert row(transaction(3, transactionId="NOTPROVIDED"), "DE1", pending=False).native_id == "internal-7000003"


def test_a_day_may_come_as_a_time() -> None:
    given_row = transaction(3, bookingDate=None, valueDate=None, bookingDateTime="2026-02-14T23:30:00+01:00")
    assert row(given_row, "DE1", pending=False).booked_on == date(2026, 2, 14)


def test_the_longer_text_is_the_purpose() -> None:
    lines = {"remittanceInformationUnstructuredArray": ["Invoice 4711", "March"]}
    assert row(transaction(3, **lines), "DE1", pending=False).purpose == "Invoice 4711 March"
    structured = {"remittanceInformationUnstructured": None, "remittanceInformationStructured": "RF18539007547034"}
    assert row(transaction(3, **structured), "DE1", pending=False).purpose == "RF18539007547034"


@pytest.mark.parametrize("shape", [list, lambda items: items[0]])
def test_an_exchange_may_be_one_or_a_list(shape: Any) -> None:
    exchange = shape([{"instructedAmount": {"amount": "15.00", "currency": "USD"}}])
    assert str(row(transaction(3, currencyExchange=exchange), "DE1", pending=False).original) == "-15.00 USD"


def test_a_pending_row_may_have_no_booking_date() -> None:
    found = row(pending(3), "DE1", pending=True)
    assert found.pending
    assert found.booked_on == date(2026, 2, 15)


def test_the_most_telling_balance_is_taken() -> None:
    today = date(2026, 3, 2)
    available = {**closing(today, "90.00"), "balanceType": "interimAvailable"}
    found, is_closing = balance([available, closing(date(2026, 2, 27), "100.00")], "DE1", today)
    assert found is not None
    assert (str(found.amount), found.as_of, is_closing) == ("100.00 EUR", date(2026, 2, 27), True)
    without_day = {"balanceAmount": {"amount": "1.00", "currency": "EUR"}, "balanceType": "expected"}
    found, is_closing = balance([without_day], "DE1", today)
    assert found is not None
    assert (found.as_of, is_closing) == (today, False)


def answer(status: int, body: Any, **headers: str) -> Answer:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Answer(status, httpx.Headers(headers), raw, httpx.URL("https://api.example/"))


@pytest.mark.parametrize(
    ("status", "body", "kind", "words"),
    [
        (401, {"type": "AccessExpiredError", "summary": "Couldn't update"}, AuthError, "expired or was revoked"),
        (401, {"type": "AccountInactiveError", "summary": "Couldn't update"}, AccountUnreadable, "closed"),
        (401, {"summary": "Invalid token", "status_code": 401}, AuthError, "secret id and key"),
        (403, {"type": "AccountAccessForbidden", "summary": "Couldn't update"}, AuthError, "does not let"),
        (403, {"summary": "No valid End User Agreement"}, AuthError, "no consent"),
        (403, {"summary": "IP address access denied"}, AuthError, "not take calls"),
        (404, {"summary": "Account ID 1 not found"}, AccountUnreadable, "does not know"),
        (409, {"summary": "Account suspended", "status_code": 409}, AccountUnreadable, "suspended"),
        (409, {"id": "1", "status": "ERROR", "iban": "x"}, AccountUnreadable, "state"),
        (400, {"summary": "Incorrect date range"}, PeriodTooLong, "that far"),
        (400, {"summary": "Something else"}, TransientError, "Something else"),
        (429, {"type": "RateLimitError"}, RateLimited, "no more reads"),
        (500, {"type": "UnknownRequestError"}, TransientError, "500"),
        (503, {"type": "ConnectionError"}, TransientError, "503"),
        (502, b"<html>", TransientError, "502"),
    ],
)
def test_each_published_error_means_one_thing(status: int, body: Any, kind: type[Exception], words: str) -> None:
    error = raised(answer(status, body), START)
    assert type(error) is kind
    assert words in str(error)


def test_a_limit_says_when_it_ends() -> None:
    told = raised(answer(429, {}, HTTP_X_RATELIMIT_ACCOUNT_SUCCESS_RESET="3600"), START)
    untold = raised(answer(429, {}, HTTP_X_RATELIMIT_ACCOUNT_SUCCESS_RESET="-1875538"), START)
    assert isinstance(told, RateLimited)
    assert isinstance(untold, RateLimited)
    assert told.retry_at == START + timedelta(hours=1)
    assert untold.retry_at == START + timedelta(hours=6)


@settings(max_examples=150, deadline=None)
@given(field=st.sampled_from(FIELDS), value=JSON, is_pending=st.booleans())
def test_whatever_stands_in_a_field_is_a_row_or_a_refusal(field: str, value: Any, is_pending: bool) -> None:
    with suppress(LookupError, TypeError, AttributeError, ValueError):
        assert row(transaction(1, **{field: value}), "DE1", pending=is_pending).account == "DE1"


@settings(max_examples=100, deadline=None)
@given(item=JSON, body=st.binary(max_size=60), status=st.integers(300, 599))
def test_whatever_is_sent_is_answered(item: Any, body: bytes, status: int) -> None:
    balance([item, [item]], "DE1", date(2026, 3, 2))
    assert isinstance(type_of(answer(status, body)), str)
    assert isinstance(raised(answer(status, body), START), Exception)
    with suppress(LookupError, TypeError, AttributeError, ValueError):
        row(item, "DE1", pending=False)
    given_object = item if isinstance(item, dict) else {"accepted": item, "access_valid_for_days": item, "access": item}
    ends(given_object)
    with suppress(TransientError):
        Tokens.of(given_object, START)
