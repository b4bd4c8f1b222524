"""Free times: pure, in the owner's wall hours, whatever the clocks do."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from actions.tools.times import free

BERLIN = ZoneInfo("Europe/Berlin")
HOURS = (time(9), time(17))


def at(day: int, hour: int, minute: int = 0, month: int = 3) -> datetime:
    return datetime(2026, month, day, hour, minute, tzinfo=BERLIN).astimezone(UTC)


def found(busy: list[tuple[datetime, datetime]], first: datetime, last: datetime, minutes: int = 60) -> list[datetime]:
    return free(busy, first, last, timedelta(minutes=minutes), BERLIN, HOURS)


def test_each_gap_of_a_day_gives_its_first_half_hour() -> None:
    busy = [(at(2, 9), at(2, 10, 15)), (at(2, 12), at(2, 16, 30))]
    assert found(busy, at(2, 8), at(2, 20)) == [at(2, 10, 30)]
    assert found(busy, at(2, 8), at(2, 20), 30) == [at(2, 10, 30), at(2, 16, 30)]


def test_meetings_that_overlap_or_lie_within_each_other_are_one() -> None:
    busy = [(at(2, 9), at(2, 15)), (at(2, 10), at(2, 11)), (at(2, 14), at(2, 16))]
    assert found(busy, at(2, 8), at(2, 20)) == [at(2, 16)]


def test_weekends_are_left_alone_and_wall_hours_follow_the_clocks() -> None:
    """27 March 2026 is a Friday; the clocks change on the 29th."""
    starts = found([], at(27, 8), at(31, 20))
    assert starts == [at(27, 9), at(30, 9), at(31, 9)]
    assert [start.hour for start in starts] == [8, 7, 7]


def test_nothing_is_found_where_there_is_nothing() -> None:
    assert found([(at(2, 0), at(3, 0))], at(2, 8), at(2, 20)) == []
    assert found([], at(2, 16, 30), at(2, 20)) == []


moments = st.integers(0, 5 * 24 * 4).map(lambda n: at(2, 0) + timedelta(minutes=15 * n))
meetings = st.tuples(moments, st.integers(1, 40)).map(lambda pair: (pair[0], pair[0] + timedelta(minutes=15 * pair[1])))


@given(st.lists(meetings, max_size=12), moments, moments, st.sampled_from([15, 30, 60, 180]))
def test_what_is_found_is_free_in_hours_and_in_order(
    busy: list[tuple[datetime, datetime]], first: datetime, last: datetime, minutes: int
) -> None:
    length = timedelta(minutes=minutes)
    starts = found(busy, first, last, minutes)
    assert starts == sorted(set(starts))
    for start in starts:
        assert first <= start
        assert start + length <= last
        assert not any(began < start + length and ended > start for began, ended in busy)
        wall = start.astimezone(BERLIN)
        assert wall.weekday() < 5
        assert wall.time() >= HOURS[0]
        assert (start + length).astimezone(BERLIN).time() <= HOURS[1]
        assert wall.minute % 30 == 0
