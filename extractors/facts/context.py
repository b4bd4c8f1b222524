"""TextContext: what somebody's words must be read against."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from zoneinfo import ZoneInfo


@dataclass(frozen=True, slots=True)
class TextContext:
    """``written_on`` is the owner's local day on which the words were written: "in 14 days" counts from it.

    ``sender`` names who wrote them (the issuer of an invoice that names no other). ``bulk``: sent to
    many, as a newsletter, in which offers are no deadlines. ``automatic``: a program wrote it, and asks nobody.
    ``owners`` are the names and
    addresses of the owner, to tell who is asked. ``day_first`` settles 03/04/2026 where the source knows better
    than the words do.
    """

    written_on: date
    zone: ZoneInfo
    sender: str = ""
    bulk: bool = False
    automatic: bool = False
    owners: tuple[str, ...] = ()
    day_first: bool | None = None
