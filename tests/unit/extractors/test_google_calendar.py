"""Google Calendar: sync tokens, series, calendars that come and go, and what it says when it refuses."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from extractors.google_calendar import GoogleCalendarConnector, connector
from extractors.google_calendar.config import GoogleCalendarConfig
from extractors.google_calendar.memory import ROWS_CAP, remembered
from extractors.testing import START, Key, Poll, context_for, events_of, poll, records_of
from extractors.testing.standin import Asked, Reply, StandIn
from schemas.errors import AuthError, CursorExpired, RateLimited, TransientError
from schemas.event import Event
from schemas.model import Json
from schemas.payloads import CalendarPayload
from tests.standins.google import ADDRESS, FakeCalendar, error

CASE = Path(__file__).parents[2] / "cases" / "calendar" / "c17_google_410.json"
CONNECTOR = GoogleCalendarConnector(page_items=3, calls_per_s=10_000)
KEY = Key(tokens=lambda refused: "token-1")


@pytest.fixture
def google() -> Iterator[FakeCalendar]:
    with FakeCalendar() as fake:
        yield fake
    assert fake.violations == []


def look(google: StandIn, cursor: Json = None, *, at: datetime = START, **settings: Any) -> Poll:
    config = GoogleCalendarConfig(base_url=google.url, allow_private=True, **settings)
    return poll(CONNECTOR, config, cursor, context_for(at), key=KEY)


def when(day: int, hour: int = 9) -> dict[str, str]:
    moment = START.replace(hour=hour) + timedelta(days=day)
    return {"dateTime": moment.isoformat(), "timeZone": "Europe/Berlin"}


def meeting(name: str, day: int = 1, **more: Any) -> dict[str, Any]:
    return {"id": name, "summary": name.title(), "start": when(day), "end": when(day, 10), **more}


def series(name: str, **more: Any) -> dict[str, Any]:
    return meeting(name, recurrence=["RRULE:FREQ=WEEKLY;COUNT=4"], **more)


def exception(name: str, day: int, **more: Any) -> dict[str, Any]:
    """Of a series, the date that was to be on that day."""
    original = when(day)
    stamp = datetime.fromisoformat(original["dateTime"]).strftime("%Y%m%dT%H%M%SZ")
    return {**meeting(f"{name}_{stamp}", day), "recurringEventId": name, "originalStartTime": original, **more}


def events(result: Poll) -> list[Event]:
    changes = [*result.upserts, *result.deletes]
    found, poison = events_of(CONNECTOR, records_of(CONNECTOR, changes, context_for()), context_for())
    assert not poison
    return found


def told(result: Poll) -> list[tuple[str, str]]:
    return [(event.kind.removeprefix("calendar."), event.title) for event in events(result)]


def asked(google: StandIn, since: int = 0) -> list[str]:
    return [f"{each.path.rpartition('/')[2]}{'+token' * ('syncToken' in each.query)}" for each in google.asked[since:]]


class _Scripted(StandIn):
    """The exchanges of a case file, after a first poll that gave what was there before."""

    def __init__(self, case: Mapping[str, Any]) -> None:
        super().__init__()
        self.replies = [each["response"] for each in case["exchanges"]]
        start, end = {"dateTime": "2026-03-10T10:00:00+01:00"}, {"dateTime": "2026-03-10T11:00:00+01:00"}
        self.before = [{"id": name, "status": "confirmed", "start": start, "end": end} for name in case["local_before"]]

    def answer(self, asked: Asked) -> Reply:
        if asked.path.endswith("/calendarList"):
            entry = {"id": ADDRESS, "summary": "Nora", "accessRole": "owner", "primary": True}
            return Reply.of({"items": [entry]})
        if not asked.path.endswith("/events"):
            return error(404, "notFound")
        if self.before:
            items, self.before = self.before, []
            return Reply.of({"items": items, "nextSyncToken": "old"})
        reply = self.replies.pop(0)
        return Reply.of(reply["json"], reply["status"])


def test_case_c17_a_lost_token_is_a_full_list_and_what_is_absent_is_gone() -> None:
    case = json.loads(CASE.read_text("utf-8"))
    wanted = json.loads(CASE.with_name("c17_google_410.expected.json").read_text("utf-8"))
    with _Scripted(case) as google:
        first = look(google)
        held = {upsert.native_id for upsert in first.upserts}
        assert held == {f"{name}@google.com" for name in case["local_before"]}
        second = look(google, first.cursor)
    assert second.error is None
    deleted = {delete.native_id for delete in second.deletes}
    assert deleted == {f"{name}@google.com" for name in wanted["deleted"]}
    held = (held | {upsert.native_id for upsert in second.upserts}) - deleted
    assert held == {f"{name}@google.com" for name in wanted["local_after"]}
    all_day = [event.subject for event in events(second) if event.all_day and event.op == "upsert"]
    assert all_day == [f"calendar:{name}@google.com" for name in wanted["all_day"]]
    assert remembered(second.cursor).calendars[ADDRESS].token == wanted["stored_sync_token"]
    assert second.pages[0].reset


def test_a_poll_with_nothing_new_is_two_questions_and_stores_nothing(google: FakeCalendar) -> None:
    google.put(meeting("choir"))
    first = look(google)
    before = len(google.asked)
    second = look(google, first.cursor)
    assert asked(google, before) == ["calendarList", "events+token"]
    assert [(page.complete, page.next_cursor) for page in second.pages] == [(True, None)]


def test_a_token_that_nobody_used_is_renewed_once_a_day(google: FakeCalendar) -> None:
    google.put(meeting("choir"))
    first = look(google)
    google.open("other@example.org", role="reader")
    google.put(meeting("elsewhere"), "other@example.org")  # tokens move on although nothing of ours changed
    later = look(google, first.cursor, at=START + timedelta(days=1))
    assert later.upserts == []
    renewed = remembered(later.cursor).calendars[ADDRESS].token
    assert renewed != remembered(first.cursor).calendars[ADDRESS].token


def test_a_meeting_is_moved_renamed_and_cancelled(google: FakeCalendar) -> None:
    google.put(meeting("dentist", 3))
    results = [look(google)]
    for change in (lambda: google.put(meeting("dentist", 4)), lambda: google.remove("dentist")):
        change()
        results.append(look(google, results[-1].cursor))
    assert [told(result) for result in results] == [
        [("scheduled", "Dentist")],
        [("changed", "Dentist")],
        [("cancelled", "Dentist")],
    ]
    (moved,) = events(results[1])
    assert isinstance(moved.payload, CalendarPayload)
    assert moved.payload.previous_start == START.replace(hour=9) + timedelta(days=3)
    assert len({event.subject for result in results for event in events(result)}) == 1


def test_going_back_to_the_old_time_is_a_version_of_its_own(google: FakeCalendar) -> None:
    results: list[Poll] = []
    for day in (3, 4, 3):
        google.put(meeting("dentist", day))
        results.append(look(google, results[-1].cursor if results else None))
    versions = [upsert.version for result in results for upsert in result.upserts]
    assert len(versions) == len(set(versions)) == 3


def test_a_series_is_expanded_here_with_its_moved_and_cancelled_dates(google: FakeCalendar) -> None:
    google.put(series("choir"))
    google.put(exception("choir", 8, start=when(9), end=when(9, 10), summary="Choir, a day later"))
    google.put({**exception("choir", 15, start=None, end=None, summary=None), "status": "cancelled"})
    result = look(google)
    days = [(event.title, event.starts_at and (event.starts_at - START).days) for event in events(result)]
    assert days == [("Choir", 1), ("Choir, a day later", 9), ("Choir", 22)]
    assert all(each.query.get("singleEvents", "false") == "false" for each in google.asked)


def test_one_date_of_a_series_is_cancelled_later(google: FakeCalendar) -> None:
    google.put(series("choir"))
    first = look(google)
    cancelled = {
        "id": "choir_20260310T090000Z",
        "status": "cancelled",
        "recurringEventId": "choir",
        "originalStartTime": when(8),
        "iCalUID": None,
        "start": None,
    }
    google.put(cancelled)
    before = len(google.asked)
    second = look(google, first.cursor)
    assert asked(google, before)[:3] == ["calendarList", "events+token", "events"]
    assert told(second) == [("cancelled", "Choir")]
    (event,) = events(second)
    assert (event.op, event.starts_at) == ("retract", START.replace(hour=9) + timedelta(days=8))
    assert look(google, second.cursor).upserts == []


def test_a_whole_series_is_removed_with_its_exceptions(google: FakeCalendar) -> None:
    google.put(series("choir"))
    google.put(exception("choir", 8, summary="With guests"))
    first = look(google)
    google.remove("choir")
    second = look(google, first.cursor)
    assert {delete.native_id for delete in second.deletes} == {upsert.native_id for upsert in first.upserts}
    assert len(second.deletes) == 4
    assert second.upserts == []


def test_a_series_that_becomes_a_single_meeting_loses_its_other_dates(google: FakeCalendar) -> None:
    google.put(series("choir"))
    first = look(google)
    google.put(meeting("choir"))
    second = look(google, first.cursor)
    assert len(second.deletes) == 4
    assert [upsert.native_id for upsert in second.upserts] == ["choir@google.com"]


def test_a_change_of_one_date_says_nothing_of_the_others(google: FakeCalendar) -> None:
    google.put(series("choir"))
    google.put(meeting("dentist", 2))
    first = look(google)
    google.put(exception("choir", 8, location="Other hall"))
    second = look(google, first.cursor)
    assert [event.payload.location for event in events(second) if isinstance(event.payload, CalendarPayload)] == [
        "Other hall"
    ]
    assert second.deletes == []


def test_an_invited_meeting_keeps_the_uid_of_its_organizer_and_is_withdrawn_by_a_bare_id(google: FakeCalendar) -> None:
    invited = meeting(
        "abc123",
        iCalUID="040000008200E00074C5B7101A82E008@outlook.example",
        organizer={"email": "boss@example.com", "displayName": "Boss"},
        attendees=[
            {"email": "boss@example.com", "responseStatus": "accepted", "organizer": True},
            {"email": "nora.alias@example.org", "self": True, "responseStatus": "needsAction"},
            {"email": "room@example.com", "resource": True, "responseStatus": "accepted"},
        ],
    )
    google.put(invited)
    first = look(google)
    (event,) = events(first)
    assert (event.kind, event.trust) == ("calendar.invited", "outside")
    assert event.subject == "calendar:040000008200E00074C5B7101A82E008@outlook.example"
    assert [(party.role, party.address) for party in event.parties] == [
        ("organizer", "boss@example.com"),
        ("attendee", "boss@example.com"),
        ("attendee", "nora.alias@example.org"),
    ]
    google.remove("abc123")
    assert [delete.native_id for delete in look(google, first.cursor).deletes] == [first.upserts[0].native_id]


def test_an_answer_and_free_time_are_kept(google: FakeCalendar) -> None:
    me = {"email": ADDRESS, "self": True, "responseStatus": "declined"}
    google.put(meeting("party", attendees=[me]))
    google.put(meeting("birthday", 2, transparency="transparent", organizer={"email": ADDRESS, "self": True}))
    payloads = [event.payload for event in events(look(google))]
    assert [(p.answer, p.transparent) for p in payloads if isinstance(p, CalendarPayload)] == [
        ("declined", True),
        ("", True),
    ]


def test_where_somebody_works_is_no_appointment(google: FakeCalendar) -> None:
    google.put(meeting("home", eventType="workingLocation", workingLocationProperties={"type": "homeOffice"}))
    google.put(meeting("focus", 2, eventType="focusTime"))
    assert told(look(google)) == [("scheduled", "Focus")]


def test_only_calendars_that_the_owner_owns_are_read_unless_others_are_named(google: FakeCalendar) -> None:
    google.open("family@group.calendar.example", summary="Family")
    google.open("holidays@group.calendar.example", role="reader", summary="Holidays")
    google.open("colleague@example.org", role="freeBusyReader")
    google.open("old@group.calendar.example", summary="Old", hidden=True)
    google.put(meeting("long over"), "old@group.calendar.example")
    google.put(meeting("dentist"))
    google.put(meeting("trip", 2), "family@group.calendar.example")
    google.put(meeting("labour day", 3), "holidays@group.calendar.example")
    assert sorted(title for _, title in told(look(google))) == ["Dentist", "Trip"]
    named = look(google, calendars=("holidays",))
    assert told(named) == [("scheduled", "Labour Day")]
    assert [event.trust for event in events(named)] == ["outside"]
    missing = look(google, calendars=("Work",))
    assert isinstance(missing.error, AuthError)
    assert "there are: Nora" in str(missing.error)


def test_a_calendar_that_is_called_otherwise_now_is_missed_aloud(google: FakeCalendar) -> None:
    google.open("family@group.calendar.example", summary="Family")
    google.put(meeting("trip"), "family@group.calendar.example")
    first = look(google, calendars=("nora", "Family"))
    google.calendars["family@group.calendar.example"].entry["summary"] = "Household"
    second = look(google, first.cursor, calendars=("nora", "Family"))
    assert told(second) == [("cancelled", "Trip")]
    assert any("family: no calendar is called that" in warning for warning in second.warnings)


def test_the_same_meeting_in_two_calendars_is_two_events(google: FakeCalendar) -> None:
    google.open("family@group.calendar.example", summary="Family")
    google.put(meeting("trip"))
    google.put(meeting("trip"), "family@group.calendar.example")
    first = look(google)
    assert len({upsert.native_id for upsert in first.upserts}) == 2
    google.remove("trip", "family@group.calendar.example")
    second = look(google, first.cursor)
    assert len(second.deletes) == 1
    assert second.deletes[0].native_id.startswith("trip@google.com/")


def test_a_calendar_that_is_deleted_takes_its_entries_along(google: FakeCalendar) -> None:
    google.open("family@group.calendar.example", summary="Family")
    google.put(meeting("trip"), "family@group.calendar.example")
    google.put(meeting("dentist"))
    first = look(google)
    google.close_calendar("family@group.calendar.example")
    second = look(google, first.cursor)
    assert told(second) == [("cancelled", "Trip")]
    assert look(google, second.cursor).deletes == []


def test_a_list_of_calendars_that_lacks_one_which_is_there_withdraws_nothing(google: FakeCalendar) -> None:
    google.open("family@group.calendar.example", summary="Family")
    google.put(meeting("trip"), "family@group.calendar.example")
    first = look(google)
    ordinary = google._calendars

    def short(query: Mapping[str, str]) -> Reply:
        whole = json.loads(ordinary(query).body)
        return Reply.of({**whole, "items": whole["items"][:1]})

    google._calendars = short  # type: ignore[method-assign]
    second = look(google, first.cursor)
    assert isinstance(second.error, TransientError)
    assert (second.deletes, second.cursor) == ([], first.cursor)


def test_an_empty_list_of_calendars_is_not_believed(google: FakeCalendar) -> None:
    google._calendars = lambda query: Reply.of({"kind": "calendar#calendarList", "items": []})  # type: ignore[method-assign]
    assert isinstance(look(google).error, TransientError)


@pytest.mark.parametrize("forgets", [True, False])
def test_a_calendar_that_was_really_emptied_is_believed(google: FakeCalendar, forgets: bool) -> None:
    for number in range(3):
        google.put(meeting(f"meeting{number}", number))
    first = look(google)
    for number in range(3):
        google.remove(f"meeting{number}")
    google.forget()
    google.forgets_deleted = forgets
    assert len(look(google, first.cursor).deletes) == 3


def test_a_full_list_after_a_lost_token_raises_nothing_that_was_known(google: FakeCalendar) -> None:
    google.put(series("choir"))
    google.put(meeting("dentist"))
    first = look(google)
    google.put(meeting("news", 5))
    google.forget()
    second = look(google, first.cursor)
    assert all(page.reset for page in second.pages if page.upserts)
    assert told(second) == [("scheduled", "News")]


def test_a_new_month_in_the_horizon_is_no_word_from_the_source(google: FakeCalendar) -> None:
    google.put(meeting("checkup", 440, recurrence=None))
    google.put(meeting("dentist", 1))
    first = look(google)
    assert told(first) == [("scheduled", "Dentist")]
    second = look(google, first.cursor, at=START + timedelta(days=45))
    assert told(second) == [("scheduled", "Checkup")]
    assert not any(page.spoke for page in second.pages)


def test_the_token_comes_only_when_all_of_a_calendar_is_told(google: FakeCalendar) -> None:
    for number in range(8):
        google.put(meeting(f"meeting{number}", number))
    result = look(google)
    tokens = [remembered(page.next_cursor).calendars[ADDRESS].token for page in result.pages]
    assert tokens == ["", "", "", f"1-{google.number}"]


def test_an_entry_that_was_told_before_a_kill_and_then_removed_is_withdrawn(google: FakeCalendar) -> None:
    for number in range(8):
        google.put(meeting(f"meeting{number}", number, iCalUID=f"foreign-{number}@example.com"))
    config = GoogleCalendarConfig(base_url=google.url, allow_private=True)
    first = look(google)
    google.put(meeting("late", 9, iCalUID="late@example.com"))
    killed = poll(CONNECTOR, config, first.cursor, context_for(), key=KEY, kill_after=1)
    assert [upsert.native_id for upsert in killed.upserts] == ["late@example.com"]
    google.remove("late")
    assert [delete.native_id for delete in look(google, killed.cursor).deletes] == ["late@example.com"]


def test_a_list_without_a_token_at_its_end_is_not_taken_for_complete(google: FakeCalendar) -> None:
    ordinary = google.reply

    def endless(asked: Asked) -> Reply:
        if not asked.path.endswith("/events"):
            return ordinary(asked)
        return Reply.of({"kind": "calendar#events", "items": []})

    google.reply = endless  # type: ignore[method-assign]
    assert isinstance(look(google).error, TransientError)


def test_a_page_token_that_repeats_ends_the_poll_where_it_was(google: FakeCalendar) -> None:
    ordinary = google.reply

    def endless(asked: Asked) -> Reply:
        if not asked.path.endswith("/events"):
            return ordinary(asked)
        return Reply.of({"kind": "calendar#events", "items": [], "nextPageToken": "again"})

    google.reply = endless  # type: ignore[method-assign]
    result = look(google)
    assert isinstance(result.error, TransientError)
    assert result.cursor is None


@pytest.mark.parametrize("reason", ["rateLimitExceeded", "userRateLimitExceeded", "quotaExceeded"])
def test_too_many_calls_are_not_a_lack_of_permission(google: FakeCalendar, reason: str) -> None:
    google.refusals.append(error(403, reason, domain="usageLimits"))
    result = look(google)
    assert isinstance(result.error, RateLimited)
    assert result.error.retry_at is not None
    assert result.error.retry_at > START


def test_a_consent_that_lacks_a_scope_names_it(google: FakeCalendar) -> None:
    google.refusals.append(error(403, "insufficientPermissions"))
    result = look(google)
    assert isinstance(result.error, AuthError)
    assert "calendar.events.readonly" in str(result.error)


def test_more_than_can_be_watched_leaves_the_nearest(google: FakeCalendar) -> None:
    google.page = 100
    for number in range(20):
        google.put(meeting(f"meeting{number}", number))
    result = look(google, max_occurrences=5)
    assert sorted(upsert.native_id for upsert in result.upserts) == [f"meeting{n}@google.com" for n in range(5)]
    assert any("nearest 5" in warning for warning in result.warnings)
    assert look(google, result.cursor, max_occurrences=5).upserts == []


def test_a_full_calendar_fits_into_its_cursor(google: FakeCalendar) -> None:
    google.page = 1_000
    for number in range(60):
        name = f"{number:026d}"
        rule = {"recurrence": ["RRULE:FREQ=DAILY;COUNT=50"]}
        google.put({**meeting(name, 1, **rule), "summary": f"A long title of a meeting {number}" * 4})
    google.check = lambda asked, reply: []  # type: ignore[method-assign]
    config = GoogleCalendarConfig(base_url=google.url, allow_private=True)
    result = poll(GoogleCalendarConnector(page_items=2_000), config, None, context_for(), key=KEY)
    assert len(result.upserts) == 3_000
    assert len(json.dumps(result.cursor)) < 700_000
    assert ROWS_CAP < 4_000


def test_a_poison_event_is_told_once_and_the_rest_goes_on(google: FakeCalendar) -> None:
    google.put({"id": "odd", "start": {"dateTime": "2026-02-31T09:00:00Z"}})
    google.put(meeting("dentist"))
    first = look(google)
    assert [rejected.code for rejected in first.rejected] == ["bad_date"]
    assert told(first) == [("scheduled", "Dentist")]
    google.forget()
    assert look(google, first.cursor).rejected == []


def test_an_event_that_becomes_unreadable_is_not_withdrawn(google: FakeCalendar) -> None:
    google.put(meeting("dentist"))
    first = look(google)
    google.put({"id": "dentist", "start": {"dateTime": "2026-02-31T09:00:00Z"}})
    second = look(google, first.cursor)
    assert (second.deletes, [rejected.code for rejected in second.rejected]) == ([], ["bad_date"])


def test_a_check_lists_the_calendars(google: FakeCalendar) -> None:
    google.open("holidays@group.calendar.example", role="reader", summary="Holidays", zone="UTC")

    async def ask() -> list[str]:
        async with KEY.open(START) as access:
            config = GoogleCalendarConfig(base_url=google.url, allow_private=True)
            return list(await CONNECTOR.check(config, replace(context_for(), access=access)))

    assert asyncio.run(ask()) == ["Nora (owner, Europe/Berlin)", "Holidays (reader, UTC)"]


def test_the_least_scopes_are_asked_for() -> None:
    assert connector.login.scopes == {
        "google": (
            "https://www.googleapis.com/auth/calendar.events.readonly",
            "https://www.googleapis.com/auth/calendar.calendarlist.readonly",
        )
    }


def test_a_cursor_of_another_version_is_an_expired_one() -> None:
    with pytest.raises(CursorExpired):
        remembered({"format": 9})
