"""Reservations of schema.org: flights, trains, buses, rooms, tables, tickets, cars and parcels on their way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from extractors.facts import schema_org as schema
from extractors.facts.context import TextContext
from extractors.facts.schema_org import Object
from schemas.fact import ReservationFact

_CERTAIN = 0.97
_LOCAL = 0.75
"""A time without an offset is local to a place whose zone we do not know."""
_Category = Literal["flight", "train", "bus", "hotel", "restaurant", "event", "car", "other"]
_CATEGORIES: dict[str, _Category] = {
    "FlightReservation": "flight",
    "TrainReservation": "train",
    "BusReservation": "bus",
    "LodgingReservation": "hotel",
    "FoodEstablishmentReservation": "restaurant",
    "EventReservation": "event",
    "RentalCarReservation": "car",
}
_FROM = ("departureAirport", "departureStation", "departureBusStop", "departureBoatTerminal")
_TO = ("arrivalAirport", "arrivalStation", "arrivalBusStop", "arrivalBoatTerminal")


def find(item: Object, kind: str, context: TextContext) -> Iterator[ReservationFact]:
    """One for each thing that is reserved: a reservation may hold several legs."""
    things = schema.objects(item, "reservationFor") or [{}]
    for thing in things[:20]:
        yield _reservation(item, thing, _CATEGORIES.get(kind, "other"), context)


def _reservation(item: Object, thing: Object, category: _Category, context: TextContext) -> ReservationFact:
    starts = (
        schema.time_of(item, context, "checkinTime", "checkinDate", "pickupTime", "startTime")
        or schema.time_of(thing, context, "departureTime", "startDate", "startTime", "departureDay")
    )  # fmt: skip
    ends = (
        schema.time_of(item, context, "checkoutTime", "checkoutDate", "dropoffTime", "endTime")
        or schema.time_of(thing, context, "arrivalTime", "endDate", "endTime")
    )  # fmt: skip
    is_certain = all(at.is_certain for at in (starts, ends) if at)
    return ReservationFact(
        origin="jsonld",
        certainty=_CERTAIN if is_certain else _LOCAL,
        category=category,
        code=schema.text(item, "reservationNumber", "reservationId", "confirmationNumber", cap=80),
        number=_number(thing),
        status=_status(item),
        provider=_provider(item, thing, category),
        person=schema.name(item, "underName"),
        place_from=_place(thing, *_FROM) or _place(item, "pickupLocation"),
        place_to=_place(thing, *_TO) or _place(item, "dropoffLocation") or _place(thing, "location", "address"),
        starts_at=starts.instant if starts else None,
        ends_at=ends.instant if ends and not (starts and ends.instant < starts.instant) else None,
    )


def parcel(item: Object, number: str | None, context: TextContext) -> Iterator[ReservationFact]:
    """A delivery that is announced: the window in which it comes."""
    starts = schema.time_of(item, context, "expectedArrivalFrom", "expectedArrivalUntil")
    ends = schema.time_of(item, context, "expectedArrivalUntil")
    if starts is not None:
        yield ReservationFact(
            origin="jsonld",
            certainty=_CERTAIN if starts.is_certain else _LOCAL,
            code=number,
            provider=schema.name(item, "carrier", "provider"),
            starts_at=starts.instant,
            ends_at=ends.instant if ends and ends.instant >= starts.instant else None,
        )


def _status(item: Object) -> Literal["confirmed", "changed", "cancelled"]:
    match schema.word(item, "reservationStatus"):
        case "ReservationCancelled" | "Cancelled":
            return "cancelled"
        case "ReservationChanged" | "ReservationModified":
            return "changed"
        case _:
            return "confirmed"


def _number(thing: Object) -> str | None:
    """XX412: the carrier's code stands before a bare number."""
    number = schema.text(thing, "flightNumber", "trainNumber", "busNumber", "trainName", "busName", cap=30)
    airline = next(iter(schema.objects(thing, "airline")), {})
    code = schema.text(airline, "iataCode", cap=5) or ""
    return f"{code}{number}" if number and not number.upper().startswith(code.upper()) else number


def _provider(item: Object, thing: Object, category: _Category) -> str | None:
    carrier = schema.name(thing, "airline", "provider", "rentalCompany") or schema.name(
        item, "provider", "bookingAgent"
    )
    is_place = category in ("hotel", "restaurant", "event", "other")
    return schema.text(thing, "name") or carrier if is_place else carrier


def _place(thing: Object, *keys: str) -> str | None:
    """An airport has its code, any other place its name or town."""
    for key in keys:
        for place in schema.objects(thing, key):
            address = next(iter(schema.objects(place, "address")), place)
            if found := schema.text(place, "iataCode", "name") or schema.text(
                address, "streetAddress", "addressLocality"
            ):
                return found
        if (plain := schema.text(thing, key)) and not schema.objects(thing, key):
            return plain
    return None
