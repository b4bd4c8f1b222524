"""When a mail was sent: its Date if that can be true, else what the receiving server or the file says."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from email.utils import parsedate_tz
from typing import Literal, NamedTuple

from extractors.mail.fields import Fields

DateSource = Literal["header", "received", "file", "none"]

_FIRST = datetime(1990, 1, 1, tzinfo=UTC)
"""Nobody has older mail, but many clocks start in 1970 or 1980."""
_AHEAD = timedelta(days=2)
"""A mail cannot be received long before it was sent: such a Date is a lie or a wrong clock."""


_COMMENT = re.compile(r"\((?:[^()\\]|\\.)*\)")
_OFFSET = re.compile(r"(?<=\d)\s*(?:GMT|UTC|UT)?\s*([+-])(\d\d):?(\d\d)\Z", re.IGNORECASE)
_ZONES = {
    "WEST": "+0100", "BST": "+0100", "CET": "+0100", "MET": "+0100", "MEZ": "+0100", "CEST": "+0200", "MEST": "+0200",
    "MESZ": "+0200", "EET": "+0200", "EEST": "+0300", "MSK": "+0300", "IST": "+0530", "JST": "+0900", "KST": "+0900",
    "AEST": "+1000", "AEDT": "+1100", "NZST": "+1200", "NZDT": "+1300",
}  # fmt: skip
"""What mail servers mean by names that RFC 5322 does not know."""


class Dating(NamedTuple):
    sent_at: datetime | None
    source: DateSource
    warnings: tuple[str, ...] = ()


def date_of(fields: Fields, file_time: datetime | None) -> Dating:
    """The best of Date, the topmost Received and the file's time; never 1970, never the present."""
    received = next((at for value in fields.every("received")[:20] if (at := _received(value))), None)
    known = received or file_time
    for value in [*fields.every("date"), *fields.every("resent-date")]:
        sent = instant(value.decode("utf-8", "replace"))
        if sent is not None and sent >= _FIRST and not (known and sent > known + _AHEAD):
            return Dating(sent, "header")
    warnings = ("date is missing or cannot be true",)
    if received is not None:
        return Dating(received, "received", warnings)
    if file_time is not None and file_time >= _FIRST:
        return Dating(file_time, "file", warnings)
    return Dating(None, "none", warnings)


def _received(value: bytes) -> datetime | None:
    at = instant(value.decode("utf-8", "replace").rpartition(";")[2])
    return at if at is not None and at >= _FIRST else None


def instant(text: str) -> datetime | None:
    """An RFC 5322 or ISO 8601 date in UTC; None for anything else. The offset wins over a zone in a comment."""
    try:
        return _rfc5322(text[:200]) or _iso(text[:200])
    except (ValueError, OverflowError, TypeError, IndexError):
        return None


def _rfc5322(text: str) -> datetime | None:
    parsed = parsedate_tz(_plain(text))
    if parsed is None:
        return None
    year, month, day, hour, minute, second, *_, offset_s = parsed
    if not 1 <= month <= 12 or abs(offset_s or 0) > 14 * 3600:
        return None
    zone = timezone(timedelta(seconds=offset_s or 0))
    return datetime(year, month, day, hour, minute, min(second, 59), tzinfo=zone).astimezone(UTC)


def _plain(text: str) -> str:
    """Without comments, and with the zone as an offset: ``GMT+0100`` and ``+01:00`` are none of RFC 5322, and names
    other than its own would mean UTC there, unless their meaning is known otherwise (4.3)."""
    bare = text
    while (shorter := _COMMENT.sub(" ", bare)) != bare:
        bare = shorter
    words = _OFFSET.sub(r" \1\2\3", bare.strip()).replace(",", ", ").split()
    if len(words) > 4:
        words[-1] = _ZONES.get(words[-1].upper(), words[-1])
    return " ".join(words).replace(" ,", ",")


def _iso(text: str) -> datetime | None:
    try:
        at = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)
