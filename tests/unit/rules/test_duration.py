"""Durations: days are local days, hours are exact, and nonsense is refused."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.duration import Duration

BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("text", "days", "seconds", "shown"),
    [
        ("5d", 5, 0, "5d"),
        ("2w", 14, 0, "14d"),
        ("36h", 0, 129_600, "36h"),
        ("1d12h", 1, 43_200, "1d12h"),
        ("90m", 0, 5_400, "1h30m"),
        ("30s", 0, 30, "30s"),
        ("0d", 0, 0, "0d"),
    ],
)
def test_it_is_read_and_shown(text: str, days: int, seconds: int, shown: str) -> None:
    duration = Duration.parse(text)
    assert (duration.days, duration.seconds, str(duration)) == (days, seconds, shown)


@pytest.mark.parametrize("text", ["", "5", "d", "5x", "-5d", "1.5d", "5 d", "99999d", "3661d", "9999w"])
def test_nonsense_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"duration"):
        Duration.parse(text)


def test_days_keep_the_wall_time_and_hours_do_not() -> None:
    friday = datetime(2026, 3, 27, 18, tzinfo=BERLIN)  # the clocks change on Sunday
    assert Duration.parse("3d").after(friday, BERLIN).astimezone(BERLIN).hour == 18
    assert Duration.parse("72h").after(friday, BERLIN).astimezone(BERLIN).hour == 19
    assert Duration.parse("3d").before(datetime(2026, 3, 30, 18, tzinfo=BERLIN), BERLIN) == friday


@given(st.integers(0, 3000), st.integers(0, 86_399))
def test_what_is_shown_is_read_back(days: int, seconds: int) -> None:
    duration = Duration(days, seconds)
    assert Duration.parse(str(duration)) == duration
    assert bool(duration) is (duration.timedelta() > timedelta(0))


def test_days_before_a_day_do_not_count_hours() -> None:
    assert Duration.parse("2d5h").day_before(date(2026, 3, 1)) == date(2026, 2, 27)


def test_the_result_is_in_utc() -> None:
    assert Duration.parse("1d").after(datetime(2026, 1, 1, tzinfo=BERLIN), BERLIN).tzinfo is UTC
