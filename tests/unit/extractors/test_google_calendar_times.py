"""Google's dates, offsets, zones and series as the moments that they mean."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractors.calendar.agenda import Ownership, agenda
from extractors.calendar.moment import Zone
from extractors.calendar.occurrence import Occurrence
from extractors.calendar.series import Window
from extractors.calendar.zones import Zones
from extractors.google_calendar.convert import entry_of
from extractors.text import one_line
from schemas.clock import zone
from schemas.errors import PoisonError

BERLIN = Zone("Europe/Berlin", zone("Europe/Berlin"))


def occurrences(
    *events: Mapping[str, Any], calendar: str = "Europe/Berlin", owner: str = "Europe/Berlin"
) -> list[Occurrence]:
    zones = Zones(Zone(calendar, zone(calendar)), is_declared=True)
    window = Window(datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC), Zone(owner, zone(owner)))
    entries = [entry_of({"status": "confirmed", **event}, "uid", "Nora", zones) for event in events]
    return [placed.occurrence for placed in agenda(entries, window, Ownership()).placed]


def timed(start: str, end: str = "", zone_name: str | None = "Europe/Berlin", **more: Any) -> dict[str, Any]:
    named = {"timeZone": zone_name} if zone_name else {}
    return {"start": {"dateTime": start, **named}, "end": {"dateTime": end or start, **named}, **more}


def test_a_time_keeps_its_wall_time_and_its_zone() -> None:
    (found,) = occurrences(timed("2026-03-10T10:00:00+01:00", "2026-03-10T11:00:00+01:00"))
    assert (found.start, found.end, found.zone) == ("2026-03-10T10:00:00", "2026-03-10T11:00:00", "Europe/Berlin")
    assert found.starts_at == datetime(2026, 3, 10, 9, tzinfo=UTC)
    assert not found.floating


def test_an_offset_of_another_place_is_turned_into_the_wall_time_of_the_zone() -> None:
    (found,) = occurrences(timed("2026-03-10T01:00:00-08:00", zone_name="Europe/Berlin"))
    assert (found.start, found.zone) == ("2026-03-10T10:00:00", "Europe/Berlin")


def test_a_time_without_a_zone_is_shown_in_that_of_its_calendar() -> None:
    (found,) = occurrences(timed("2026-03-10T09:00:00Z", zone_name=None), calendar="Asia/Tokyo")
    assert (found.start, found.zone) == ("2026-03-10T18:00:00", "Asia/Tokyo")


def test_a_time_without_an_offset_is_the_wall_time_of_its_zone() -> None:
    (found,) = occurrences(timed("2026-07-10T10:00:00", zone_name="America/New_York"))
    assert found.starts_at == datetime(2026, 7, 10, 14, tzinfo=UTC)


def test_an_unknown_zone_does_not_move_the_instant() -> None:
    (found,) = occurrences(timed("2026-03-10T10:00:00+01:00", zone_name="Mars/Olympus"))
    assert found.starts_at == datetime(2026, 3, 10, 9, tzinfo=UTC)
    assert any("Mars/Olympus" in note for note in found.notes)


def test_a_fixed_offset_as_a_zone_is_understood() -> None:
    (found,) = occurrences(timed("2026-07-10T10:00:00+05:30", zone_name="GMT+05:30"))
    assert (found.start, found.starts_at) == ("2026-07-10T10:00:00", datetime(2026, 7, 10, 4, 30, tzinfo=UTC))


@pytest.mark.parametrize("owner", ["Pacific/Kiritimati", "America/Los_Angeles", "UTC"])
def test_a_whole_day_is_that_day_for_everybody(owner: str) -> None:
    (found,) = occurrences({"start": {"date": "2026-03-29"}, "end": {"date": "2026-03-30"}}, owner=owner)
    assert (found.start, found.end, found.all_day, found.starts_at) == ("2026-03-29", "2026-03-30", True, None)


def test_a_whole_day_without_an_end_is_one_day() -> None:
    (found,) = occurrences({"start": {"date": "2026-03-29"}})
    assert (found.start, found.end) == ("2026-03-29", "2026-03-30")


def test_the_second_of_two_equal_wall_times_is_an_hour_later() -> None:
    first, second = occurrences(timed("2026-10-25T02:30:00+02:00")) + occurrences(timed("2026-10-25T02:30:00+01:00"))
    assert first.starts_at == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    assert second.starts_at == datetime(2026, 10, 25, 1, 30, tzinfo=UTC)


def test_a_series_follows_the_wall_clock_over_both_clock_changes() -> None:
    event = timed("2026-03-20T09:00:00+01:00", "2026-03-20T10:00:00+01:00", recurrence=["RRULE:FREQ=WEEKLY;COUNT=3"])
    spring = [found.starts_at for found in occurrences(event)]
    assert [(moment.day, moment.hour) for moment in spring if moment] == [(20, 8), (27, 8), (3, 7)]
    event = timed("2026-10-16T09:00:00+02:00", "2026-10-16T10:00:00+02:00", recurrence=["RRULE:FREQ=WEEKLY;COUNT=3"])
    autumn = [found.starts_at for found in occurrences(event)]
    assert [(moment.day, moment.hour) for moment in autumn if moment] == [(16, 7), (23, 7), (30, 8)]


def test_a_series_of_whole_days_never_slips() -> None:
    event = {"start": {"date": "2026-03-28"}, "end": {"date": "2026-03-29"}, "recurrence": ["RRULE:FREQ=DAILY;COUNT=3"]}
    found = occurrences(event, owner="America/Los_Angeles")
    assert [each.start for each in found] == ["2026-03-28", "2026-03-29", "2026-03-30"]


def test_a_date_that_was_moved_across_the_clock_change_replaces_its_own_date() -> None:
    master = timed("2026-03-20T09:00:00+01:00", recurrence=["RRULE:FREQ=WEEKLY;COUNT=3"], summary="Choir")
    moved = timed(
        "2026-03-30T18:00:00+02:00",
        recurringEventId="choir",
        originalStartTime={"dateTime": "2026-03-27T09:00:00+01:00", "timeZone": "Europe/Berlin"},
    )
    days = [found.start for found in occurrences(master, moved)]
    assert days == ["2026-03-20T09:00:00", "2026-03-30T18:00:00", "2026-04-03T09:00:00"]


def test_an_original_start_in_another_zone_names_the_same_date() -> None:
    master = timed("2026-03-20T09:00:00+01:00", recurrence=["RRULE:FREQ=WEEKLY;COUNT=2"])
    moved = timed("2026-03-27T20:00:00+01:00", originalStartTime={"dateTime": "2026-03-27T08:00:00Z"})
    assert [found.start for found in occurrences(master, moved)] == ["2026-03-20T09:00:00", "2026-03-27T20:00:00"]


def test_exdates_and_rdates_are_those_of_icalendar() -> None:
    lines = [
        "RRULE:FREQ=DAILY;UNTIL=20260312T080000Z",
        "EXDATE;TZID=Europe/Berlin:20260311T090000",
        "RDATE;TZID=Europe/Berlin:20260401T090000",
        "SUMMARY:not a rule",
    ]
    found = occurrences(timed("2026-03-10T09:00:00+01:00", recurrence=lines))
    assert [each.start[:10] for each in found] == ["2026-03-10", "2026-03-12", "2026-04-01"]
    assert {each.summary for each in found} == {""}


def test_a_cancelled_date_needs_no_start_of_its_own() -> None:
    master = timed("2026-03-10T09:00:00+01:00", recurrence=["RRULE:FREQ=DAILY;COUNT=2"], summary="Choir")
    off = {"status": "cancelled", "originalStartTime": {"dateTime": "2026-03-11T09:00:00+01:00"}}
    found = occurrences(master, off)
    assert [(each.start[:10], each.status) for each in found] == [
        ("2026-03-10", "confirmed"),
        ("2026-03-11", "cancelled"),
    ]


def test_an_end_that_is_not_meant_is_left_out() -> None:
    event = timed("2026-03-10T09:00:00+01:00", "2026-03-10T10:00:00+01:00", endTimeUnspecified=True)
    (found,) = occurrences(event)
    assert found.end == found.start


@given(st.text(max_size=60))
def test_words_come_through_as_they_were_written(text: str) -> None:
    (found,) = occurrences({"start": {"date": "2026-03-29"}, "summary": text, "location": text})
    assert found.summary == found.location == one_line(text, 500)


@pytest.mark.parametrize(
    ("event", "code"),
    [
        ({}, "no_start"),
        ({"start": {}}, "no_start"),
        ({"start": "2026-03-10"}, "bad_date"),
        ({"start": {"date": "2026-02-31"}}, "bad_date"),
        ({"start": {"dateTime": "10 March"}}, "bad_date"),
        ({"start": {"dateTime": "0001-01-01T00:00:00+14:00"}}, "bad_date"),
        ({"start": {"date": 20260310}}, "malformed"),
        ({"start": {"date": "2026-03-10"}, "summary": ["a"]}, "malformed"),
    ],
)
def test_what_cannot_be_put_on_a_day_says_why(event: Mapping[str, Any], code: str) -> None:
    with pytest.raises(PoisonError) as caught:
        occurrences(event)
    assert caught.value.code == code


@given(
    st.dates(date(2026, 1, 2), date(2026, 12, 30)),
    st.times(),
    st.sampled_from(["Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe", "Asia/Kolkata", "UTC"]),
)
def test_every_instant_stays_the_same_in_every_zone(day: date, time: Any, name: str) -> None:
    moment = datetime.combine(day, time.replace(microsecond=0), UTC).astimezone(zone(name))
    (found,) = occurrences(timed(moment.isoformat(), zone_name=name))
    assert found.starts_at == moment.astimezone(UTC)
