"""What ``forewatch events preview`` shows of a calendar file, and which files the connector takes for its own."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from extractors.calendar.testing import component, vcalendar, vevent
from extractors.connector import Context, Preview, PreviewOptions
from extractors.ics import connector

CONTEXT = Context("nora", "preview", ZoneInfo("Europe/Berlin"), datetime(2026, 3, 2, 8, tzinfo=UTC))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "family.ics"


def show(file: Path, raw: bytes, *window: datetime) -> Preview:
    file.write_bytes(raw)
    options = PreviewOptions(window=(window[0], window[1])) if window else PreviewOptions()
    return connector.preview(file, CONTEXT, options)


def test_the_summary_names_occurrences_with_instants_and_dates(file: Path) -> None:
    shown = show(
        file,
        vcalendar(
            "METHOD:PUBLISH",
            vevent("b", ";TZID=Europe/Berlin:20260311T100000", "DURATION:PT1H", "SUMMARY:Dentist", "LOCATION:Town"),
            vevent("a", ";VALUE=DATE:20260310", "DTEND;VALUE=DATE:20260312", "SUMMARY:Trip"),
            vevent("c", ":20260312T080000", "SUMMARY:Pills"),
            component("VTODO", "UID:t", "DUE;VALUE=DATE:20260331", "SUMMARY:Tax"),
            vevent("x", ":20260401T080000Z", "STATUS:CANCELLED"),
        ),
    )
    rows = shown.summary["occurrences"]
    assert [(row["uid"], row["start"], row["end"], row["last_day"], row["floating"]) for row in rows] == [
        ("a", "2026-03-10", "2026-03-12", "2026-03-11", False),
        ("b", "2026-03-11T09:00:00Z", "2026-03-11T10:00:00Z", None, False),
        ("c", "2026-03-12T07:00:00Z", "2026-03-12T07:00:00Z", None, True),
        ("t", "2026-03-31", "2026-03-31", "2026-03-31", False),
    ]
    assert (rows[1]["summary"], rows[1]["location"], rows[1]["all_day"]) == ("Dentist", "Town", False)
    assert [row["uid"] for row in shown.summary["cancelled"]] == ["x"]
    assert shown.summary["method"] == "PUBLISH"
    assert sorted(event.kind for event in shown.events) == [*["calendar.cancelled"], *["calendar.scheduled"] * 4]
    assert json.loads(json.dumps(shown.summary)) == shown.summary


def test_without_a_window_a_month_back_and_a_year_ahead_are_shown(file: Path) -> None:
    shown = show(file, vcalendar(vevent("a", ":20200101T100000Z", "RRULE:FREQ=DAILY")))
    rows = shown.summary["occurrences"]
    assert (rows[0]["start"], rows[-1]["start"]) == ("2026-01-30T10:00:00Z", "2027-04-05T10:00:00Z")


def test_any_window_will_do(file: Path) -> None:
    raw = vcalendar(vevent("a", ":20260310T100000Z", "RRULE:FREQ=YEARLY"))
    for low, high in ((1, 9999), (9000, 9999), (1, 2), (2027, 2026)):
        shown = show(file, raw, datetime(low, 1, 1, tzinfo=UTC), datetime(high, 1, 1, tzinfo=UTC))
        assert bool(shown.events) is (low == 1 and high == 9999)


def test_a_file_with_nothing_in_the_window_says_so(file: Path) -> None:
    shown = show(file, vcalendar(vevent("a", ":19990101T100000Z")))
    assert (list(shown.events), list(shown.rejected)) == ([], [])
    assert "nothing in it between" in shown.warnings[0]


def test_what_is_wrong_has_a_place_and_a_reason(file: Path) -> None:
    shown = show(file, vcalendar(vevent("a", ";TZID=Mars:20260310T100000"), component("VEVENT", "UID:b")))
    assert shown.summary["rejected"] == [
        {"where": "family.ics:9", "code": "no_start", "reason": "an entry without DTSTART"}
    ]
    assert "unknown time zone 'Mars'" in shown.warnings[0]
    assert len(shown.events) == 1


@pytest.mark.parametrize("raw", [b"", b"<html>", b"BEGIN:VCALENDAR"])
def test_a_broken_file_is_rejected_not_raised(file: Path, raw: bytes) -> None:
    assert [item.reason for item in show(file, raw).rejected]


def test_a_missing_file_is_rejected_with_what_to_do(tmp_path: Path) -> None:
    (rejected,) = connector.preview(tmp_path / "none.ics", CONTEXT, PreviewOptions()).rejected
    assert rejected.code == "unreadable"
    assert "is not there" in rejected.reason


def test_a_preview_gives_the_ids_that_a_poll_would_give(file: Path) -> None:
    raw = vcalendar(vevent("a", ":20260310T100000Z", "RRULE:FREQ=DAILY;COUNT=3"))
    assert [event.id for event in show(file, raw).events] == [event.id for event in show(file, raw).events]


def test_calendars_are_known_by_their_beginning_or_their_name(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(vcalendar())
    (tmp_path / "b.txt").write_bytes(b"From: somebody\n\nBEGIN mail")
    (tmp_path / "broken.ics").write_bytes(b"")
    (tmp_path / "folder").mkdir()
    (tmp_path / "empty").mkdir()
    (tmp_path / "folder" / "one.ICS").write_bytes("\ufeffbegin:vcalendar\n".encode())
    os.mkfifo(tmp_path / "pipe.ics")
    known = {path.name: connector.sniff(path) for path in [*tmp_path.iterdir(), tmp_path / "missing"]}
    assert known == {
        "a": True,
        "b.txt": False,
        "broken.ics": True,
        "folder": True,
        "empty": False,
        "pipe.ics": False,
        "missing": False,
    }


def test_a_folder_may_hold_pipes_links_and_strange_names(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.ics")
    (tmp_path / "dangling.ics").symlink_to(tmp_path / "nowhere")
    (tmp_path / ".hidden.ics").write_bytes(vcalendar(vevent("hidden", ":20260310T100000Z")))
    (tmp_path / os.fsdecode(b"caf\xe9.ics")).write_bytes(vcalendar(vevent("a", ":20260310T100000Z")))
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "b.ics").write_bytes(vcalendar(vevent("b", ":20260311T100000Z")))
    shown = connector.preview(tmp_path, CONTEXT, PreviewOptions())
    assert [row["uid"] for row in shown.summary["occurrences"]] == ["a", "b"]
    assert {item.where for item in shown.rejected} == {"pipe.ics", "dangling.ics"}
    assert all(item.reason for item in shown.rejected)
