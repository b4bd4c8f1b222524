"""Windows: how they are written, and that they cut time without gaps whatever the clocks do."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.windows import aligned, following, last_end, preceding, sessions, sliding
from schemas.window import Over
from tests.scale import scaled

ZONES = st.sampled_from(
    ("Europe/Berlin", "America/Los_Angeles", "Australia/Lord_Howe", "Asia/Kolkata", "America/Santiago", "UTC")
).map(ZoneInfo)
ALIGNED = ("day", "week", "month", "every 1d", "every 3d", "every 2w", "every 6h", "every 90m", "every 1h", "every 5m")
FIRST, LAST = datetime(2020, 1, 1), datetime(2030, 1, 1)  # noqa: DTZ001  # Hypothesis adds the zone
instants = st.datetimes(FIRST, LAST, timezones=st.just(UTC))


@settings(max_examples=scaled(150, 20_000), deadline=None)
@given(st.sampled_from(ALIGNED).map(Over.parse), instants, ZONES)
def test_every_instant_is_in_one_window_and_windows_touch(over: Over, at: datetime, zone: ZoneInfo) -> None:
    span = aligned(over, at, zone)
    assert span.start <= at < span.end
    assert aligned(over, span.start, zone) == span
    assert aligned(over, span.end - timedelta(microseconds=1), zone) == span
    assert following(over, span, zone).start == span.end == last_end(over, at, zone)
    assert preceding(over, span, zone).end == span.start


@pytest.mark.parametrize(
    ("over", "at", "start", "end"),
    [
        ("day", "2026-03-29T12:00", "2026-03-29T00:00", "2026-03-30T00:00"),
        ("week", "2026-03-29T12:00", "2026-03-23T00:00", "2026-03-30T00:00"),
        ("month", "2026-02-28T23:59", "2026-02-01T00:00", "2026-03-01T00:00"),
        ("month", "2025-12-31T23:59", "2025-12-01T00:00", "2026-01-01T00:00"),
        ("every 6h", "2026-03-29T05:00", "2026-03-29T00:00", "2026-03-29T07:00"),  # a day of 23 hours
        ("every 6h", "2026-03-29T23:00", "2026-03-29T19:00", "2026-03-30T00:00"),
        ("every 6h", "2026-10-25T23:30", "2026-10-25T17:00", "2026-10-26T00:00"),  # a day of 25 hours
        ("every 2w", "1970-01-18T12:00", "1970-01-05T00:00", "1970-01-19T00:00"),
    ],
)
def test_windows_of_the_calendar_are_those_of_the_owner(over: str, at: str, start: str, end: str) -> None:
    zone = ZoneInfo("Europe/Berlin")
    span = aligned(Over.parse(over), datetime.fromisoformat(at).replace(tzinfo=zone), zone)
    shown = [edge.astimezone(zone).strftime("%Y-%m-%dT%H:%M") for edge in (span.start, span.end)]
    assert shown == [start, end]


def test_a_day_of_a_sliding_window_is_a_day_of_the_calendar() -> None:
    zone = ZoneInfo("Europe/Berlin")
    at = datetime(2026, 3, 28, 10, tzinfo=zone)
    assert last_end(Over.parse("1d"), at, zone) == datetime(2026, 3, 29, 10, tzinfo=zone)
    assert last_end(Over.parse("24h"), at, zone) == datetime(2026, 3, 29, 11, tzinfo=zone)


def test_a_gap_as_long_as_the_session_ends_it_and_a_window_leaves_its_beginning_out() -> None:
    zone = ZoneInfo("UTC")
    times = [datetime(2026, 3, 2, 10, minute, tzinfo=UTC) for minute in (0, 29, 59)]
    assert sessions(Over.parse("session 30m"), times, zone) == [(0, 2), (2, 3)]
    assert sliding(Over.parse("30m"), times, zone) == [0, 0, 2]


@pytest.mark.parametrize("text", ["7d", "36h", "day", "week", "month", "every 3d", "every 6h", "session 30m", "1d12h"])
def test_a_window_is_written_as_it_is_read(text: str) -> None:
    assert str(Over.parse(text)) == text


@pytest.mark.parametrize(
    "text", ["", "year", "every", "every 7h", "every 1d6h", "session", "0d", "every 0h", "367d", "9999w", "days", "7 d"]
)
def test_other_windows_are_refused_with_what_is_allowed(text: str) -> None:
    with pytest.raises(ValueError, match=r"not a window|too long"):
        Over.parse(text)
