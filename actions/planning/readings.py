"""Amounts, days and numbers as people write them, read without guessing: what is ambiguous is nothing."""

from __future__ import annotations

import re
from datetime import date

from schemas.model import Json

_SIGNS = {"€": "EUR", "$": "USD", "£": "GBP", "¥": "JPY"}
_MONEY = re.compile(
    r"(?:(?P<before>[€$£¥]|[A-Z]{3})\s?)?(?P<sum>-?\d[\d.,'’ \u00a0\u202f]*)(?:\s?(?P<after>[€$£¥]|[A-Z]{3}))?"
)
_ISO = re.compile(r"(\d{4})-(\d{2})-(\d{2})")
_POINTS = re.compile(r"(\d{1,2})\.\s?(\d{1,2})\.\s?(\d{4})")
_SLASHES = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})")
_WORDS = re.compile(r"(\d{1,2})(?:\.|st|nd|rd|th|er)?\s(?:de\s)?([^\W\d]{3,10})\.?,?\s(?:de\s)?(\d{4})")
_US = re.compile(r"([^\W\d]{3,10})\.?\s(\d{1,2})(?:st|nd|rd|th)?,?\s(\d{4})")
_MONTHS: tuple[tuple[str, ...], ...] = (
    ("jan", "ene"), ("feb", "fév", "fev"), ("mar", "mär", "mrz"), ("apr", "avr", "abr"), ("may", "mai"),
    ("jun", "juin"), ("jul", "juil"), ("aug", "aoû", "aou", "ago"), ("sep",), ("oct", "okt"), ("nov",),
    ("dec", "dez", "déc", "dic"),
)  # fmt: skip


def money(text: str) -> Json:
    """One amount with one currency; None for anything else."""
    match = _MONEY.fullmatch(text.strip())
    if match is None or (match["before"] is None) == (match["after"] is None):
        return None
    mark = match["before"] or match["after"]
    amount = number_text(match["sum"])
    return None if amount is None else {"amount": amount, "currency": _SIGNS.get(mark, mark)}


def number(text: str) -> Json:
    found = number_text(text)
    return None if found is None else float(found)


def number_text(text: str) -> str | None:
    """Digits with a point. The last of point and comma is the decimal one if one to two digits follow; a single one
    with three digits after it could be either, so it is nothing."""
    plain = re.sub(r"['’\s\u00a0\u202f]", "", text)
    if re.fullmatch(r"-?\d+", plain):
        return plain
    match = re.fullmatch(r"(-?\d{1,3}(?:[.,]\d{3})*|-?\d+)([.,])(\d{1,2})", plain)
    if match and match[2] not in match[1]:
        return f"{re.sub(r'[.,]', '', match[1])}.{match[3]}"
    return (
        re.sub(r"[.,]", "", plain) if re.fullmatch(r"-?\d{1,3}(?:\.\d{3}){2,}|-?\d{1,3}(?:,\d{3}){2,}", plain) else None
    )


def day(text: str) -> Json:
    """ISO text of a day that can be read in one way only."""
    plain = text.strip()
    for pattern, order in ((_ISO, (1, 2, 3)), (_POINTS, (3, 2, 1)), (_SLASHES, (3, 2, 1))):
        if match := pattern.fullmatch(plain):
            year, month, of_month = (int(match[at]) for at in order)
            if pattern is _SLASHES and of_month <= 12 and month <= 12 and of_month != month:
                return None
            if pattern is _SLASHES and month > 12:
                month, of_month = of_month, month
            return _iso(year, month, of_month)
    if match := _WORDS.fullmatch(plain):
        return _iso(int(match[3]), _month(match[2]), int(match[1]))
    if match := _US.fullmatch(plain):
        return _iso(int(match[3]), _month(match[1]), int(match[2]))
    return None


def _month(word: str) -> int:
    """1 to 12 in English, German, French or Spanish; 0 for no month."""
    folded = word.casefold()
    found = [n for n, starts in enumerate(_MONTHS, 1) if any(folded.startswith(start) for start in starts)]
    return found[0] if len(found) == 1 else 0


def _iso(year: int, month: int, of_month: int) -> str | None:
    try:
        return date(year, month, of_month).isoformat()
    except ValueError:
        return None
