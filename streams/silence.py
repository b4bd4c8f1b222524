"""When a source has been quiet for longer than it ever is (pure)."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise
from statistics import median
from zoneinfo import ZoneInfo

from schemas.account import ARRIVALS_KEPT, CursorState
from schemas.clock import local_day

SHORTEST = timedelta(days=7)
FACTOR = 4
NEEDED = 4
"""Arrivals on fewer days than this say nothing about how often a source speaks."""


def note_arrival(arrivals: tuple[datetime, ...], now: datetime, zone: ZoneInfo) -> tuple[datetime, ...]:
    """One arrival per local day: a back-fill of a thousand mails is one."""
    if arrivals and local_day(arrivals[-1], zone) == local_day(now, zone):
        return arrivals
    return (*arrivals, now)[-ARRIVALS_KEPT:]


def patience(arrivals: tuple[datetime, ...]) -> timedelta | None:
    """How long this source may be quiet: 7 days, or four times its median gap; None while too little is known."""
    if len(arrivals) < NEEDED:
        return None
    gaps = [later - earlier for earlier, later in pairwise(arrivals)]
    return max(SHORTEST, FACTOR * timedelta(seconds=median(gap.total_seconds() for gap in gaps)))


def is_silent(state: CursorState, now: datetime) -> bool:
    allowed = patience(state.arrivals)
    return allowed is not None and now - state.arrivals[-1] > allowed
