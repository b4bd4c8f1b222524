"""Dates of a CSV column: what each cell may mean, and which order of day and month the whole file proves."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import Literal

from extractors.bankfile.days import day, full_year
from extractors.facts.calendar_words import plain

Order = Literal["DMY", "MDY"]
ORDERS: tuple[Order, ...] = ("DMY", "MDY")

_LONGEST = 40
_TIME = re.compile(r"(?:\s*[T,]\s*|\s+)\d{1,2}[:.h]\d{2}.*$")
_YEAR_FIRST = re.compile(r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})")
_PACKED = re.compile(r"\d{8}")
_NUMERIC = re.compile(r"(\d{1,2})([-/. ])\s?(\d{1,2})\2\s?(\d{4}|\d{2})")
_WEEKDAY = r"(?:[^\W\d_]{2,12}\.?,? )?"
_WORD = r"([^\W\d_]{3,12})\.?"
_DAY_NAME = re.compile(
    _WEEKDAY + r"(\d{1,2})(?:st|nd|rd|th|er|\.)?[ \-/.]+(?:de )?" + _WORD + r"[ \-/,.]+(?:de )?(\d{4}|\d{2})"
)
_NAME_DAY = re.compile(_WEEKDAY + _WORD + r"[ \-/.]+(\d{1,2})(?:st|nd|rd|th)?[ ,\-/.]+(\d{4}|\d{2})")
_WITHIN = re.compile(r"(?<![\d./-])(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|\d{2})(?![\d./-])")
_MONTH_STEMS = (
    ("jan", "ene"), ("feb", "fev"), ("mar", "mrz", "mae"), ("apr", "avr", "abr"), ("may", "mai"), ("jun", "juin"),
    ("jul", "juil"), ("aug", "aou", "ago"), ("sep", "set"), ("oct", "okt"), ("nov",), ("dec", "dez", "dic"),
)  # fmt: skip
"""How the names of months begin in English, German, French and Spanish, cut to whatever length."""
_MONTHS = {stem: number for number, stems in enumerate(_MONTH_STEMS, 1) for stem in stems}


@dataclass(frozen=True, slots=True)
class Cell:
    """A date cell: ``fixed`` where it can be read in one way only, else two numbers in unknown order and a year."""

    fixed: date | None = None
    first: int = 0
    second: int = 0
    year: int = 0
    mark: str = ""

    def read(self, order: Order) -> date:
        """ValueError where this order makes no date of it."""
        if self.fixed is not None:
            return self.fixed
        first, second = (self.first, self.second) if order == "DMY" else (self.second, self.first)
        return day(self.year, second, first)

    def fits(self, order: Order) -> bool:
        try:
            self.read(order)
        except ValueError:
            return False
        return True


def cell(text: str) -> Cell | None:
    """None for what is no date. A time behind the date is passed over; the day is taken as written."""
    text = text.strip()
    if not text or len(text) > _LONGEST:
        return None
    try:
        return _cell(_TIME.sub("", text)) or _cell(text)
    except ValueError:
        return None


def _cell(text: str) -> Cell | None:
    if found := _YEAR_FIRST.fullmatch(text):
        return Cell(day(int(found[1]), int(found[3]), int(found[4])))
    if _PACKED.fullmatch(text):
        return _packed(text)
    if found := _NUMERIC.fullmatch(text):
        return Cell(None, int(found[1]), int(found[3]), _year(found[4]), found[2])
    if found := _DAY_NAME.fullmatch(text):
        return Cell(day(_year(found[3]), _month(found[2]), int(found[1])))
    if found := _NAME_DAY.fullmatch(text):
        return Cell(day(_year(found[3]), _month(found[1]), int(found[2])))
    return None


def _packed(text: str) -> Cell:
    """20260302, or 02032026 in one of the two orders."""
    if text[:2] in ("19", "20") and 1 <= int(text[4:6]) <= 12:
        return Cell(day(int(text[:4]), int(text[4:6]), int(text[6:])))
    return Cell(None, int(text[:2]), int(text[2:4]), int(text[4:]), "/")


def _year(text: str) -> int:
    return full_year(int(text)) if len(text) == 2 else int(text)


def _month(word: str) -> int:
    known = plain(word)
    found = _MONTHS.get(known[:4]) or _MONTHS.get(known[:3])
    if found is None:
        raise ValueError(f"not a month: {word!r}")
    return found


def mentioned(text: str) -> list[Cell]:
    """The numeric dates inside a heading, such as the period of an export."""
    return [Cell(None, int(m[1]), int(m[3]), _year(m[4]), m[2]) for m in _WITHIN.finditer(text[:400])]


def proven(cells: Iterable[Cell]) -> Order | None:
    """The only order under which all these cells are dates; None where both are possible or neither is.

    Points separate day.month.year and nothing else, so they prove their order unless the data refute it.
    """
    loose = [each for each in cells if each.fixed is None]
    fitting: list[Order] = [order for order in ORDERS if all(each.fits(order) for each in loose)]
    if len(fitting) == 1:
        return fitting[0]
    if len(fitting) == 2 and (not loose or all(each.mark == "." for each in loose)):
        return "DMY"
    return None


def contradict(cells: Iterable[Cell]) -> bool:
    """Whether no single order reads all of them."""
    loose = [each for each in cells if each.fixed is None]
    return not any(all(each.fits(order) for each in loose) for order in ORDERS)
