"""Numbers with a name: of invoices, bookings and cases. A number counts only right behind the word that names it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from extractors.facts.passage import Passage
from schemas.fact import Span


@dataclass(frozen=True, slots=True)
class NumberMention:
    number: str
    span: Span


_MARK = (
    r"(?:\s?(?:numbers?|nummer|numéro|número|no|nr|num|núm|n[°º]|n\.\s?[°º]|id|code|reference|ref|#|№)[.:]{0,2}|"
    r"\s?[:#])"
)
_IS = r"(?:(?:is|lautet|ist|est|es)\s)?"
_INVOICE_WORD = (
    r"(?:invoice|inv\.|bill|credit note|\w{0,20}rechnung(?:s(?:nummer|-?nr\.?))?|rg\.-?nr|beleg(?:nummer)?|"
    r"bescheid(?:nummer)?|facture|factura|recibo)"
)
_INVOICE = re.compile(
    rf"(?<!\w){_INVOICE_WORD}(?P<mark>{_MARK})?\s{{0,3}}{_IS}"
    r"(?P<number>(?=[\w./-]{0,30}\d)[a-z0-9][\w./-]{1,39})(?!\w)(?!\s?(?:€|EUR\b|USD\b|CHF\b|%))",
    re.IGNORECASE,
)
_BOOKING_WORD = (
    r"(?:booking|reservation|confirmation|itinerary|(?:record )?locator|pnr|order|ticket|"
    r"buchungs?|reservierungs?|bestätigungs?|auftrags?|vorgangs?|bestell(?:ung)?|"
    r"réservation|dossier|commande|reserva|localizador|confirmación|pedido)"
)
_BOOKING = re.compile(
    rf"(?<!\w)(?i:{_BOOKING_WORD}(?P<mark>(?:-?{_MARK}|\sde confirmation){{1,2}})?\s{{0,3}}{_IS})"
    r"(?P<number>[A-Z0-9][A-Z0-9-]{3,18}[A-Z0-9])(?![\w-])"
)
_DATE = re.compile(r"\d{1,2}[./-]\d{1,2}(?:[./-](?:\d{2}|\d{4}))?|(?:19|20)\d\d(?:-\d\d-\d\d)?")
_SHORTEST = 4
"""A number without a "no." before it must be longer than a day or a count."""


def invoices(passage: Passage) -> Iterator[NumberMention]:
    """Invoice numbers in the order of the text."""
    for match in _INVOICE.finditer(passage.text):
        number = match["number"].strip("./-_")
        shortest = 2 if match["mark"] else _SHORTEST
        if len(number) >= shortest and _has_digit(number) and not _DATE.fullmatch(number):
            yield _mention(passage, match, number)


def bookings(passage: Passage) -> Iterator[NumberMention]:
    """Booking, order and case codes: capitals and digits; six letters alone only where a word announces a code."""
    for match in _BOOKING.finditer(passage.text):
        number = match["number"]
        is_record_locator = match["mark"] is not None and number.isalpha() and len(number) == 6
        if (_has_digit(number) and not _DATE.fullmatch(number)) or is_record_locator:
            yield _mention(passage, match, number)


def _has_digit(number: str) -> bool:
    return any(character.isdigit() for character in number)


def _mention(passage: Passage, match: re.Match[str], number: str) -> NumberMention:
    start = match.start("number")
    return NumberMention(number, passage.span(start, start + len(number), passage.clause_at(start)))
