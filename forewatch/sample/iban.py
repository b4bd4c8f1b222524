"""IBANs of invented banks with valid check digits (ISO 13616), so that every reader accepts them."""

from __future__ import annotations

from forewatch.sample.dice import Dice

_FORMS = {"DE": (8, 10), "FR": (10, 13), "ES": (8, 12), "NL": (0, 10), "GB": (6, 8)}
"""Digits of the bank part and of the account part; FR, NL and GB get a letter code where the standard has one."""
_LETTERS = {"NL": "FWTB", "GB": "FWTB"}


def _digits(text: str) -> str:
    return "".join(str(int(char, 36)) for char in text)


def check_digits(country: str, bban: str) -> str:
    return f"{98 - int(_digits(bban + country + '00')) % 97:02d}"


def is_valid(iban: str) -> bool:
    return int(_digits(iban[4:] + iban[:4])) % 97 == 1


def iban(dice: Dice, country: str) -> str:
    """A random account at one of the country's invented banks."""
    bank, account = _FORMS[country]
    bban = _LETTERS.get(country, "") + (dice.digits(bank) if bank else "") + dice.digits(account)
    return country + check_digits(country, bban) + bban


def grouped(text: str) -> str:
    """In groups of four, as letters print it."""
    return " ".join(text[index : index + 4] for index in range(0, len(text), 4))
