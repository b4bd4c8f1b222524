"""Wall times and whole days over clock changes, for any zone, series and owner."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import given, settings
from hypothesis import strategies as st

from extractors.calendar.testing import dated, vcalendar, vevent

ZONES = (
    "Australia/Lord_Howe", "America/Los_Angeles", "Asia/Kolkata", "Europe/Berlin", "America/St_Johns",
    "Pacific/Auckland", "Africa/Casablanca", "America/Santiago", "Atlantic/Azores", "Pacific/Apia", "UTC",
)  # fmt: skip
OWNERS = (*ZONES, "Pacific/Kiritimati", "Pacific/Pago_Pago")
EPOCH = datetime(2024, 1, 1)  # noqa: DTZ001 - a wall time
YEAR = (datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC))

zones = st.sampled_from(ZONES)
owners = st.sampled_from(OWNERS)
starts = st.integers(0, 1_250_000).map(lambda minutes: EPOCH + timedelta(minutes=minutes))
rules = st.tuples(st.sampled_from(["WEEKLY", "DAILY", "MONTHLY"]), st.integers(1, 3)).map(
    lambda parts: f"RRULE:FREQ={parts[0]};INTERVAL={parts[1]}"
)


def skipped(wall: datetime, tz: ZoneInfo) -> bool:
    return wall.replace(tzinfo=tz).astimezone(UTC).astimezone(tz).replace(tzinfo=None) != wall


@settings(max_examples=40, deadline=None)
@given(zones, owners, starts, st.integers(1, 900), rules)
def test_the_wall_time_of_a_series_is_constant_and_its_ends_follow(
    name: str, owner: str, start: datetime, minutes: int, rule: str
) -> None:
    tz = ZoneInfo(name)
    end = start + timedelta(minutes=minutes)
    lines = (f"DTEND;TZID={name}:{end:%Y%m%dT%H%M%S}", rule)
    found = dated(vcalendar(vevent("a", f";TZID={name}:{start:%Y%m%dT%H%M%S}", *lines)), *YEAR, owner=owner)
    assert found.placed
    previous = None
    for occurrence in (item.occurrence for item in found.placed):
        assert occurrence.starts_at is not None
        assert occurrence.ends_at is not None
        wall = datetime.fromisoformat(occurrence.start)
        local = occurrence.starts_at.astimezone(tz).replace(tzinfo=None)
        assert wall.time() == start.time()
        assert local == wall or skipped(wall, tz)
        assert occurrence.ends_at >= occurrence.starts_at
        local_end = occurrence.ends_at.astimezone(tz).replace(tzinfo=None)
        assert (
            local_end == wall + timedelta(minutes=minutes)
            or skipped(wall + timedelta(minutes=minutes), tz)
            or (skipped(wall, tz))
        )
        assert previous is None or occurrence.starts_at > previous
        previous = occurrence.starts_at


@settings(max_examples=40, deadline=None)
@given(owners, owners, starts, st.integers(1, 5), rules)
def test_whole_days_stay_on_their_dates_for_every_owner(
    one: str, other: str, start: datetime, days: int, rule: str
) -> None:
    end = start + timedelta(days=days)
    raw = vcalendar(vevent("a", f";VALUE=DATE:{start:%Y%m%d}", f"DTEND;VALUE=DATE:{end:%Y%m%d}", rule))
    first, last = date(2026, 2, 1), date(2026, 11, 20)

    def dates(owner: str) -> list[tuple[str, str]]:
        tz = ZoneInfo(owner)
        low, high = (datetime(day.year, day.month, day.day, tzinfo=tz) for day in (first, last))
        found = dated(raw, low, high, owner=owner)
        for item in found.placed:
            begins, ends = item.occurrence.instants(tz)
            assert begins.astimezone(tz).date().isoformat() == item.occurrence.start
            assert (ends - timedelta(seconds=1)).astimezone(tz).date() == date.fromisoformat(item.occurrence.end) - (
                timedelta(days=1)
            )
        return [(item.occurrence.start, item.occurrence.end) for item in found.placed]

    assert dates(one) == dates(other)
    assert all(date.fromisoformat(begin) < last and date.fromisoformat(finish) > first for begin, finish in dates(one))


@settings(max_examples=30, deadline=None)
@given(zones, zones, starts, rules)
def test_exceptions_and_overrides_mean_the_same_in_every_zone(one: str, other: str, start: datetime, rule: str) -> None:
    series = ("a", f";TZID={one}:{start:%Y%m%dT%H%M%S}", rule)
    plain = dated(vcalendar(vevent(*series)), *YEAR)
    chosen = plain.placed[len(plain.placed) // 2].occurrence
    assert chosen.starts_at is not None
    there = f";TZID={other}:{chosen.starts_at.astimezone(ZoneInfo(other)):%Y%m%dT%H%M%S}"
    if chosen.starts_at.astimezone(ZoneInfo(other)).fold:
        return  # a wall time that happens twice cannot name the second of them
    left = dated(vcalendar(vevent(*series, f"EXDATE{there}")), *YEAR)
    assert {item.occurrence.native_id for item in plain.placed} - {
        item.occurrence.native_id for item in left.placed
    } == {chosen.native_id}
    override = vevent("a", ":20260701T000000Z", f"RECURRENCE-ID{there}", "SUMMARY:Moved")
    moved = dated(vcalendar(vevent(*series), override), *YEAR)
    assert {item.occurrence.native_id for item in moved.placed} == {item.occurrence.native_id for item in plain.placed}
    assert [item.occurrence.native_id for item in moved.placed if item.occurrence.summary] == [chosen.native_id]
