"""Facts from markup: schema.org objects and invitations, and how they stand against words."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from extractors.facts import TextContext, extract, itip, jsonld
from schemas.fact import AmountFact, DueFact, Fact, InvoiceFact, ReservationFact, ResolutionFact

CONTEXT = TextContext(written_on=date(2026, 3, 2), zone=ZoneInfo("Europe/Berlin"), sender="Acme")
INVOICE: dict[str, Any] = {
    "@context": "http://schema.org",
    "@type": "Invoice",
    "identifier": "INV-1",
    "provider": {"@type": "Organization", "name": "Hillside Water"},
    "paymentDueDate": "2026-03-20",
    "totalPaymentDue": {"@type": "PriceSpecification", "price": "1234.56", "priceCurrency": "EUR"},
    "paymentStatus": "http://schema.org/PaymentDue",
}


def find(*items: dict[str, Any]) -> list[Fact]:
    return jsonld.find(items, CONTEXT)


def test_an_invoice_is_an_invoice_and_its_due_day() -> None:
    invoice, due = find(INVOICE)
    assert isinstance(invoice, InvoiceFact)
    assert (invoice.number, str(invoice.amount), invoice.issuer) == ("INV-1", "1234.56 EUR", "Hillside Water")
    assert isinstance(due, DueFact)
    assert due.on == invoice.due == date(2026, 3, 20)


@pytest.mark.parametrize(
    ("changes", "amount"),
    [
        ({"totalPaymentDue": {"value": 12.5, "currency": "EUR"}}, "12.50 EUR"),
        ({"totalPaymentDue": {"price": "1.234,56", "priceCurrency": "EUR"}}, "1234.56 EUR"),
        ({"totalPaymentDue": {"price": "€ 49,90"}}, "49.90 EUR"),
        ({"totalPaymentDue": [{"price": "7", "priceCurrency": "JPY"}]}, "7 JPY"),
        ({"totalPaymentDue": {"price": "free", "priceCurrency": "EUR"}}, "None"),
        ({"totalPaymentDue": {"price": "1e999", "priceCurrency": "EUR"}}, "None"),
        ({"totalPaymentDue": None}, "None"),
    ],
)
def test_a_price_has_many_shapes(changes: dict[str, Any], amount: str) -> None:
    invoice = find({**INVOICE, **changes})[0]
    assert isinstance(invoice, InvoiceFact)
    assert str(invoice.amount) == amount


@pytest.mark.parametrize(
    ("status", "paid", "autopay"), [("PaymentComplete", True, False), ("PaymentAutomaticallyApplied", False, True)]
)
def test_what_is_paid_or_debited_needs_no_payment(status: str, paid: bool, autopay: bool) -> None:
    found = find({**INVOICE, "paymentStatus": status})
    invoice = found[0]
    assert isinstance(invoice, InvoiceFact)
    assert (invoice.paid, invoice.autopay) == (paid, autopay)
    assert not [fact for fact in found if isinstance(fact, DueFact) and fact.what == "pay"]


FLIGHT: dict[str, Any] = {
    "@type": "http://schema.org/FlightReservation",
    "reservationNumber": "QX7RTZ",
    "reservationStatus": "http://schema.org/ReservationConfirmed",
    "underName": {"@type": "Person", "givenName": "Nora", "familyName": "Brandt"},
    "reservationFor": {
        "@type": "Flight",
        "flightNumber": "412",
        "airline": {"iataCode": "XX", "name": "Example Air"},
        "departureAirport": {"iataCode": "TXL"},
        "departureTime": "2026-03-28T23:10:00+01:00",
        "arrivalAirport": {"iataCode": "LIS"},
        "arrivalTime": "2026-03-29T02:05:00+01:00",
    },
}


def reservation(item: dict[str, Any]) -> ReservationFact:
    (found,) = find(item)
    assert isinstance(found, ReservationFact)
    return found


def test_a_flight_keeps_the_offsets_of_its_source() -> None:
    flight = reservation(FLIGHT)
    assert (flight.category, flight.code, flight.number, flight.person) == ("flight", "QX7RTZ", "XX412", "Nora Brandt")
    assert (flight.place_from, flight.place_to, flight.provider) == ("TXL", "LIS", "Example Air")
    assert flight.starts_at == datetime(2026, 3, 28, 22, 10, tzinfo=UTC)
    assert flight.ends_at == datetime(2026, 3, 29, 1, 5, tzinfo=UTC)


def test_a_carriers_code_is_not_doubled() -> None:
    thing = {**FLIGHT["reservationFor"], "flightNumber": "XX412"}
    assert reservation({**FLIGHT, "reservationFor": thing}).number == "XX412"


def test_a_cancelled_reservation_says_so() -> None:
    assert reservation({**FLIGHT, "reservationStatus": "ReservationCancelled"}).status == "cancelled"


def test_a_time_without_an_offset_is_the_owners_and_less_certain() -> None:
    thing = {**FLIGHT["reservationFor"], "departureTime": "2026-03-28T23:10:00"}
    flight = reservation({**FLIGHT, "reservationFor": thing})
    assert flight.starts_at == datetime(2026, 3, 28, 22, 10, tzinfo=UTC)
    assert flight.certainty < 0.8


@pytest.mark.parametrize(
    ("item", "category", "provider", "place", "starts_at"),
    [
        (
            {"@type": "LodgingReservation", "checkinTime": "2026-04-01T15:00:00+02:00", "checkoutTime": "2026-04-03",
             "reservationFor": {"name": "Hotel Fern", "address": {"addressLocality": "Lisbon"}}},
            "hotel", "Hotel Fern", "Lisbon", "2026-04-01T13:00",
        ),
        (
            {"@type": "TrainReservation", "reservationFor": {"trainNumber": "ICE 5", "departureStation": "Berlin Hbf",
             "arrivalStation": {"name": "Köln"}, "departureTime": "2026-04-01T08:00:00+02:00"}},
            "train", None, "Köln", "2026-04-01T06:00",
        ),
        (
            {"@type": "FoodEstablishmentReservation", "startTime": "2026-04-01T19:30:00+02:00",
             "reservationFor": {"name": "Fern Kitchen", "address": "1 Mill Lane"}},
            "restaurant", "Fern Kitchen", "1 Mill Lane", "2026-04-01T17:30",
        ),
        (
            {"@type": "EventReservation", "reservationFor": {"@type": "Event", "name": "Concert",
             "startDate": "2026-04-01T20:00:00+02:00", "location": {"name": "Town hall"}}},
            "event", "Concert", "Town hall", "2026-04-01T18:00",
        ),
        (
            {"@type": "RentalCarReservation", "pickupTime": "2026-04-01T09:00:00+02:00", "pickupLocation": "Airport",
             "dropoffLocation": {"name": "Station"}, "reservationFor": {"rentalCompany": {"name": "Fern Cars"}}},
            "car", "Fern Cars", "Station", "2026-04-01T07:00",
        ),
        (
            {"@type": "BusReservation", "reservationFor": {"busNumber": "7", "arrivalBusStop": {"name": "Park"},
             "departureTime": "2026-04-01T09:00:00Z"}},
            "bus", None, "Park", "2026-04-01T09:00",
        ),
    ],
)  # fmt: skip
def test_every_kind_of_reservation_is_known(
    item: dict[str, Any], category: str, provider: str | None, place: str, starts_at: str
) -> None:
    found = reservation(item)
    assert (found.category, found.provider, found.place_to) == (category, provider, place)
    assert found.starts_at is not None
    assert found.starts_at.isoformat().startswith(starts_at)


def test_a_package_is_opened_and_every_leg_is_a_reservation() -> None:
    legs = [FLIGHT["reservationFor"], {**FLIGHT["reservationFor"], "flightNumber": "413"}]
    assert len(find({"@type": "ReservationPackage", "subReservation": [FLIGHT, FLIGHT]})) == 1
    assert len(find({**FLIGHT, "reservationFor": legs})) == 2


def test_orders_and_parcels_tell_how_they_ended() -> None:
    order = find(
        {
            "@type": "Order",
            "orderNumber": "7",
            "orderStatus": "http://schema.org/OrderCancelled",
            "price": "5",
            "priceCurrency": "EUR",
        }
    )
    assert [type(fact) for fact in order] == [AmountFact, ResolutionFact]
    (parcel,) = find({"@type": "ParcelDelivery", "trackingNumber": "P1", "deliveryStatus": "OrderDelivered"})
    assert isinstance(parcel, ResolutionFact)
    assert (parcel.outcome, parcel.number) == ("delivered", "P1")
    (coming,) = find(
        {"@type": "ParcelDelivery", "trackingNumber": "P1", "expectedArrivalUntil": "2026-03-05T18:00:00+01:00"}
    )
    assert isinstance(coming, ReservationFact)
    assert coming.starts_at == datetime(2026, 3, 5, 17, tzinfo=UTC)


@pytest.mark.parametrize(
    "item", [{"@type": "Recipe"}, {"@type": ["Thing"]}, {"@type": "Invoice"}, {"@type": "Order"}, {"@type": 7}]
)
def test_objects_that_say_nothing_are_no_facts(item: dict[str, Any]) -> None:
    assert find(item) == []


def test_markup_beats_words_about_the_same_bill() -> None:
    text = "Invoice INV-1. Total due: 1.234,56 €. Payable by 21.03.2026 to DE89370400440532013000."
    found = extract(text, CONTEXT, structured=find(INVOICE))
    (invoice,) = [fact for fact in found if isinstance(fact, InvoiceFact)]
    assert (invoice.origin, invoice.due) == ("jsonld", date(2026, 3, 20))
    assert invoice.iban == "DE89370400440532013000"
    assert [fact.on for fact in found if isinstance(fact, DueFact)] == [date(2026, 3, 20)]


def meeting(*lines: str, method: str = "REQUEST") -> str:
    inner = "\r\n".join(lines)
    return f"BEGIN:VCALENDAR\r\nMETHOD:{method}\r\nBEGIN:VEVENT\r\nUID:u1\r\n{inner}\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"


@pytest.mark.parametrize(
    ("method", "lines", "effect"),
    [
        ("REQUEST", ("SEQUENCE:0",), "add"),
        ("REQUEST", ("SEQUENCE:3",), "change"),
        ("PUBLISH", (), "add"),
        ("CANCEL", ("SEQUENCE:2", "STATUS:CANCELLED"), "cancel"),
        ("REQUEST", ("STATUS:CANCELLED",), "cancel"),
        ("REPLY", ("ATTENDEE;PARTSTAT=ACCEPTED:mailto:a@example.org",), "reply"),
        ("COUNTER", (), "none"),
    ],
)
def test_an_invitation_asks_something_of_the_calendar(method: str, lines: tuple[str, ...], effect: str) -> None:
    (found,), warnings = itip.find(
        [itip.CalendarPart(meeting("DTSTART:20260310T140000Z", *lines, method=method))], CONTEXT
    )
    assert (found.method, found.uid, found.effect) == (method, "u1", effect)
    assert warnings == []


@pytest.mark.parametrize(
    ("start", "starts_at"),
    [
        ("DTSTART:20260310T140000Z", "2026-03-10T14:00"),
        ("DTSTART;TZID=America/New_York:20260310T100000", "2026-03-10T14:00"),
        ("DTSTART;TZID=W. Europe Standard Time:20260310T150000", "2026-03-10T14:00"),
        ("DTSTART:20260310T150000", "2026-03-10T14:00"),
        ("DTSTART;VALUE=DATE:20260310", "2026-03-09T23:00"),
    ],
)
def test_a_meeting_begins_in_its_own_zone_or_else_the_owners(start: str, starts_at: str) -> None:
    (found,), _ = itip.find([itip.CalendarPart(meeting(start))], CONTEXT)
    assert found.starts_at is not None
    assert found.starts_at.isoformat().startswith(starts_at)


def test_a_part_that_is_no_calendar_is_warned_of() -> None:
    found, warnings = itip.find(
        [itip.CalendarPart("BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:1\r\nDTSTART:nonsense")], CONTEXT
    )
    assert found == []
    assert "calendar part" in warnings[0]
