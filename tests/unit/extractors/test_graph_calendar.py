"""Calendars by Microsoft Graph: the laws of connectors, faults, and what is known to go wrong with its times."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from pydantic import ValidationError

from extractors.graph_calendar import GraphCalendar
from extractors.graph_calendar.config import GraphCalendarConfig
from extractors.testing import START, ConnectorContract, Key, Poll, context_for, events_of, poll, records_of
from extractors.testing.faults import fault_machine
from extractors.testing.standin import Reply
from schemas.errors import AuthError, TransientError
from schemas.event import Event
from schemas.model import Json
from tests.standins.graph import FakeGraph, meeting, utc

CONNECTOR = GraphCalendar(page_items=2)
FIRST = datetime(2026, 3, 10, 8, tzinfo=UTC)
OWNER = {"name": "Nora", "address": "nora@example.net"}
MINE = "calendar/1="


class CalendarSource:
    """A calendar with a meeting a day, on a running stand-in."""

    def __init__(self) -> None:
        self.graph = FakeGraph()
        self.graph.start()
        self.graph.calendar(MINE, "Kalender", owner=OWNER, isDefaultCalendar=True)
        self.key = Key(tokens=lambda refused: "good")
        self.config = GraphCalendarConfig(allow_private=True, base_url=f"{self.graph.url}/v1.0")
        self.count = 0

    @property
    def mine(self) -> dict[str, dict[str, Any]]:
        return self.graph.events[MINE]

    def put(self, **event: Any) -> None:
        self.graph.put_event(MINE, meeting(**event))

    def add(self) -> None:
        self.count += 1
        day = FIRST + timedelta(days=self.count)
        self.put(id=f"event-{self.count:04}", subject=f"Meeting {self.count}", start=day)

    def change(self) -> None:
        id = min(self.mine)
        event = self.mine[id]
        self.graph.put_event(MINE, {**event, "subject": event["subject"] + "!"})

    def remove(self) -> None:
        self.graph.drop_event(MINE, min(self.mine))

    def poison(self) -> None:
        self.put(id="poison", subject="No day", start=utc("2026-13-45T00:00:00"))

    def breakages(self) -> Mapping[str, Callable[[], None]]:
        return {
            "down": self.graph.stop,
            "html": lambda: self.graph.arm("html"),
            "revoked": lambda: self.graph.arm("revoked"),
            "no calendars": self.graph.calendars.clear,
        }

    def fingerprint(self) -> Json:
        return [str(event) for event in self.mine.values()]

    def faults(self) -> Mapping[str, Callable[[int], None]]:
        return self.graph.faults()

    def heal(self) -> None:
        self.graph.heal()

    def lose_cursors(self) -> None:
        self.graph.lose_cursors()

    def close(self) -> None:
        self.graph.stop()
        assert self.graph.violations == []


@pytest.fixture
def source() -> Iterator[CalendarSource]:
    made = CalendarSource()
    yield made
    made.close()


def look(source: CalendarSource, cursor: Json = None, *, hours: int = 0) -> Poll:
    return poll(CONNECTOR, source.config, cursor, context_for(START + timedelta(hours=hours)), key=source.key)


def events(*polls: Poll) -> list[Any]:
    changes = [change for each in polls for change in (*each.upserts, *each.deletes)]
    found, poison = events_of(CONNECTOR, records_of(CONNECTOR, changes, context_for()), context_for())
    assert poison == []
    return found


def one(source: CalendarSource, **event: Any) -> Event:
    """The only event of a calendar that holds this."""
    source.put(**{"id": "a", "subject": "Dentist", "start": FIRST, **event})
    (found,) = events(look(source))
    assert isinstance(found, Event)
    return found


class TestGraphCalendar(ConnectorContract):
    connector = CONNECTOR
    sources: list[CalendarSource] = []

    def source(self, folder: Path) -> CalendarSource:
        self.sources.append(CalendarSource())
        return self.sources[-1]

    def teardown_method(self) -> None:
        while self.sources:
            self.sources.pop().close()


TestGraphCalendarFaults = fault_machine(CalendarSource, CONNECTOR, examples=15, steps=10).TestCase


def test_an_event_has_its_instant_its_own_clock_and_its_words(source: CalendarSource) -> None:
    event = one(source)
    assert (event.kind, event.title, event.trust) == ("calendar.scheduled", "Dentist", "service")
    assert event.starts_at == FIRST
    assert (event.wall_start, event.zone) == ("2026-03-10T09:00:00", "Europe/Berlin")
    assert event.payload.location == "Room 1"
    assert event.payload.calendar == "Kalender"


def test_a_whole_day_is_its_date_wherever_the_owner_lives(source: CalendarSource) -> None:
    event = one(source, isAllDay=True, start=utc("2026-03-10T00:00:00"), end=utc("2026-03-12T00:00:00"))
    assert (event.wall_start, event.wall_end, event.all_day, event.zone) == ("2026-03-10", "2026-03-12", True, None)
    assert event.starts_at == datetime(2026, 3, 10, tzinfo=ZoneInfo("Europe/Berlin"))


def test_a_whole_day_that_ends_when_it_begins_lasts_that_day(source: CalendarSource) -> None:
    event = one(source, isAllDay=True, start=utc("2026-03-10T00:00:00"), end=utc("2026-03-10T00:00:00"))
    assert event.wall_end == "2026-03-11"


def test_an_answer_in_a_windows_zone_is_not_read_as_utc(source: CalendarSource) -> None:
    zone = "W. Europe Standard Time"
    start = {"dateTime": "2026-07-10T09:00:00.0000000", "timeZone": zone}
    event = one(source, start=start, end={**start, "dateTime": "2026-07-10T10:00:00.0000000"})
    assert event.starts_at == datetime(2026, 7, 10, 7, tzinfo=UTC)


def test_a_zone_that_nobody_knows_leaves_the_instant_as_it_is(source: CalendarSource) -> None:
    event = one(source, originalStartTimeZone="tzone://Microsoft/Custom")
    assert event.starts_at == FIRST
    assert event.zone == "Europe/Berlin"


def test_the_wall_time_follows_daylight_saving(source: CalendarSource) -> None:
    assert one(source, start=datetime(2026, 7, 10, 7, tzinfo=UTC)).wall_start == "2026-07-10T09:00:00"


@pytest.mark.parametrize(
    ("show_as", "transparent", "status"),
    [("free", True, "confirmed"), ("workingElsewhere", True, "confirmed"), ("tentative", False, "tentative")],
)
def test_what_leaves_the_time_free_blocks_nothing(
    source: CalendarSource, show_as: str, transparent: bool, status: str
) -> None:
    event = one(source, showAs=show_as)
    assert (event.payload.transparent, event.payload.status) == (transparent, status)


def invited(response: str, **more: Any) -> dict[str, Any]:
    return {
        "isOrganizer": False,
        "organizer": {"emailAddress": {"name": "Ada", "address": "Ada@Example.org"}},
        "responseStatus": {"response": response, "time": "2026-02-01T08:00:00Z"},
        "attendees": [{"type": "required", "status": {"response": "none"}, "emailAddress": OWNER}],
        **more,
    }


@pytest.mark.parametrize(
    ("response", "kind", "answer"),
    [
        ("notResponded", "calendar.invited", "needs-action"),
        ("accepted", "calendar.scheduled", "accepted"),
        ("tentativelyAccepted", "calendar.scheduled", "tentative"),
        ("none", "calendar.scheduled", ""),
    ],
)
def test_an_invitation_waits_for_an_answer_until_there_is_one(
    source: CalendarSource, response: str, kind: str, answer: str
) -> None:
    event = one(source, **invited(response))
    assert (event.kind, event.payload.answer, event.trust) == (kind, answer, "outside")
    assert event.payload.organizer == "ada@example.org"


def test_what_was_declined_blocks_nothing(source: CalendarSource) -> None:
    assert one(source, **invited("declined")).payload.transparent


def test_an_invitation_that_wants_no_answer_asks_for_none(source: CalendarSource) -> None:
    assert one(source, **invited("notResponded", responseRequested=False)).kind == "calendar.scheduled"


def test_a_cancelled_meeting_is_withdrawn(source: CalendarSource) -> None:
    source.add()
    first = look(source)
    event = source.mine["event-0001"]
    source.graph.put_event(MINE, {**event, "isCancelled": True})
    (found,) = events(look(source, first.cursor, hours=1))
    assert (found.kind, found.op) == ("calendar.cancelled", "retract")


GOID = "040000008200E00074C5B7101A82E008{day}C0A1F7B2D9DA01000000000000000010000000ABCDEF"


def series(source: CalendarSource, count: int = 3) -> None:
    for at in range(count):
        put_date(source, at)


def put_date(source: CalendarSource, at: int, **more: Any) -> None:
    start = FIRST + timedelta(weeks=at)
    source.put(
        **{
            "id": f"date-{at}",
            "subject": "Choir",
            "start": start,
            "type": "occurrence",
            "seriesMasterId": "master",
            "iCalUId": GOID.format(day=f"{start.year:04X}{start.month:02X}{start.day:02X}"),
            "originalStart": f"{start:%Y-%m-%dT%H:%M:%SZ}",
            **more,
        }
    )


def test_the_dates_of_a_series_are_one_matter_and_the_master_is_no_date(source: CalendarSource) -> None:
    series(source)
    source.put(id="master", subject="Choir", start=FIRST, type="seriesMaster", iCalUId=GOID.format(day="00000000"))
    found = events(look(source))
    assert [event.payload.recurring for event in found] == [True] * 3
    assert {event.payload.uid for event in found} == {GOID.format(day="00000000")}
    assert [event.payload.recurrence_id for event in found] == [
        "20260310T080000Z",
        "20260317T080000Z",
        "20260324T080000Z",
    ]
    assert {event.title for event in found} == {"Choir"}


def test_a_moved_date_of_a_series_stays_the_same_date(source: CalendarSource) -> None:
    series(source)
    first = look(source)
    put_date(source, 1, type="exception", start=FIRST + timedelta(days=8), end=utc(FIRST + timedelta(days=8, hours=2)))
    (moved,) = events(look(source, first.cursor, hours=1))
    assert moved.kind == "calendar.changed"
    assert moved.payload.recurrence_id == "20260317T080000Z"
    assert moved.payload.previous_start == FIRST + timedelta(weeks=1)


def test_one_date_of_a_series_can_go_alone(source: CalendarSource) -> None:
    series(source)
    first = look(source)
    source.graph.drop_event(MINE, "date-1")
    (gone,) = events(look(source, first.cursor, hours=1))
    assert (gone.kind, gone.op, gone.title) == ("calendar.cancelled", "retract", "Choir")


@pytest.mark.parametrize(
    ("zone", "midnight"),
    [
        ("W. Europe Standard Time", "2026-03-09T23:00:00Z"),
        ("New Zealand Standard Time", "2026-03-09T11:00:00Z"),
        ("Eastern Standard Time", "2026-03-10T04:00:00Z"),
        ("UTC", "2026-03-10T00:00:00Z"),
    ],
)
def test_a_whole_day_of_a_series_keeps_its_date_in_every_zone(source: CalendarSource, zone: str, midnight: str) -> None:
    event = one(
        source,
        type="occurrence",
        seriesMasterId="master",
        isAllDay=True,
        start=utc("2026-03-10T00:00:00"),
        end=utc("2026-03-11T00:00:00"),
        originalStart=midnight,
        originalStartTimeZone=zone,
    )
    assert event.payload.recurrence_id == "20260310"


def test_a_forgotten_place_tells_only_what_is_new_and_gone(source: CalendarSource) -> None:
    for _ in range(4):
        source.add()
    first = look(source)
    source.add()
    source.remove()
    source.lose_cursors()
    again = look(source, first.cursor, hours=1)
    assert all(page.reset for page in again.pages)
    assert [len(again.upserts), len(again.deletes)] == [1, 1]


def test_a_new_month_brings_what_it_uncovers_without_a_word_from_the_source(source: CalendarSource) -> None:
    source.add()
    far = datetime(2027, 5, 20, 8, tzinfo=UTC)
    source.put(id="far", subject="Next year", start=far)
    first = look(source)
    assert [event.title for event in events(first)] == ["Meeting 1"]
    rolled = poll(CONNECTOR, source.config, first.cursor, context_for(START + timedelta(days=30)), key=source.key)
    assert [event.title for event in events(rolled)] == ["Next year"]
    assert not any(page.spoke or page.reset for page in rolled.pages)


def test_what_leaves_the_window_is_not_withdrawn(source: CalendarSource) -> None:
    source.put(id="past", subject="Past", start=datetime(2026, 2, 3, 8, tzinfo=UTC))
    source.add()
    first = look(source)
    assert len(first.upserts) == 2
    later = poll(CONNECTOR, source.config, first.cursor, context_for(START + timedelta(days=70)), key=source.key)
    assert (later.upserts, later.deletes) == ([], [])


def test_a_calendar_that_is_suddenly_empty_is_believed_when_the_next_poll_agrees(source: CalendarSource) -> None:
    for _ in range(3):
        source.add()
    first = look(source)
    kept = dict(source.mine)
    source.mine.clear()
    source.lose_cursors()
    doubted = look(source, first.cursor, hours=1)
    assert doubted.deletes == []
    assert doubted.warnings
    source.mine.update(kept)
    assert look(source, doubted.cursor, hours=2).upserts == []
    source.mine.clear()
    assert len(look(source, doubted.cursor, hours=3).deletes) == 3


def test_a_deleted_calendar_takes_its_events_with_it_and_another_is_read(source: CalendarSource) -> None:
    source.add()
    source.graph.calendar("team", "Team", canEdit=False, owner={"name": "Ada", "address": "ada@example.org"})
    source.graph.put_event("team", meeting("t1", "Town hall", FIRST))
    first = look(source)
    assert {event.title: event.trust for event in events(first)} == {"Meeting 1": "service", "Town hall": "outside"}
    del source.graph.calendars["team"]
    second = look(source, first.cursor, hours=1)
    assert [event.title for event in events(second)] == ["Town hall"]
    assert [event.op for event in events(second)] == ["retract"]


def test_a_meeting_in_two_calendars_is_told_once(source: CalendarSource) -> None:
    source.put(id="a", subject="Both", start=FIRST, iCalUId="same")
    source.graph.calendar("team", "Team", canEdit=False)
    source.graph.put_event("team", meeting("b", "Both", FIRST, iCalUId="same"))
    assert len(look(source).upserts) == 1


def test_only_the_calendars_that_are_asked_for_are_read(source: CalendarSource) -> None:
    source.add()
    source.graph.calendar("team", "Team")
    source.graph.put_event("team", meeting("t1", "Town hall", FIRST))
    source.config = source.config.model_copy(update={"calendars": ("team",)})
    assert [event.title for event in events(look(source))] == ["Town hall"]
    source.config = source.config.model_copy(update={"calendars": ("Nowhere",)})
    assert isinstance(look(source).error, AuthError)


def test_an_unchanged_calendar_costs_two_requests(source: CalendarSource) -> None:
    source.add()
    first = look(source)
    asked = len(source.graph.asked)
    assert look(source, first.cursor, hours=1).pages[-1].next_cursor is None
    assert len(source.graph.asked) - asked == 2
    assert look(source, first.cursor, hours=13).pages[-1].next_cursor is not None


def test_a_calendar_that_does_not_tell_its_changes_is_always_read(source: CalendarSource) -> None:
    source.graph.overrides["calendarView/delta"] = Reply.of({"error": {"code": "ErrorInvalidRequest"}}, 400)
    source.add()
    first = look(source)
    assert len(first.upserts) == 1
    source.change()
    second = look(source, first.cursor, hours=1)
    assert len(second.upserts) == 1
    third = look(source, second.cursor, hours=2)
    assert (third.error, third.upserts, third.deletes) == (None, [], [])


def test_a_link_that_is_no_longer_understood_is_forgotten(source: CalendarSource) -> None:
    source.add()
    first = look(source)
    source.graph.overrides["calendarView/delta"] = Reply.of({"error": {"code": "BadRequest"}}, 400)
    again = look(source, first.cursor, hours=1)
    assert (again.error, again.upserts, again.deletes) == (None, [], [])


def test_a_missing_permission_is_named(source: CalendarSource) -> None:
    source.graph.overrides["me/calendars"] = Reply.of({"error": {"code": "ErrorAccessDenied"}}, 403)
    error = look(source).error
    assert isinstance(error, AuthError)
    assert "Calendars.Read" in error.remedy


def test_a_list_that_is_none_is_not_believed(source: CalendarSource) -> None:
    source.add()
    first = look(source)
    source.add()
    source.graph.overrides["calendarView"] = Reply.of({"@odata.context": "$metadata", "value": "nothing"})
    source.graph.check = lambda asked, reply: []  # type: ignore[method-assign]  # the stand-in misbehaves on purpose
    assert isinstance(look(source, first.cursor, hours=1).error, TransientError)


def test_html_in_a_description_is_read_as_text(source: CalendarSource) -> None:
    body = {"contentType": "html", "content": "<html><body><p>Bring the forms</p></body></html>"}
    assert "<p>" not in one(source, body=body).text


def test_the_token_goes_nowhere_unencrypted() -> None:
    with pytest.raises(ValidationError, match="https://"):
        GraphCalendarConfig(base_url="http://graph.example.org/v1.0")


@pytest.mark.parametrize(
    ("hint", "settings"),
    [("", {}), (" Nora@Outlook.com ", {"addresses": ["nora@outlook.com"]})],
)
def test_an_address_or_nothing_is_all_that_is_asked(hint: str, settings: dict[str, Json]) -> None:
    found = asyncio.run(CONNECTOR.discover(hint, context_for()))
    assert found == {"provider": "microsoft", **settings}
    assert GraphCalendarConfig.model_validate(found)


def test_what_is_no_address_is_refused() -> None:
    with pytest.raises(AuthError, match="no mail address"):
        asyncio.run(CONNECTOR.discover("outlook", context_for()))


def test_a_check_lists_the_calendars(source: CalendarSource) -> None:
    source.graph.calendar("team", "Team", canEdit=False, owner={"name": "Ada", "address": "ada@example.org"})

    async def run() -> list[str]:
        async with source.key.open(START) as access:
            return list(await CONNECTOR.check(source.config, replace(context_for(), access=access)))

    assert asyncio.run(run()) == ["Kalender", "Team (of others)"]
