"""Amounts as people and banks write them: marks, signs, currencies, and which mark is the decimal one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from schemas.money import Money, decimal

Mark = Literal[".", ","]
Side = Literal["", "debit", "credit"]

SYMBOLS = {
    "€": "EUR", "EURO": "EUR", "EUROS": "EUR", "£": "GBP", "FR.": "CHF", "SFR.": "CHF", "SFR": "CHF", "US$": "USD",
    "C$": "CAD", "CA$": "CAD", "A$": "AUD", "AU$": "AUD", "R$": "BRL", "ZŁ": "PLN", "KČ": "CZK", "₹": "INR", "₺": "TRY",
    "₩": "KRW", "₽": "RUB",
}  # fmt: skip
"""Marks that mean one currency. ``$``, ``¥`` and ``kr`` mean several, so they say nothing."""

_UNSURE = frozenset(["$", "¥", "KR", "KR.", "FR"])
_DEBIT = frozenset(["DR", "DB", "D", "S", "SOLL", "DBIT"])
_CREDIT = frozenset(["CR", "C", "H", "HABEN", "CRDT"])
_MINUS = dict.fromkeys(map(ord, "−–—‒﹣－"), "-")
_GROUPERS = re.compile(r"(?<=\d)['’´`\s_]+(?=\d{3}(?!\d))")
_BODY = re.compile(r"\d[\d.,]*|[.,]\d+")
_LONGEST = 60
_DIGITS = 18


@dataclass(frozen=True, slots=True)
class Scanned:
    """An amount taken apart. ``body`` holds digits, points and commas only; ``side`` is what a DR or CR mark said."""

    body: str
    negative: bool = False
    side: Side = ""
    currency: str = ""


def scan(text: str) -> Scanned | None:
    """The parts of a cell that holds one amount and nothing else; None where it does not.

    Any of a leading or trailing minus and parentheses makes it negative.
    """
    if len(text) > _LONGEST:
        return None
    plain = " ".join(text.translate(_MINUS).split())
    plain = _GROUPERS.sub("", plain)
    found = _BODY.search(plain)
    if not found:
        return None
    around = (plain[: found.start()] + " " + plain[found.end() :]).upper()
    if around.count("-") > 1 or sorted(c for c in around if c in "()") not in ([], ["(", ")"]):
        return None
    words = re.sub(r"[-+()]", " ", around).split()
    return _with_words(found.group().rstrip(".,") or "0", "-" in around or "(" in around, words)


def _with_words(body: str, negative: bool, words: list[str]) -> Scanned | None:
    side: Side = ""
    currency = ""
    for word in words:
        if word in _DEBIT:
            side = "debit"
        elif word in _CREDIT:
            side = "credit"
        elif word in SYMBOLS or re.fullmatch(r"[A-Z]{3}", word):
            currency = SYMBOLS.get(word, word)
        elif word not in _UNSURE:
            return None
    return Scanned(body, negative, side, currency)


def decimal_mark(bodies: Iterable[str], digits: int = 2) -> Mark | None:
    """The decimal mark that all these amounts agree on; None when they contradict one another.

    ``digits`` are those of the currency's minor unit. A single mark before exactly three digits is a thousands mark
    unless the currency has three digits itself: banks print 1.234 for a thousand and never for a fraction of a cent.
    """
    votes = {vote for body in bodies if (vote := _vote(body, digits))}
    if len(votes) > 1:
        return None
    return votes.pop() if votes else "."


def _vote(body: str, digits: int) -> Mark | None:
    marks = [c for c in body if c in ".,"]
    if not marks:
        return None
    last: Mark = "." if marks[-1] == "." else ","
    other: Mark = "," if last == "." else "."
    if len(set(marks)) == 2:
        return last
    if len(marks) > 1:
        return other
    whole, _, fraction = body.partition(last)
    is_group = len(fraction) == 3 and digits != 3 and whole not in ("", "0") and len(whole) <= 3
    return other if is_group else last


def number(body: str, mark: Mark) -> Decimal:
    """The value; ValueError where the digits are not grouped as amounts are."""
    whole, _, fraction = body.partition(mark)
    grouper = "," if mark == "." else "."
    groups = whole.split(grouper)
    if any(mark in part or grouper in part for part in (fraction,)) or not (fraction or whole):
        raise ValueError(f"not an amount: {body!r}")
    if len(groups) > 1 and not (1 <= len(groups[0]) <= 3 and len(groups[-1]) == 3 and _grouped(groups[1:-1])):
        raise ValueError(f"not an amount: {body!r}")
    digits = "".join(groups)
    if len(digits) > _DIGITS or len(fraction.rstrip("0")) > 6:
        raise ValueError(f"too many digits for an amount: {body[:40]!r}")
    return Decimal(f"{digits or '0'}.{fraction or '0'}")


def _grouped(groups: list[str]) -> bool:
    """Groups of three, or of two as in India (1,00,000)."""
    return all(len(group) in (2, 3) for group in groups)


def strict_decimal(text: str) -> Decimal:
    """An amount of a format that has no thousands mark: comma or point is decimal, ``+`` and padding may occur.

    Where both marks occur against the rule, the last is the decimal one.
    """
    scanned = scan(text)
    if scanned is None or scanned.side or scanned.currency:
        raise ValueError(f"not an amount: {text[:40]!r}")
    marks = {c for c in scanned.body if c in ".,"}
    mark: Mark = "," if marks == {","} or scanned.body.rfind(",") > scanned.body.rfind(".") else "."
    value = number(scanned.body, mark)
    return -value if scanned.negative else value


def money(amount: str | int | float | Decimal, currency: str) -> Money:
    """An amount of an API, in major units. A JSON number means the decimal that it is written as, so 0.1 is 0.10 EUR.
    ValueError for what is no amount, or names no currency."""
    if isinstance(amount, bool) or not isinstance(amount, str | int | float | Decimal):
        raise ValueError(f"not an amount: {str(amount)[:40]!r}")
    value = decimal(amount[:_LONGEST]) if isinstance(amount, str) else Decimal(str(amount))
    return Money.of(value, currency.strip().upper())
