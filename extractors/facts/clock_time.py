"""Times of day in words: "at 19:30", "um 19.30 Uhr", "à 19h30", "7 pm"."""

from __future__ import annotations

import re
from datetime import time

_PATTERN = re.compile(
    r"(?<![\d.:,/-])(?P<hour>[01]?\d|2[0-4])(?:"
    r":(?P<m1>[0-5]\d)(?::[0-5]\d)?\s?(?P<half1>[ap]\.?m\b)?|\.(?P<m2>[0-5]\d)\s?(?=Uhr)|"
    r"\s?h\s?(?P<m3>[0-5]\d)?(?!\w)|"
    r"\s?(?P<half2>[ap]\.?m\b)|\s?(?=Uhr))(?![\d:])",
    re.IGNORECASE,
)


def first(text: str) -> time | None:
    """The first time of day in the text."""
    for match in _PATTERN.finditer(text):
        hour = int(match["hour"])
        half = (match["half1"] or match["half2"] or "").lower()[:1]
        if half and 1 <= hour <= 12:
            hour = hour % 12 + (12 if half == "p" else 0)
        return time(hour % 24, int(match["m1"] or match["m2"] or match["m3"] or 0))
    return None
