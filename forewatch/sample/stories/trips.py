"""Flights for which a document runs out, whichever of the two letters comes first; and flights that are safe."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from forewatch.sample.cast import Company
from forewatch.sample.dice import Dice
from forewatch.sample.labels import Label
from forewatch.sample.letter import Letter
from forewatch.sample.marking import notice, silence
from forewatch.sample.phrasing import mid_sentence, thing
from forewatch.sample.post import from_company
from forewatch.sample.scene import Scene
from forewatch.sample.speech import Value
from forewatch.sample.stage import Stage, days
from forewatch.sample.stories.bookings import Booking, booked
from forewatch.sample.telling import Story

RULES = ("document-before-trip",)
_OWN = ("document-expiring",)
_LENGTH = 42
"""Days from the first letter of a story to its last, at most."""


@dataclass(frozen=True, slots=True)
class Document:
    company: Company
    slots: dict[str, Value]
    letter: Letter
    told_on: date
    expiry: date


def stories(stage: Stage) -> Iterator[Scene]:
    """One after the other: while one document is about to run out, no other story has a flight."""
    dice = stage.dice["trips"]
    chosen: list[Story] = [_too_late, _renewed, _cancelled, _holds, _renewed_before, _not_shown]
    for index, (story, (low, _)) in enumerate(
        zip(dice.shuffled(chosen), stage.stretches(len(chosen), 4, 322), strict=True)
    ):
        yield story(stage, dice[index], f"{index:02d}", (low, low + 8))


def _begin(stage: Stage, dice: Dice, stretch: tuple[int, int], later: tuple[int, ...]) -> date:
    day = stage.place(dice["day"], stretch, {"mail": (0, *later)})
    stage.ground(day, day + days(_LENGTH))
    return day


def _document(stage: Stage, dice: Dice, day: date, expiry: date, kind: str = "travel_documents") -> Document:
    lang = stage.language("trips")
    found = thing(kind, lang, dice["which"])
    company = stage.registry.company(lang, found["trade"])
    slots: dict[str, Value] = {
        "name": found["name"],
        "your": found["your"],
        "your_low": mid_sentence(found["your"], lang),
        "number": stage.number(dice["number"], "@##@####"),
        "expiry": expiry,
        "far": expiry + days(3652),
    }
    at = stage.moment(day, dice["time"], (8, 17))
    letter = from_company(stage, dice["document"], company, "document", at, slots)
    return Document(company, slots, letter, day, expiry)


def _renewal(stage: Stage, dice: Dice, document: Document, on: date) -> Letter:
    at = stage.moment(on, dice["renewed"], (11, 17))
    return from_company(stage, dice["renewal"], document.company, "document_renewed", at, document.slots)


def _flight(stage: Stage, dice: Dice, day: date, starts: date) -> tuple[Booking, Letter]:
    return booked(stage, dice["flight"], "flight", day, (starts - day).days)


def _expiring(name: str, document: Document, until: date, *, is_over: bool) -> Label:
    """The document runs out, flight or not."""
    why = f"{document.slots['name']} runs out"
    window = (document.told_on, until)
    items = (document.letter.message_id,)
    return notice(f"trip{name}", _OWN, items, window, document.company.lang, why, until if is_over else None)


def _true(
    name: str, document: Document, flight: Letter, window: tuple[date, date], why: str, over: date | None = None
) -> Label:
    items = (document.letter.message_id, flight.message_id)
    return notice(name, RULES, items, window, document.company.lang, why, over)


def _too_late(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    """The flight is booked after the warning, and nobody thinks of the document until it is over."""
    ahead, wait = dice["ahead"].between(24, 28), dice["wait"].between(2, 7)
    day = _begin(stage, dice, stretch, (wait, ahead, ahead + 10))
    document = _document(stage, dice, day, day + days(ahead))
    starts = document.expiry + days(dice["starts"].between(2, 7))
    _, flight = _flight(stage, dice, day + days(wait), starts)
    renewal = _renewal(stage, dice, document, day + days(ahead + 10))
    labels = (
        _true(name, document, flight, (day + days(wait), starts), "a flight after the document has run out"),
        _expiring(name, document, document.expiry, is_over=False),
    )
    return Scene((document.letter, flight, renewal), labels=labels)


def _renewed(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    """The warning comes after the booking, and the document is renewed before it runs out."""
    ahead, wait = dice["ahead"].between(24, 28), dice["wait"].between(2, 7)
    day = _begin(stage, dice, stretch, (wait, ahead - 5))
    starts = day + days(ahead + dice["starts"].between(2, 6))
    _, flight = _flight(stage, dice, day, starts)
    document = _document(stage, dice, day + days(wait), day + days(ahead))
    over = day + days(ahead - 5)
    labels = (
        _true(name, document, flight, (document.told_on, over), "runs out before a flight, and is renewed", over),
        _expiring(name, document, over, is_over=True),
    )
    return Scene((document.letter, flight, _renewal(stage, dice, document, over)), labels=labels)


def _cancelled(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    ahead, wait, gone = dice["ahead"].between(24, 28), dice["wait"].between(2, 7), dice["gone"].between(10, 16)
    day = _begin(stage, dice, stretch, (wait, gone, ahead, ahead + 9))
    document = _document(stage, dice, day, day + days(ahead))
    starts = document.expiry + days(dice["starts"].between(2, 7))
    booking, flight = _flight(stage, dice, day + days(wait), starts)
    over = day + days(gone)
    at = stage.moment(over, dice["off"], (8, 18))
    off = from_company(stage, dice["cancel"], booking.company, "booking_cancelled", at, booking.slots)
    lang, why = booking.company.lang, "a booking is cancelled"
    labels = (
        _true(name, document, flight, (day + days(wait), over), "the flight falls through", over),
        _expiring(name, document, document.expiry, is_over=False),
        notice(f"trip{name}", ("booking-changed",), (off.message_id,), (over, over + days(4)), lang, why),
    )
    renewal = _renewal(stage, dice, document, day + days(ahead + 9))
    return Scene((document.letter, flight, off, renewal), labels=labels)


def _holds(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    """A card that runs out soon, yet after the flight."""
    ahead, wait = dice["ahead"].between(33, 36), dice["wait"].between(2, 5)
    day = _begin(stage, dice, stretch, (wait, ahead - 2))
    document = _document(stage, dice, day, day + days(ahead), "identity_documents")
    starts = document.expiry - days(dice["starts"].between(4, 8))
    _, flight = _flight(stage, dice, day + days(wait), starts)
    over = day + days(ahead - 2)
    labels = (
        _quiet(name, document, (flight,), "the card holds beyond the flight"),
        _expiring(name, document, over, is_over=True),
    )
    return Scene((document.letter, flight, _renewal(stage, dice, document, over)), labels=labels)


def _renewed_before(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    """The flight is booked when the new document is there."""
    ahead, wait = dice["ahead"].between(24, 28), dice["wait"].between(3, 6)
    day = _begin(stage, dice, stretch, (wait, wait + 4))
    document = _document(stage, dice, day, day + days(ahead))
    renewal = _renewal(stage, dice, document, day + days(wait))
    _, flight = _flight(stage, dice, day + days(wait + 4), document.expiry + days(5))
    labels = (
        _quiet(name, document, (flight, renewal), "the document was renewed before the flight was booked"),
        _expiring(name, document, day + days(wait), is_over=True),
    )
    return Scene((document.letter, renewal, flight), labels=labels)


def _not_shown(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    """Nobody asks for this one at the gate."""
    ahead, wait = dice["ahead"].between(24, 28), dice["wait"].between(2, 7)
    day = _begin(stage, dice, stretch, (wait, ahead))
    document = _document(stage, dice, day, day + days(ahead), "documents")
    _, flight = _flight(stage, dice, day + days(wait), document.expiry + days(5))
    labels = (
        _quiet(name, document, (flight,), "a document that no flight asks for"),
        _expiring(name, document, document.expiry, is_over=False),
    )
    return Scene((document.letter, flight), labels=labels)


def _quiet(name: str, document: Document, others: tuple[Letter, ...], why: str) -> Label:
    """The document itself may be spoken of: the look-alike is the flight."""
    items = tuple(letter.message_id for letter in others)
    window = (document.told_on, document.expiry + days(20))
    return silence(name, RULES, items, window, document.company.lang, why)
