"""Polls of a calendar that changes: what is told, what is withdrawn, and what is not believed at once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from extractors.calendar.testing import component, vcalendar, vevent
from extractors.connector import Context
from extractors.ics import Ics
from extractors.ics.config import IcsConfig
from extractors.testing import Poll, events_of, poll, records_of
from schemas.errors import PoisonError
from schemas.event import Event
from schemas.payloads import CalendarPayload

BERLIN = ";TZID=Europe/Berlin:"
NOW = datetime(2026, 3, 2, 8, tzinfo=UTC)


class Household:
    """A calendar file, a connector and the cursor that a service would keep."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.connector = Ics()
        self.path = folder / "family.ics"
        self.config = IcsConfig(**({"path": self.path} | settings))
        self.cursor: Any = None
        self.zone = ZoneInfo("Europe/Berlin")

    def write(self, *parts: str) -> None:
        self.path.write_bytes(vcalendar(*parts))

    def poll(self, now: datetime = NOW) -> Poll:
        result = poll(self.connector, self.config, self.cursor, self.context(now))
        self.cursor = result.cursor
        return result

    def context(self, now: datetime = NOW) -> Context:
        return Context("nora", "calendar", self.zone, now)

    def events(self, now: datetime = NOW) -> list[Event]:
        result = self.poll(now)
        assert result.error is None
        changes = records_of(self.connector, [*result.upserts, *result.deletes], self.context(now))
        events, poison = events_of(self.connector, changes, self.context(now))
        assert not poison
        return events


@pytest.fixture
def home(tmp_path: Path) -> Household:
    return Household(tmp_path)


def said(events: list[Event]) -> list[tuple[str, str, str]]:
    return [(event.kind, event.op, event.title) for event in events]


def meeting(start: str = "20260310T100000", *lines: str, title: str = "Dentist") -> str:
    return vevent("dentist@example.org", f"{BERLIN}{start}", "DURATION:PT1H", f"SUMMARY:{title}", *lines)


def payload(event: Event) -> CalendarPayload:
    assert isinstance(event.payload, CalendarPayload)
    return event.payload


def test_a_meeting_is_scheduled_moved_and_called_off(home: Household) -> None:
    home.write(meeting(), vevent("other", f"{BERLIN}20260311T100000"))
    scheduled = home.events()[0]
    assert said([scheduled]) == [("calendar.scheduled", "upsert", "Dentist")]
    assert scheduled.starts_at == datetime(2026, 3, 10, 9, tzinfo=UTC)
    assert (scheduled.wall_start, scheduled.zone) == ("2026-03-10T10:00:00", "Europe/Berlin")

    home.write(meeting("20260312T100000"), vevent("other", f"{BERLIN}20260311T100000"))
    (changed,) = home.events()
    assert said([changed]) == [("calendar.changed", "upsert", "Dentist")]
    assert payload(changed).previous_start == scheduled.starts_at

    home.write(vevent("other", f"{BERLIN}20260311T100000"))
    (cancelled,) = home.events()
    assert said([cancelled]) == [("calendar.cancelled", "retract", "Dentist")]
    assert cancelled.starts_at == changed.starts_at
    assert {event.subject for event in (scheduled, changed, cancelled)} == {"calendar:dentist@example.org"}
    assert {event.matter for event in (scheduled, changed, cancelled)} == {"calendar:dentist@example.org"}
    assert home.events() == []


def test_a_meeting_marked_as_cancelled_is_called_off_once(home: Household) -> None:
    home.write(meeting())
    home.events()
    home.write(meeting("20260310T100000", "STATUS:CANCELLED"))
    (cancelled,) = home.events()
    assert said([cancelled]) == [("calendar.cancelled", "retract", "Dentist")]
    assert payload(cancelled).status == "cancelled"
    home.write(meeting("20260310T100000", "STATUS:CANCELLED", "SEQUENCE:9"))
    assert home.events() == []


def test_a_meeting_that_moves_away_and_back_is_told_each_time(home: Household) -> None:
    ids = []
    for start in ("20260310T100000", "20260312T100000", "20260310T100000", "20260312T100000"):
        home.write(meeting(start))
        ids += [event.id for event in home.events()]
    assert len(set(ids)) == 4


def test_a_meeting_that_comes_back_after_it_was_called_off_is_new_again(home: Household) -> None:
    other = vevent("other", f"{BERLIN}20260311T100000")
    home.write(meeting(), other)
    first = home.events()[0]
    home.write(other)
    home.events()
    home.write(meeting(), other)
    (again,) = home.events()
    assert again.kind == "calendar.scheduled"
    assert again.id != first.id
    assert again.subject == first.subject


def test_what_nobody_would_notice_is_not_told(home: Household) -> None:
    home.write(meeting("20260310T100000", "SEQUENCE:1", "DESCRIPTION:old"))
    home.events()
    home.write(
        meeting(
            "20260310T100000", "SEQUENCE:7", "LAST-MODIFIED:20260301T000000Z", "DESCRIPTION:new", "X-A:1",
            component("VALARM", "TRIGGER:-PT5M"),
        )
    )  # fmt: skip
    assert home.events() == []


@pytest.mark.parametrize(
    "change",
    [
        meeting(title="Surgeon"),
        meeting("20260310T100000", "LOCATION:Main Street 1"),
        meeting("20260310T100000", "ATTENDEE:mailto:ben@example.org"),
        meeting("20260310T100000", "STATUS:TENTATIVE"),
        meeting().replace("PT1H", "PT2H"),
        meeting("20260310T090000").replace("Europe/Berlin", "Europe/London"),
    ],
)
def test_what_a_person_would_notice_is_told(home: Household, change: str) -> None:
    home.write(meeting())
    home.events()
    home.write(change)
    assert [event.kind for event in home.events()] == ["calendar.changed"]


def test_one_date_of_a_series_is_cancelled_alone(home: Household) -> None:
    series = vevent("s", f"{BERLIN}20260302T180000", "RRULE:FREQ=WEEKLY;COUNT=4", "SUMMARY:Choir")
    home.write(series)
    assert len(home.events()) == 4
    home.write(series.replace("RRULE", f"EXDATE{BERLIN}20260316T180000\r\nRRULE"))
    (cancelled,) = home.events()
    assert (cancelled.kind, cancelled.subject) == ("calendar.cancelled", "calendar:s#20260316T170000Z")
    assert payload(cancelled).recurring


def test_dates_enter_the_window_as_new_and_leave_it_without_a_word(home: Household) -> None:
    home.write(vevent("s", f"{BERLIN}20260101T180000", "RRULE:FREQ=MONTHLY", "SUMMARY:Rent"))
    first = home.events()
    assert first[0].starts_at == datetime(2026, 1, 1, 17, tzinfo=UTC)
    assert home.events(NOW + timedelta(days=20)) == []
    later = home.events(NOW + timedelta(days=100))
    assert later
    assert {event.kind for event in later} == {"calendar.scheduled"}
    assert not {event.id for event in first} & {event.id for event in later}


def test_only_a_file_that_changed_counts_as_a_word_from_the_source(home: Household) -> None:
    home.write(vevent("s", f"{BERLIN}20260101T180000", "RRULE:FREQ=MONTHLY", "SUMMARY:Rent"))
    assert all(page.spoke for page in home.poll().pages)
    rolled = home.poll(NOW + timedelta(days=100))
    assert rolled.upserts
    assert not any(page.spoke for page in rolled.pages)
    home.write(vevent("s", f"{BERLIN}20260101T190000", "RRULE:FREQ=MONTHLY", "SUMMARY:Rent"))
    assert all(page.spoke for page in home.poll(NOW + timedelta(days=101)).pages)


def test_a_calendar_that_drops_old_entries_calls_nothing_off(home: Household) -> None:
    old, new = (vevent(uid, f"{BERLIN}{day}T100000") for uid, day in (("old", "20260220"), ("new", "20260310")))
    home.write(old, new)
    home.events()
    home.write(new)
    assert home.events() == []


def test_a_past_entry_taken_out_from_between_others_is_called_off(home: Household) -> None:
    days = {"a": "20260215", "b": "20260220", "c": "20260310"}
    entries = {uid: vevent(uid, f"{BERLIN}{day}T100000") for uid, day in days.items()}
    home.write(*entries.values())
    home.events()
    home.write(entries["a"], entries["c"])
    assert [event.subject for event in home.events()] == ["calendar:b"]


def test_a_calendar_that_lost_its_last_entry_is_believed_at_the_second_look(home: Household) -> None:
    home.write(meeting())
    home.events()
    home.write()
    first = home.poll()
    assert (first.deletes, first.error) == ([], None)
    assert "suddenly without a single entry" in first.warnings[0]
    second = home.poll(NOW + timedelta(minutes=5))
    assert [delete.native_id for delete in second.deletes] == ["dentist@example.org"]
    assert home.poll(NOW + timedelta(minutes=10)).deletes == []


def test_a_calendar_that_was_empty_only_for_a_moment_called_nothing_off(home: Household) -> None:
    home.write(meeting())
    home.events()
    home.write()
    home.poll()
    home.write(meeting())
    assert home.events() == []
    home.write()
    assert home.poll().deletes == [], "the first sighting was forgotten"


@pytest.mark.parametrize(
    "content",
    [b"", b"   \r\n", b"<html>Sign in</html>", b"\x00" * 100, vcalendar(meeting())[:-30], b"BEGIN:VCALENDAR\r\n"],
)
def test_a_broken_file_keeps_everything_and_is_told_of(home: Household, content: bytes) -> None:
    home.write(meeting())
    home.events()
    before = home.cursor
    home.path.write_bytes(content)
    broken = home.poll()
    assert (broken.upserts, broken.deletes, broken.rejected) == ([], [], [])
    assert "what was in it stays" in broken.warnings[0]
    assert home.cursor == before
    home.write(meeting("20260312T100000"))
    assert [event.kind for event in home.events()] == ["calendar.changed"]


def test_a_file_that_never_was_a_calendar_is_rejected_once(home: Household) -> None:
    home.path.write_bytes(b"<html>Sign in</html>")
    assert [item.code for item in home.poll().rejected] == ["html"]
    assert home.poll().rejected == []
    home.path.write_bytes(b"%PDF")
    assert [item.code for item in home.poll().rejected] == ["not_a_calendar"]


def test_a_bad_entry_is_rejected_once_although_its_file_changes(home: Household) -> None:
    bad = component("VEVENT", "UID:bad", "SUMMARY:When?")
    home.write(bad, meeting())
    assert [item.code for item in home.poll().rejected] == ["no_start"]
    home.write(bad, meeting("20260312T100000"))
    assert home.poll().rejected == []


def folder_of(home: Household, **files: str) -> None:
    home.config = IcsConfig(path=home.path.parent)
    for name, event in files.items():
        (home.path.parent / f"{name}.ics").write_bytes(vcalendar(event))


def test_a_file_that_leaves_a_folder_takes_its_entries_along(home: Household) -> None:
    folder_of(home, a=vevent("a", f"{BERLIN}20260310T100000"), b=vevent("b", f"{BERLIN}20260311T100000"))
    home.events()
    (home.path.parent / "a.ics").unlink()
    assert [event.subject for event in home.events()] == ["calendar:a"]


def test_a_file_that_leaves_while_no_other_can_be_read_takes_nothing_along(home: Household) -> None:
    folder_of(home, a=vevent("a", f"{BERLIN}20260310T100000"), b=vevent("b", f"{BERLIN}20260311T100000"))
    home.events()
    (home.path.parent / "a.ics").unlink()
    (home.path.parent / "b.ics").write_bytes(b"")
    broken = home.poll()
    assert broken.deletes == []
    assert len(broken.warnings) == 2


def test_a_broken_file_does_not_stop_the_others(home: Household) -> None:
    folder_of(home, a=vevent("a", f"{BERLIN}20260310T100000"), b=vevent("b", f"{BERLIN}20260311T100000"))
    home.events()
    (home.path.parent / "a.ics").write_bytes(b"")
    (home.path.parent / "b.ics").write_bytes(vcalendar(vevent("b", f"{BERLIN}20260312T100000")))
    assert [(event.kind, event.subject) for event in home.events()] == [("calendar.changed", "calendar:b")]


def test_renaming_a_file_changes_nothing(home: Household) -> None:
    folder_of(home, a=vevent("a", f"{BERLIN}20260310T100000"), b=vevent("b", f"{BERLIN}20260311T100000"))
    home.events()
    (home.path.parent / "a.ics").rename(home.path.parent / "z.ics")
    assert home.events() == []


def test_the_same_meeting_in_two_files_is_one_meeting(home: Household) -> None:
    old, new = (vevent("m", f"{BERLIN}20260310T100000", f"SEQUENCE:{n}", f"SUMMARY:v{n}") for n in (1, 2))
    folder_of(home, family=old, work=new)
    assert [event.title for event in home.events()] == ["v2"]
    (home.path.parent / "work.ics").unlink()
    assert said(home.events()) == [("calendar.changed", "upsert", "v1")]


def test_an_unchanged_cancelled_meeting_is_not_announced_when_it_was_never_known(home: Household) -> None:
    home.write(meeting("20260310T100000", "STATUS:CANCELLED"))
    assert home.events() == []


def test_a_cancellation_message_is_told_even_of_an_unknown_meeting(home: Household) -> None:
    home.write("METHOD:CANCEL", meeting())
    (event,) = home.events()
    assert (event.kind, event.op, event.trust) == ("calendar.cancelled", "retract", "outside")


def test_a_done_to_do_is_withdrawn_as_done(home: Household) -> None:
    todo = ("UID:t", "SUMMARY:Tax return", "DUE;VALUE=DATE:20260331")
    home.write(component("VTODO", *todo))
    (open_,) = home.events()
    assert (open_.kind, open_.starts_at) == ("calendar.scheduled", None)
    assert open_.due_at == datetime(2026, 3, 31, 21, 59, 59, tzinfo=UTC)
    home.write(component("VTODO", *todo, "STATUS:COMPLETED"))
    (done,) = home.events()
    assert (done.kind, done.op) == ("calendar.cancelled", "retract")
    assert payload(done).completed
    assert payload(done).todo


INVITATION = (
    "ORGANIZER;CN=Eve:mailto:eve@example.org",
    "ATTENDEE;PARTSTAT=NEEDS-ACTION;CN=Nora:mailto:Nora@Example.org",
    "ATTENDEE;PARTSTAT=ACCEPTED:mailto:ben@example.org",
)


def test_an_invitation_waits_for_the_owners_answer(tmp_path: Path) -> None:
    home = Household(tmp_path, addresses=("nora@example.org",))
    home.write(meeting("20260310T100000", *INVITATION))
    (invited,) = home.events()
    assert (invited.kind, invited.trust, payload(invited).answer) == ("calendar.invited", "outside", "needs-action")
    assert [(party.role, party.address) for party in invited.parties] == [
        ("organizer", "eve@example.org"), ("attendee", "nora@example.org"), ("attendee", "ben@example.org"),
    ]  # fmt: skip
    home.write(meeting("20260310T100000", *(line.replace("NEEDS-ACTION", "DECLINED") for line in INVITATION)))
    (answered,) = home.events()
    assert (answered.kind, payload(answered).answer, payload(answered).transparent) == (
        "calendar.changed", "declined", True,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "settings", "kind", "trust"),
    [
        ((), {}, "calendar.scheduled", "service"),
        ((), {"mine": False}, "calendar.scheduled", "outside"),
        (INVITATION, {}, "calendar.scheduled", "outside"),
        (INVITATION, {"addresses": ["eve@example.org"]}, "calendar.scheduled", "service"),
        (INVITATION, {"addresses": ["ben@example.org"]}, "calendar.scheduled", "outside"),
    ],
)
def test_whose_words_a_title_is_depends_on_who_organizes(
    tmp_path: Path, lines: tuple[str, ...], settings: dict[str, Any], kind: str, trust: str
) -> None:
    home = Household(tmp_path, **settings)
    home.write(meeting("20260310T100000", *lines))
    (event,) = home.events()
    assert (event.kind, event.trust) == (kind, trust)
    home.write(vevent("other", f"{BERLIN}20260311T100000"))
    assert [event.trust for event in home.events() if event.op == "retract"] == [trust]


def test_a_request_is_an_invitation_even_when_nobody_knows_the_owners_address(home: Household) -> None:
    home.write("METHOD:REQUEST", meeting("20260310T100000", *INVITATION))
    assert [event.kind for event in home.events()] == ["calendar.invited"]


def test_a_moved_clock_zone_of_the_owner_moves_floating_times_but_announces_nothing(home: Household) -> None:
    home.write(vevent("pills", ":20260310T080000", "RRULE:FREQ=DAILY;COUNT=3"), vevent("day", ";VALUE=DATE:20260310"))
    assert len(home.events()) == 4
    home.zone = ZoneInfo("America/New_York")
    assert home.events() == []


def test_too_many_occurrences_keep_the_nearest_and_call_nothing_off(tmp_path: Path) -> None:
    home = Household(tmp_path, max_occurrences=10)
    home.write(vevent("s", f"{BERLIN}20260101T100000", "RRULE:FREQ=DAILY"))
    first = home.poll()
    days = [upsert.native_id[2:10] for upsert in first.upserts]
    assert days[0] == "20260225"
    assert len(days) == 10
    assert any("more repeats than can be watched" in warning for warning in first.warnings)
    home.write(vevent("s", f"{BERLIN}20260101T100000", "RRULE:FREQ=DAILY", "X-A:1"))
    later = home.poll(NOW + timedelta(days=3))
    assert later.deletes == []
    assert len(later.upserts) == 3


@pytest.mark.parametrize("changes", [{"raw": b"{}"}, {"raw": b"\xff"}, {"op": "delete", "meta": {}}])
def test_a_record_that_no_calendar_wrote_is_poison(home: Household, changes: dict[str, Any]) -> None:
    home.write(meeting())
    (record,) = records_of(home.connector, home.poll().upserts, home.context())
    with pytest.raises(PoisonError, match="calendar record"):
        home.connector.normalise(record.model_copy(update=changes), home.context())


def test_a_description_in_html_is_text_and_a_title_can_be_a_deadline(home: Household) -> None:
    home.write(
        vevent("t", ";VALUE=DATE:20260331", "SUMMARY:Rent due", "DESCRIPTION:<p>Pay <b>950 EUR</b></p><br>to Ben")
    )
    (event,) = home.events()
    assert "<" not in event.text
    assert "Pay 950 EUR" in event.text
    assert [fact.on.isoformat() for fact in event.facts if fact.kind == "due"] == ["2026-03-31"]
