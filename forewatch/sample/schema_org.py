"""schema.org JSON-LD as companies put it into their mails."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any, Literal

_RESERVATIONS = {
    "flight": "FlightReservation",
    "train": "TrainReservation",
    "hotel": "LodgingReservation",
    "restaurant": "FoodEstablishmentReservation",
}


PaymentStatus = Literal["PaymentDue", "PaymentComplete", "PaymentAutomaticallyApplied"]


def invoice(
    issuer: str,
    number: str,
    amount: Decimal,
    due: date,
    status: PaymentStatus = "PaymentDue",
) -> dict[str, Any]:
    return {
        "@context": "http://schema.org",
        "@type": "Invoice",
        "identifier": number,
        "provider": {"@type": "Organization", "name": issuer},
        "paymentDueDate": due.isoformat(),
        "totalPaymentDue": {"@type": "PriceSpecification", "price": f"{amount:f}", "priceCurrency": "EUR"},
        "paymentStatus": f"http://schema.org/{status}",
    }


def reservation(
    category: str,
    code: str,
    person: str,
    provider: str,
    starts_at: datetime,
    ends_at: datetime,
    places: tuple[str, str],
    number: str,
    status: Literal["Confirmed", "Cancelled"] = "Confirmed",
) -> dict[str, Any]:
    """``places``: from and to of a journey; the first one is where a stay or a meal is."""
    base: dict[str, Any] = {
        "@context": "http://schema.org",
        "@type": _RESERVATIONS[category],
        "reservationNumber": code,
        "reservationStatus": f"http://schema.org/Reservation{status}",
        "underName": {"@type": "Person", "name": person},
    }
    match category:
        case "flight":
            thing = _flight(provider, number, starts_at, ends_at, places)
        case "train":
            thing = _train(provider, number, starts_at, ends_at, places)
        case "hotel":
            base |= {"checkinTime": starts_at.isoformat(), "checkoutTime": ends_at.isoformat()}
            thing = {"@type": "LodgingBusiness", "name": provider, "address": places[0]}
        case _:
            base |= {"startTime": starts_at.isoformat(), "partySize": 4}
            thing = {"@type": "FoodEstablishment", "name": provider, "address": places[0]}
    return base | {"reservationFor": thing}


def _flight(
    airline: str, number: str, starts_at: datetime, ends_at: datetime, places: tuple[str, str]
) -> dict[str, Any]:
    return {
        "@type": "Flight",
        "flightNumber": number[2:],
        "airline": {"@type": "Airline", "name": airline, "iataCode": number[:2]},
        "departureAirport": {"@type": "Airport", "name": places[0]},
        "departureTime": starts_at.isoformat(),
        "arrivalAirport": {"@type": "Airport", "name": places[1]},
        "arrivalTime": ends_at.isoformat(),
    }


def _train(
    railway: str, number: str, starts_at: datetime, ends_at: datetime, places: tuple[str, str]
) -> dict[str, Any]:
    return {
        "@type": "TrainTrip",
        "trainNumber": number,
        "provider": {"@type": "Organization", "name": railway},
        "departureStation": {"@type": "TrainStation", "name": places[0]},
        "departureTime": starts_at.isoformat(),
        "arrivalStation": {"@type": "TrainStation", "name": places[1]},
        "arrivalTime": ends_at.isoformat(),
    }
