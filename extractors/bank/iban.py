"""Account numbers that have the form of an IBAN."""

from __future__ import annotations

import re

_FORM = re.compile(r"[A-Z]{2}[0-9]{2}[A-Z0-9]{8,30}")


def iban(text: str | None) -> str | None:
    """Without spaces, upper case; None for what is not of that form. The check digits are the bank's concern."""
    plain = re.sub(r"[\s.-]", "", text or "").upper() if text and len(text) <= 60 else ""
    return plain if _FORM.fullmatch(plain) else None
