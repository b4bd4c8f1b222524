"""Which banks Enable Banking knows, and how long their consents may last."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from extractors.enablebanking.client import Client
from schemas.errors import AuthError, TransientError

_MARGIN = timedelta(minutes=5)
"""A consent that ends exactly at the bank's limit is refused when the request takes a while."""


async def listed(client: Client, country: str) -> list[dict[str, Any]]:
    answer = await client.get("/aspsps", {"country": country, "service": "AIS"})
    banks = answer.get("aspsps")
    if not isinstance(banks, list):
        raise TransientError("Enable Banking answers with something that is no list of banks")
    return [bank for bank in banks if isinstance(bank, dict) and isinstance(bank.get("name"), str)]


def named(banks: Sequence[dict[str, Any]], name: str, country: str) -> dict[str, Any]:
    """The bank of this name, in whatever case; else the only one whose name contains it. AuthError with the nearest."""
    wanted = " ".join(name.split()).casefold()
    equal = [bank for bank in banks if bank["name"].casefold() == wanted]
    near = [bank for bank in banks if wanted and wanted in bank["name"].casefold()]
    for found in (equal, near):
        if len(found) == 1:
            return found[0]
    close = {bank["name"].casefold(): bank["name"] for bank in banks}
    names = [bank["name"] for bank in near] or [
        close[each] for each in difflib.get_close_matches(wanted, close, n=5, cutoff=0.5)
    ]
    remedy = f"did you mean {', '.join(map(repr, names[:5]))}?" if names else "look it up in the Enable Banking docs"
    raise AuthError(f"Enable Banking has no bank {name!r} in {country}", remedy=remedy)


def longest(bank: dict[str, Any], wanted: timedelta) -> timedelta:
    """How long a consent may be asked for."""
    limit = bank.get("maximum_consent_validity")
    if isinstance(limit, bool) or not isinstance(limit, int | float) or limit <= 0:
        return wanted
    allowed = timedelta(seconds=min(float(limit), wanted.total_seconds()))
    return max(min(wanted, allowed - _MARGIN), allowed / 2)
