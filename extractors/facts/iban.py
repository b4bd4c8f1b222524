"""IBANs in a text, by shape and checksum."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_PATTERN = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}(?![A-Za-z0-9])")
_LENGTHS = {
    "AT": 20, "BE": 16, "BG": 22, "CH": 21, "CY": 28, "CZ": 24, "DE": 22, "DK": 18, "EE": 20, "ES": 24, "FI": 18,
    "FR": 27, "GB": 22, "GR": 27, "HR": 21, "HU": 28, "IE": 22, "IS": 26, "IT": 27, "LI": 21, "LT": 20, "LU": 20,
    "LV": 21, "MC": 27, "MT": 31, "NL": 18, "NO": 15, "PL": 28, "PT": 25, "RO": 24, "SE": 24, "SI": 19, "SK": 24,
    "SM": 27, "TR": 26,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class IbanMention:
    start: int
    end: int
    iban: str


def find(text: str) -> list[IbanMention]:
    """Every valid IBAN, without its spaces. A country whose length we do not know is taken on its checksum alone."""
    return list(_mentions(text))


def _mentions(text: str) -> Iterator[IbanMention]:
    for match in _PATTERN.finditer(text):
        length = _LENGTHS.get(match.group()[:2])
        iban = match.group().replace(" ", "")[: length or 34]  # words in capitals may follow it
        if (length is None or len(iban) == length) and is_valid(iban):
            yield IbanMention(match.start(), match.start() + _written(match.group(), len(iban)), iban)


def _written(text: str, letters: int) -> int:
    """How many characters of ``text`` hold its first ``letters`` characters that are not spaces."""
    end = 0
    while letters:
        letters -= text[end] != " "
        end += 1
    return end


def is_valid(iban: str) -> bool:
    """ISO 7064 mod 97-10 over an IBAN without spaces."""
    if not re.fullmatch(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}", iban):
        return False
    return int("".join(str(int(c, 36)) for c in iban[4:] + iban[:4])) % 97 == 1
