"""Places: the town that a location names, as far as its words alone can tell."""

from __future__ import annotations

import re
from functools import lru_cache

_NOWHERE = re.compile(
    r"(?i)https?://|(?<!\w)(?:online|virtual\w*|remote|video\w*|zoom|teams|meet|webex|skype|phone|call|telefon\w*|"
    r"en ligne|visio\w*|téléphone|en línea|teléfono|llamada)(?!\w)"
)
"""Reached from anywhere."""
_PART = re.compile(r"[,;\n]|\s[-–|]\s")
_POSTCODE = re.compile(r"(?:[A-Z]{1,2}-)?\b\d{4,5}\b(?:\s[A-Z]{2}\b)?\s+(?P<town>[^\W\d_][^\d]{1,60})")
_BRITISH = re.compile(r"(?P<town>[^\d]*?)\s*\b[A-Z]{1,2}\d[A-Z\d]?\s?\d[A-Z]{2}")
_STREET = re.compile(r"\d{1,4}[a-z]?,?\s+[^\W\d_].*|[^\W\d_].*\s\d{1,4}\s?[a-z]?")
_INSIDE = re.compile(
    r"(?i)(?<!\w)(?:room|floor|level|building|gate|platform|hall|zimmer|raum|stock|etage|haus|gebäude|gleis|saal|"
    r"salle|étage|bâtiment|porte|quai|sala|planta|piso|edificio|puerta|andén|aula)(?!\w)"
)
"""A part of a house, which has a number like a street."""
_COUNTRIES = frozenset((
    "germany", "deutschland", "france", "spain", "españa", "austria", "österreich", "switzerland", "schweiz", "suisse",
    "uk", "united kingdom", "usa", "netherlands", "nederland", "belgium", "belgique", "italy", "italia", "portugal",
    "ireland", "luxembourg",
))  # fmt: skip


@lru_cache(maxsize=4_096)
def town(location: str) -> str:
    """In lower case; empty where the words name none for sure, and for what is reached from anywhere.

    A town stands behind a postcode, or behind a street with a number: "12 Mill Lane, Wexcombe".
    """
    if _NOWHERE.search(location):
        return ""
    parts = [part.strip() for part in _PART.split(location)]
    parts = [part for part in parts if part and part.lower() not in _COUNTRIES]
    for number, part in enumerate(parts):
        if found := _POSTCODE.fullmatch(part):
            return found["town"].strip().lower()
        if found := _BRITISH.fullmatch(part):
            before = parts[number - 1] if number else ""
            return (found["town"] or ("" if re.search(r"\d", before) else before)).strip().lower()
    is_addressed = any(_STREET.fullmatch(part) and not _INSIDE.search(part) for part in parts[:-1])
    if is_addressed and not re.search(r"\d", parts[-1]) and not _INSIDE.search(parts[-1]):
        return parts[-1].lower()
    return ""


def are_apart(one: str, other: str) -> bool:
    """Whether two locations lie in different towns; what is not known is not apart."""
    first, second = town(one), town(other)
    return bool(first and second) and first not in second and second not in first
