"""What entries mean together: ends, exceptions, overrides, cancellations, time zones and clock changes."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from extractors.calendar.agenda import Agenda
from extractors.calendar.testing import component, dated, starts, vcalendar, vevent

BERLIN = ";TZID=Europe/Berlin:"
WEEKLY = vevent("a", f"{BERLIN}20260302T100000", f"DTEND{BERLIN}20260302T110000", "RRULE:FREQ=WEEKLY", "SUMMARY:Talk")


def spans(found: Agenda) -> list[tuple[str, str]]:
    """Start and end; of instants day and time only."""
    rows = []
    for occurrence in (item.occurrence for item in found.placed):
        if occurrence.starts_at is None or occurrence.ends_at is None:
            rows.append((occurrence.start, occurrence.end))
        else:
            rows.append((f"{occurrence.starts_at:%m-%dT%H:%MZ}", f"{occurrence.ends_at:%m-%dT%H:%MZ}"))
    return rows


def weekly(*lines: str, start: str = f"{BERLIN}20260302T100000") -> bytes:
    return vcalendar(vevent("a", start, *lines))


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (f"{BERLIN}20260401T100000", f"DTEND{BERLIN}20260401T113000", ("04-01T08:00Z", "04-01T09:30Z")),
        (f"{BERLIN}20260401T100000", "DTEND:20260401T113000", ("04-01T08:00Z", "04-01T09:30Z")),
        (f"{BERLIN}20260401T100000", "DTEND;TZID=America/New_York:20260401T100000", ("04-01T08:00Z", "04-01T14:00Z")),
        (f"{BERLIN}20260401T100000", "DURATION:PT90M", ("04-01T08:00Z", "04-01T09:30Z")),
        (f"{BERLIN}20260401T100000", "DURATION:-PT90M", ("04-01T08:00Z", "04-01T08:00Z")),
        (f"{BERLIN}20260401T100000", "DURATION:a while", ("04-01T08:00Z", "04-01T08:00Z")),
        (f"{BERLIN}20260401T100000", f"DTEND{BERLIN}20260401T090000", ("04-01T08:00Z", "04-01T08:00Z")),
        (f"{BERLIN}20260401T100000", "X-NO-END:1", ("04-01T08:00Z", "04-01T08:00Z")),
        (f"{BERLIN}20260401T100000", "DTEND;VALUE=DATE:20260402", ("04-01T08:00Z", "04-01T22:00Z")),
        (":20260401T100000Z", "DTEND:99991231T235959Z", ("04-01T10:00Z", "04-02T10:00Z")),
        (":20260401T240000Z", "DURATION:PT0S", ("04-02T00:00Z", "04-02T00:00Z")),
        (":20260401T100000+0530", "DURATION:PT1H", ("04-01T04:30Z", "04-01T05:30Z")),
        (":2026-04-01T10:00:00Z", "DURATION:PT1H", ("04-01T10:00Z", "04-01T11:00Z")),
        (";VALUE=DATE:20260401", "X-NO-END:1", ("2026-04-01", "2026-04-02")),
        (":20260401", "X-NO-END:1", ("2026-04-01", "2026-04-02")),
        (";VALUE=DATE;TZID=Asia/Tokyo:20260401", "X-NO-END:1", ("2026-04-01", "2026-04-02")),
        (";VALUE=DATE:20260401", "DTEND;VALUE=DATE:20260401", ("2026-04-01", "2026-04-02")),
        (";VALUE=DATE:20260401", "DTEND;VALUE=DATE:20260320", ("2026-04-01", "2026-04-02")),
        (";VALUE=DATE:20260401", "DTEND;VALUE=DATE:20260404", ("2026-04-01", "2026-04-04")),
        (";VALUE=DATE:20260401", "DTEND:20260402T120000Z", ("2026-04-01", "2026-04-03")),
        (";VALUE=DATE:20260401", "DURATION:P2D", ("2026-04-01", "2026-04-03")),
        (";VALUE=DATE:20260401", "DURATION:PT36H", ("2026-04-01", "2026-04-03")),
    ],
)  # fmt: skip
def test_an_entry_ends_where_it_says_or_where_it_must(start: str, end: str, expected: tuple[str, str]) -> None:
    assert spans(dated(weekly(end, start=start))) == [expected]


def test_the_mark_of_outlook_makes_midnights_a_whole_day() -> None:
    lines = (f"DTEND{BERLIN}20260331T000000", "X-MICROSOFT-CDO-ALLDAYEVENT:TRUE")
    assert spans(dated(weekly(*lines, start=f"{BERLIN}20260328T000000"))) == [("2026-03-28", "2026-03-31")]


@pytest.mark.parametrize(
    ("until", "count"),
    [
        ("20260316", 3),
        ("20260315", 2),
        ("20260316T100000", 3),
        ("20260316T095959", 2),
        ("20260316T090000Z", 3),
        ("20260316T085959Z", 2),
        ("20260301", 0),
        ("99991231T235959Z", 44),
    ],
)
def test_until_includes_its_instant_or_its_whole_day(until: str, count: int) -> None:
    assert len(starts(dated(weekly(f"RRULE:FREQ=WEEKLY;UNTIL={until}")))) == count


@pytest.mark.parametrize("until", ["20260316", "20260316T000000Z", "20260316T220000Z", "20260316T100000"])
@pytest.mark.parametrize("owner", ["Europe/Berlin", "America/Los_Angeles", "Asia/Kolkata"])
def test_until_of_whole_days_is_a_day_for_every_owner(until: str, owner: str) -> None:
    raw = weekly(f"RRULE:FREQ=WEEKLY;UNTIL={until}", start=";VALUE=DATE:20260302")
    assert starts(dated(raw, owner=owner)) == ["2026-03-02", "2026-03-09", "2026-03-16"]


@pytest.mark.parametrize("owner", ["Europe/Berlin", "America/Los_Angeles", "Asia/Kolkata"])
def test_a_floating_series_has_as_many_dates_for_every_owner(owner: str) -> None:
    raw = weekly("RRULE:FREQ=WEEKLY;UNTIL=20260316T100000Z", start=":20260302T100000")
    assert len(starts(dated(raw, owner=owner))) == 3


@pytest.mark.parametrize(
    ("exception", "left"),
    [
        (f"EXDATE{BERLIN}20260303T100000,20260304T100000", ["02", "05"]),
        ("EXDATE:20260303T090000Z", ["02", "04", "05"]),
        ("EXDATE;TZID=America/New_York:20260303T040000", ["02", "04", "05"]),
        ("EXDATE;VALUE=DATE:20260303", ["02", "04", "05"]),
        ("EXDATE:20260303T100000Z", ["02", "03", "04", "05"]),
        (f"EXDATE{BERLIN}20260302T100000", ["03", "04", "05"]),
        ("EXDATE:,rubbish,20260303T090000Z", ["02", "04", "05"]),
    ],
)
def test_exceptions_are_instants_and_count_leaves_them_counted(exception: str, left: list[str]) -> None:
    found = starts(dated(weekly("RRULE:FREQ=DAILY;COUNT=4", exception)))
    assert [start[8:10] for start in found] == left


def test_an_exception_takes_one_hour_out_of_an_hourly_series_not_three() -> None:
    raw = weekly("RRULE:FREQ=HOURLY;COUNT=5", f"EXDATE{BERLIN}20260302T120000")
    assert [start[11:13] for start in starts(dated(raw))] == ["09", "10", "12", "13"]


def test_a_rule_of_exceptions_is_not_passed_over_in_silence() -> None:
    found = dated(weekly("RRULE:FREQ=DAILY;COUNT=3", "EXRULE:FREQ=DAILY;INTERVAL=2"))
    assert "EXRULE is not understood" in found.placed[0].occurrence.notes[0]


def test_extra_dates_may_be_in_any_zone_and_have_their_own_end() -> None:
    raw = weekly(
        f"DTEND{BERLIN}20260302T110000",
        "RDATE;TZID=America/New_York:20260304T100000",
        "RDATE;VALUE=PERIOD:20260305T090000Z/20260305T120000Z,20260306T090000Z/PT30M,20260307T090000Z/soon",
        "RDATE;VALUE=PERIOD:20260308T090000Z/20260307T120000Z,20260309T090000Z/-PT30M",
    )
    assert spans(dated(raw)) == [
        ("03-02T09:00Z", "03-02T10:00Z"),
        ("03-04T15:00Z", "03-04T16:00Z"),
        ("03-05T09:00Z", "03-05T12:00Z"),
        ("03-06T09:00Z", "03-06T09:30Z"),
        ("03-08T09:00Z", "03-08T09:00Z"),
        ("03-09T09:00Z", "03-09T09:00Z"),
    ]


@pytest.mark.parametrize(
    "recurrence",
    [f"{BERLIN}20260309T100000", ":20260309T090000Z", ";TZID=Asia/Tokyo:20260309T180000", ";VALUE=DATE:20260309"],
)
def test_an_override_replaces_its_date_whatever_zone_names_it(recurrence: str) -> None:
    moved = vevent("a", f"{BERLIN}20260310T150000", f"RECURRENCE-ID{recurrence}", "SUMMARY:Moved")
    found = dated(vcalendar(WEEKLY, moved), high=datetime(2026, 3, 20, tzinfo=UTC))
    assert starts(found) == ["2026-03-02T09:00Z", "2026-03-10T14:00Z", "2026-03-16T09:00Z"]
    assert [item.occurrence.recurrence_id for item in found.placed] == [
        "20260302T090000Z", "20260309T090000Z", "20260316T090000Z",
    ]  # fmt: skip


def test_a_change_for_this_and_the_future_moves_what_follows_and_keeps_its_wall_time() -> None:
    later = vevent(
        "a", ";TZID=America/New_York:20260309T090000", "DURATION:PT2H",
        f"RECURRENCE-ID;RANGE=THISANDFUTURE{BERLIN}20260309T100000", "SUMMARY:From New York",
    )  # fmt: skip
    found = dated(vcalendar(WEEKLY, later), high=datetime(2026, 4, 7, tzinfo=UTC))
    assert spans(found) == [
        ("03-02T09:00Z", "03-02T10:00Z"),
        ("03-09T13:00Z", "03-09T15:00Z"),
        ("03-16T13:00Z", "03-16T15:00Z"),
        ("03-23T13:00Z", "03-23T15:00Z"),
        ("03-30T13:00Z", "03-30T15:00Z"),
        ("04-06T13:00Z", "04-06T15:00Z"),
    ]


def test_a_cancelled_override_takes_its_date_away_and_says_what_it_was() -> None:
    off = vevent("a", f"{BERLIN}20260309T100000", f"RECURRENCE-ID{BERLIN}20260309T100000", "STATUS:CANCELLED")
    found = dated(vcalendar(WEEKLY, off), high=datetime(2026, 3, 20, tzinfo=UTC))
    assert starts(found) == ["2026-03-02T09:00Z", "-2026-03-09T09:00Z", "2026-03-16T09:00Z"]
    assert found.placed[1].occurrence.summary == "Talk"


def test_cancelling_this_and_the_future_ends_the_series() -> None:
    off = vevent(
        "a", f"{BERLIN}20260309T100000", f"RECURRENCE-ID;RANGE=THISANDFUTURE{BERLIN}20260309T100000", "STATUS:CANCELLED"
    )
    found = dated(vcalendar(WEEKLY, off), high=datetime(2026, 3, 20, tzinfo=UTC))
    assert starts(found) == ["2026-03-02T09:00Z", "-2026-03-09T09:00Z", "-2026-03-16T09:00Z"]


def test_a_message_that_cancels_the_series_cancels_each_date_of_it() -> None:
    message = vcalendar("METHOD:CANCEL", vevent("a", f"{BERLIN}20260302T100000", "SEQUENCE:1"))
    found = dated(vcalendar(WEEKLY) + message, high=datetime(2026, 3, 20, tzinfo=UTC))
    assert starts(found) == ["-2026-03-02T09:00Z", "-2026-03-09T09:00Z", "-2026-03-16T09:00Z"]


def test_an_old_cancellation_does_not_undo_a_newer_version() -> None:
    message = vcalendar("METHOD:CANCEL", vevent("a", f"{BERLIN}20260302T100000"))
    newer = vcalendar(vevent("a", f"{BERLIN}20260302T100000", "SEQUENCE:2"))
    assert starts(dated(newer + message)) == ["2026-03-02T09:00Z"]


def test_an_exception_beats_an_override_of_the_same_date() -> None:
    series = WEEKLY.replace("RRULE", f"EXDATE{BERLIN}20260309T100000\r\nRRULE")
    moved = vevent("a", f"{BERLIN}20260310T150000", f"RECURRENCE-ID{BERLIN}20260309T100000")
    found = dated(vcalendar(series, moved), high=datetime(2026, 3, 20, tzinfo=UTC))
    assert starts(found) == ["2026-03-02T09:00Z", "2026-03-16T09:00Z"]


@pytest.mark.parametrize(
    ("first", "second", "winner"),
    [
        ("SEQUENCE:1\r\nSUMMARY:one", "SEQUENCE:2\r\nSUMMARY:two", "two"),
        ("SEQUENCE:2\r\nSUMMARY:one", "SEQUENCE:1\r\nSUMMARY:two", "one"),
        ("LAST-MODIFIED:20260201T000000Z\r\nSUMMARY:one", "SUMMARY:two", "one"),
        ("SEQUENCE:x\r\nSUMMARY:one", "SUMMARY:two", "two"),
    ],
)
def test_of_two_versions_the_higher_sequence_wins_then_the_later(first: str, second: str, winner: str) -> None:
    raw = vcalendar(vevent("a", ":20260302T100000Z", first)) + vcalendar(vevent("a", ":20260302T100000Z", second))
    assert [item.occurrence.summary for item in dated(raw).placed] == [winner]


def test_entries_without_a_uid_are_told_apart_by_what_they_say() -> None:
    bare = [component("VEVENT", "DTSTART:20260302T100000Z", f"SUMMARY:{title}") for title in ("A", "B", "A")]
    found = dated(vcalendar(*bare))
    assert sorted(item.occurrence.summary for item in found.placed) == ["A", "B"]


def test_a_floating_time_is_the_owners_unless_the_calendar_names_a_zone() -> None:
    event = vevent("a", ":20260310T090000")
    assert starts(dated(vcalendar(event), owner="Asia/Tokyo")) == ["2026-03-10T00:00Z"]
    declared = dated(vcalendar("X-WR-TIMEZONE:America/New_York", event), owner="Asia/Tokyo")
    assert starts(declared) == ["2026-03-10T13:00Z"]
    assert (declared.placed[0].occurrence.floating, declared.placed[0].occurrence.zone) == (False, "America/New_York")


def test_a_zone_for_the_calendar_never_moves_utc_times_not_even_over_a_clock_change() -> None:
    raw = vcalendar("X-WR-TIMEZONE:Europe/Berlin", vevent("a", ":20260323T080000Z", "RRULE:FREQ=WEEKLY;COUNT=2"))
    assert starts(dated(raw)) == ["2026-03-23T08:00Z", "2026-03-30T08:00Z"]


@pytest.mark.parametrize(
    ("start", "lines", "expected"),
    [
        # 02:30 does not exist on 29 March and happens twice on 25 October in Berlin
        ("20260329T023000", "DURATION:PT30M", [("03-29T01:30Z", "03-29T02:00Z")]),
        ("20260329T023000", f"DTEND{BERLIN}20260329T040000", [("03-29T01:30Z", "03-29T02:00Z")]),
        ("20260329T023000", f"DTEND{BERLIN}20260329T024500", [("03-29T01:30Z", "03-29T01:45Z")]),
        ("20260329T013000", f"DTEND{BERLIN}20260329T033000", [("03-29T00:30Z", "03-29T01:30Z")]),
        ("20261025T023000", "DURATION:PT1H", [("10-25T00:30Z", "10-25T01:30Z")]),
        ("20261025T013000", f"DTEND{BERLIN}20261025T033000", [("10-24T23:30Z", "10-25T02:30Z")]),
        ("20260328T120000", "DURATION:P1D", [("03-28T11:00Z", "03-29T10:00Z")]),
        ("20260328T120000", "DURATION:PT24H", [("03-28T11:00Z", "03-29T11:00Z")]),
        (
            "20260328T023000", f"DTEND{BERLIN}20260328T033000\r\nRRULE:FREQ=DAILY;COUNT=3",
            [("03-28T01:30Z", "03-28T02:30Z"), ("03-29T01:30Z", "03-29T02:30Z"), ("03-30T00:30Z", "03-30T01:30Z")],
        ),
        (
            "20260327T220000", f"DTEND{BERLIN}20260328T060000\r\nRRULE:FREQ=DAILY;COUNT=2",
            [("03-27T21:00Z", "03-28T05:00Z"), ("03-28T21:00Z", "03-29T04:00Z")],
        ),
    ],
)  # fmt: skip
def test_clock_changes_inside_an_entry(start: str, lines: str, expected: list[tuple[str, str]]) -> None:
    assert spans(dated(weekly(lines, start=f"{BERLIN}{start}"))) == expected


def test_a_to_do_is_dated_by_its_deadline() -> None:
    todos = [
        component("VTODO", "UID:day", "DUE;VALUE=DATE:20260310", "SUMMARY:Tax"),
        component("VTODO", "UID:hour", f"DTSTART{BERLIN}20260311T080000", f"DUE{BERLIN}20260312T170000"),
        component("VTODO", "UID:long", f"DTSTART{BERLIN}20260313T080000", "DURATION:PT2H"),
        component("VTODO", "UID:weekly", f"DUE{BERLIN}20260320T170000", "RRULE:FREQ=WEEKLY;COUNT=2"),
        component("VTODO", "UID:done", "DUE:20260401T170000Z", "STATUS:COMPLETED"),
        component("VTODO", "UID:done2", "DUE:20260402T170000Z", "COMPLETED:20260101T000000Z"),
    ]
    found = dated(vcalendar(*todos))
    assert [(item.occurrence.uid, item.occurrence.due, item.occurrence.is_over) for item in found.placed] == [
        ("day", "2026-03-10", False),
        ("hour", "2026-03-12T17:00:00", False),
        ("long", "2026-03-13T10:00:00", False),
        ("weekly", "2026-03-20T17:00:00", False),
        ("weekly", "2026-03-27T17:00:00", False),
        ("done", "2026-04-01T17:00:00", True),
        ("done2", "2026-04-02T17:00:00", True),
    ]


@pytest.mark.parametrize(
    ("start", "end", "inside"),
    [
        ("20260301T100000Z", "20260301T110000Z", False),
        ("20260309T230000Z", "20260310T000000Z", False),
        ("20260309T230000Z", "20260310T000001Z", True),
        ("20260310T000000Z", "20260310T000000Z", True),
        ("20260310T235959Z", "20260312T000000Z", True),
        ("20260311T000000Z", "20260311T010000Z", False),
        ("20200101T000000Z", "20300101T000000Z", True),
    ],
)
def test_what_touches_the_window_is_in_it(start: str, end: str, inside: bool) -> None:
    low, high = datetime(2026, 3, 10, tzinfo=UTC), datetime(2026, 3, 11, tzinfo=UTC)
    assert bool(dated(weekly(f"DTEND:{end}", start=f":{start}"), low, high).placed) is inside


def test_whole_days_touch_the_window_by_the_owners_days() -> None:
    low, high = datetime(2026, 3, 9, 23, tzinfo=UTC), datetime(2026, 3, 10, 23, tzinfo=UTC)  # 10 March in Berlin
    raw = weekly("RRULE:FREQ=DAILY", start=";VALUE=DATE:20260301")
    assert starts(dated(raw, low, high)) == ["2026-03-10"]


def test_a_series_that_never_ends_is_cut_and_says_so() -> None:
    found = dated(weekly("RRULE:FREQ=SECONDLY"))
    assert len(found.placed) == 200
    assert found.cut == {"a"}


def test_a_series_that_is_too_much_work_to_reach_the_window_is_rejected() -> None:
    found = dated(weekly("RRULE:FREQ=MINUTELY;COUNT=2000000000", start=":19900101T000000Z"))
    assert (found.placed, found.cut) == ((), {"a"})
    assert [item.code for item in found.rejected] == ["endless_rule"]


def test_a_thousand_hostile_series_share_one_bound() -> None:
    bombs = [vevent(f"bomb-{n}", ":19900101T000000Z", "RRULE:FREQ=SECONDLY;COUNT=2000000000") for n in range(1_000)]
    healthy = vevent("z", ":20260310T090000Z")
    found = dated(vcalendar(*bombs, healthy))
    assert starts(found) == ["2026-03-10T09:00Z"]
    assert len(found.rejected) == 1_000
