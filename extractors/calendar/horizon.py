"""Horizon: how far back and ahead a calendar connector watches."""

from __future__ import annotations

from datetime import timedelta

from extractors.calendar.moment import Zone
from extractors.calendar.series import Window
from extractors.connector import Context
from schemas.clock import start_of_day


def months(past_days: int, future_days: int, context: Context) -> Window:
    """Rounded outwards to whole months of the owner: it moves once a month, so ids and work stay."""
    today = context.now.astimezone(context.zone).date()
    first = (today - timedelta(days=past_days)).replace(day=1)
    last = (today + timedelta(days=future_days)).replace(day=28) + timedelta(days=4)
    low, high = start_of_day(first, context.zone), start_of_day(last.replace(day=1), context.zone)
    return Window(low, high, Zone(context.zone.key, context.zone))


def label(window: Window) -> str:
    """Names what a look depends on beside the calendars themselves."""
    return f"{window.low:%Y%m%dT%H%M}/{window.high:%Y%m%dT%H%M} {window.owner.name}"
