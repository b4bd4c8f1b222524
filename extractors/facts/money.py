"""Amounts of money that a text names: a number with a currency right beside it, never a number alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from extractors.text import mask_addresses
from schemas.money import Money, exponent


@dataclass(frozen=True, slots=True)
class AmountMention:
    """Money at ``text[start:end]``, negative behind a minus. ``written`` has as many digits as the text."""

    start: int
    end: int
    money: Money
    written: str


_SYMBOLS = {
    "€": "EUR", "£": "GBP", "$": "USD", "¥": "JPY", "₹": "INR", "₺": "TRY", "₽": "RUB", "₩": "KRW", "₪": "ILS",
    "us$": "USD", "ca$": "CAD", "c$": "CAD", "a$": "AUD", "au$": "AUD", "nz$": "NZD", "hk$": "HKD", "s$": "SGD",
    "r$": "BRL", "zł": "PLN", "kč": "CZK", "fr.": "CHF", "fr": "CHF", "sfr.": "CHF", "sfr": "CHF",
    "euro": "EUR", "euros": "EUR", "dollars": "USD", "pounds": "GBP", "franken": "CHF", "pesos": "MXN",
}  # fmt: skip
_CODE = (
    "EUR|USD|CHF|GBP|JPY|CAD|AUD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|RON|BGN|TRY|CNY|HKD|SGD|INR|BRL|MXN|ZAR|ILS|KRW|AED|SAR|"
    "KWD|BHD|TND|THB|UAH|ISK|COP|CLP|ARS|PEN"
)
_INFORMAL = "Eur|eur|Usd|usd|Chf|chf|Gbp|gbp"
_SIGN = r"(?:US|CA|AU|NZ|HK|C|A|S|R)?\$|[€£¥₹₺₽₩₪]"
_BEFORE = rf"(?:(?<![\w$€£])(?:{_CODE}|{_INFORMAL}|S?Fr\.?)(?![a-z])|(?<![\w$])(?:{_SIGN}))"
_AFTER = (
    rf"(?:(?:{_CODE}|{_INFORMAL})(?!\w)|{_SIGN}|zł|Kč|(?:Euros?|euros?|EURO|dollars|pounds|Franken|pesos|Fr\.)(?!\w))"
)
_CENTS = r"(?:[.,](?:\d{1,6}|[-–—]{1,2}))?"
_INDIAN = r"\d{1,2}(?:,\d\d){1,4},\d{3}(?:\.\d{1,2})?"
_NUMBER = rf"(?:{_INDIAN}|\d{{1,3}}(?:[.,'’ ]\d{{3}}){{1,5}}{_CENTS}|\d{{1,12}}{_CENTS})(?![.,/-]?\d)"
_SCALE = (
    r"(?:\s?(?P<scale{n}>thousand|million|billion|Tsd\.?|Mio\.?|Mrd\.?|Millionen|millions?|millones|mil|k|"
    r"M)(?![\w]))?"
)
_UNIT_PRICE = r"(?!\s?(?:/|per |pro |je )\s?(?:kWh|kwh|l\b|liter|litre|km|kg|min|GB|MB|Stk|m²|m2|m³|m3))"
_PATTERN = re.compile(
    rf"(?P<before>{_BEFORE})\s?(?P<minus1>[-−])?(?P<number1>{_NUMBER}){_SCALE.format(n=1)}{_UNIT_PRICE}"
    # "in 2026 EUR 30" is thirty euros
    rf"|(?<![\w.,'’])(?!(?:19|20)\d\d\s?{_AFTER}\s?\d)(?P<minus2>[-−])?(?P<number2>{_NUMBER}){_SCALE.format(n=2)}\s?(?P<after>{_AFTER}){_UNIT_PRICE}"
)
_SCALES = {"t": 1_000, "k": 1_000, "mil": 1_000, "b": 10**9, "mrd": 10**9}


def find(text: str) -> list[AmountMention]:
    """Every amount in the text, in order. Percentages, phone numbers and prices per unit are none."""
    return list(_mentions(mask_addresses(text)))


def _mentions(text: str) -> Iterator[AmountMention]:
    for match in _PATTERN.finditer(text):
        which = "1" if match["before"] else "2"
        currency = _currency(match["before"] or match["after"])
        try:
            value = number(match["number" + which], currency)
            value = (value * scale).normalize() if (scale := _scale(match["scale" + which])) > 1 else value
            money = Money.of(-value if match["minus" + which] else value, currency)
        except ValueError:  # more digits than money has
            continue
        yield AmountMention(match.start(), match.end(), money, f"{value:f}")


def _currency(written: str) -> str:
    return _SYMBOLS.get(written.lower()) or written.upper()


def _scale(word: str | None) -> int:
    if word is None:
        return 1
    lower = word.lower().rstrip(".")
    return _SCALES.get(lower) or _SCALES.get(lower[0], 1_000_000)


def number(written: str, currency: str) -> Decimal:
    """1.234,56 and 1,234.56 and 1'234.56 are one number; a single group of three digits is thousands, unless the
    currency has three digits itself (KWD 1.234)."""
    digits = re.sub(r"[.,][-–—]+$", "", written).replace(" ", "").replace("'", "").replace("’", "")
    marks = [mark for mark in digits if mark in ".,"]
    if not marks:
        return Decimal(digits)
    last = marks[-1]
    tail = digits.rpartition(last)[2]
    grouped = len(set(marks)) == 1 and (len(marks) > 1 or (len(tail) == 3 and exponent(currency) != 3))
    if grouped:
        return Decimal(digits.replace(last, ""))
    other = "," if last == "." else "."
    return Decimal(digits.replace(other, "").replace(last, "."))
