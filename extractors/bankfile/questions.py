"""The questions that a bank file can leave to the person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from extractors.connector import Question
from schemas.model import Json

DATE_ORDER = "date_order"
CURRENCY = "currency"
SHOWN = 50
"""Dates spelled out under each choice."""


def date_order(where: str, readings: Mapping[str, Sequence[str]]) -> Question:
    """``readings``: the dates of the file, as ISO text, under each order."""
    choices: dict[str, Json] = {order: list(dates[:SHOWN]) for order, dates in readings.items()}
    text = "Day and month can be read both ways in every date of this file. Which order does the bank use?"
    return Question(DATE_ORDER, text, where, choices)


def currency(where: str) -> Question:
    """Any ISO 4217 code is an answer; the choices are the usual ones."""
    text = "The file names no currency. Which one is the account in?"
    return Question(CURRENCY, text, where, {code: code for code in ("EUR", "USD", "GBP", "CHF")})
