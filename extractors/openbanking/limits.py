"""How often a bank may be asked without its customer: four times a day and account (RTS to PSD2, article 36(5))."""

from __future__ import annotations

from datetime import datetime, timedelta

from extractors.connector import Access, Quota
from schemas.errors import RateLimited

READS = 4
RESERVE = 1
"""Reads of a day that are kept for the person."""
DAY = timedelta(days=1)
PACE = DAY / (READS - RESERVE)
"""Reads without the person are spread over the day."""
AFTER_FAILURE = timedelta(hours=1)
"""A bank may count a read that failed, so it is not repeated at once."""


async def due(access: Access, key: str, read_at: datetime | None, now: datetime) -> None:
    """RateLimited with the moment of the next read when it is too soon for one; a person who asks need not wait.

    ``read_at``: when the account was last read to the end; a read that was cut off may be repeated.
    """
    if read_at is None or now >= read_at + PACE:
        return
    only_for_a_person = Quota(f"asked:{key}", READS, DAY, reserve=READS)
    try:
        await access.spend(only_for_a_person)
    except RateLimited as error:
        raise RateLimited("it was read a short while ago", retry_at=read_at + PACE) from error


async def count(access: Access, key: str) -> None:
    """One read of this account. RateLimited when none of the day is left, or only the one for the person."""
    try:
        await access.spend(Quota(f"reads:{key}", READS, DAY, reserve=RESERVE))
    except RateLimited as error:
        raise RateLimited("its reads of the day are spent", retry_at=error.retry_at) from error
