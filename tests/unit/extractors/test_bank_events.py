"""What bank rows become as events."""

from __future__ import annotations

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest

from extractors.bank.events import normalise
from extractors.bank.row import Balance, Row
from extractors.connector import Context
from schemas.errors import PoisonError
from schemas.event import Event
from schemas.fact import InvoiceFact
from schemas.money import Money
from schemas.payloads import BalancePayload, BankPayload
from schemas.record import Record

NOW = datetime(2026, 4, 1, tzinfo=UTC)


def record(raw: bytes, **more: object) -> Record:
    known = {"id": "r", "account": "giro", "owner": "nora", "source": "bankfile", "native_id": "k1", "version": "v1"}
    return Record.model_validate({**known, "fetched_at": NOW, "raw": raw, **more})


def event(item: Row | Balance, zone: str = "Europe/Berlin") -> Event:
    context = Context("nora", "giro", ZoneInfo(zone), NOW)
    (found,) = normalise(record(item.model_dump_json().encode()), context)
    return found


def row(**more: object) -> Row:
    fields = {"booked_on": date(2026, 3, 29), "amount": Money.of("-45.00", "EUR"), "counterparty": "Café Uno 0423 Köln"}
    return Row.model_validate({**fields, **more})


def test_an_outflow_is_negative_and_its_other_side_is_the_payee() -> None:
    found = event(row(counterparty_iban="DE00111122223333444455", purpose="Latte"))
    assert (found.kind, str(found.amount), found.title, found.text) == (
        "bank.posted", "-45.00 EUR", "Café Uno 0423 Köln", "Latte",
    )  # fmt: skip
    (party,) = found.parties
    assert (party.role, party.address) == ("payee", "DE00111122223333444455")
    assert isinstance(found.payload, BankPayload)
    assert found.payload.merchant == "cafe-uno"
    assert (found.subject, found.matter, found.trust) == ("k1", "bank:k1", "service")


def test_an_inflow_has_a_payer() -> None:
    assert [party.role for party in event(row(amount=Money.of("10", "EUR"))).parties] == ["payer"]


@pytest.mark.parametrize(
    ("zone", "instant"),
    [
        ("Europe/Berlin", "2026-03-28T23:00:00+00:00"),
        ("America/Los_Angeles", "2026-03-29T07:00:00+00:00"),
        ("Asia/Kolkata", "2026-03-28T18:30:00+00:00"),
        ("Australia/Lord_Howe", "2026-03-28T13:00:00+00:00"),
    ],
)
def test_a_booking_occurs_at_the_start_of_its_day_where_the_owner_is(zone: str, instant: str) -> None:
    assert event(row(), zone).occurred_at.isoformat() == instant


def test_a_pending_row_is_not_booked_yet() -> None:
    found = event(row(pending=True))
    assert isinstance(found.payload, BankPayload)
    assert (found.kind, found.payload.booked_on, found.payload.pending) == ("bank.pending", None, True)


def test_the_purpose_stands_in_for_a_missing_name() -> None:
    found = event(row(counterparty="", purpose="Rent March"))
    assert isinstance(found.payload, BankPayload)
    assert (found.title, found.parties, found.payload.merchant) == ("Rent March", (), "rent-march")


def test_an_invoice_number_in_the_purpose_is_a_fact_with_its_place() -> None:
    (fact,) = event(row(purpose="Rechnung Nr. RE-2026-0412 vielen Dank")).facts
    assert isinstance(fact, InvoiceFact)
    assert fact.number == "RE-2026-0412"
    assert fact.span is not None
    assert (fact.span.part, fact.origin) == ("purpose", "text")


def test_dates_in_a_purpose_make_no_deadline() -> None:
    assert event(row(purpose="faellig am 15.04.2026, payable by 15 April 2026: 99,00 EUR")).facts == ()


def test_a_balance_tells_what_the_account_holds() -> None:
    found = event(
        Balance(
            account="DE1",
            as_of=date(2026, 3, 5),
            amount=Money.of("90", "EUR"),
            opening=Money.of("100", "EUR"),
            consistent=True,
        )
    )
    assert isinstance(found.payload, BalancePayload)
    assert (found.kind, str(found.amount), found.payload.consistent) == ("bank.balance", "90.00 EUR", True)
    assert found.matter is None


@pytest.mark.parametrize(
    ("raw", "more"),
    [
        (b"", {}),
        (b"{}", {}),
        (b'{"type":"row"}', {}),
        (b"[1]", {}),
        (row().model_dump_json().replace("2026-03-29", "0001-01-01").encode(), {}),
        (b"", {"op": "delete"}),
        (b"", {"op": "delete", "meta": {"row": {"type": "balance"}}}),
    ],
)
def test_a_record_without_a_row_is_poison(raw: bytes, more: dict[str, object]) -> None:
    with pytest.raises(PoisonError):
        normalise(record(raw, **more), Context("nora", "giro", ZoneInfo("UTC"), NOW))
