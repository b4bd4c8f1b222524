"""Which bank a person means."""

from __future__ import annotations

import re

from schemas.errors import AuthError

_BEFORE = re.compile(r"^([A-Za-z]{2})[\s,:/]+(.+)$")
_AFTER = re.compile(r"^(.+?)[\s,:/(]+([A-Za-z]{2})\)?$")


def bank_and_country(hint: str) -> tuple[str, str]:
    """``Nordea, FI`` or ``FI Nordea``. AuthError with what to type instead."""
    text = " ".join(hint.split())[:200]
    if found := _AFTER.match(text):
        return found[1], found[2].upper()
    if found := _BEFORE.match(text):
        return found[2], found[1].upper()
    raise AuthError("which bank, in which country?", remedy="type both, such as 'Nordea, FI'")
