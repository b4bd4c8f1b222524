"""The caldav connector on Radicale and Xandikos: a year in the life of calendars."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from extractors.caldav import Caldav
from extractors.caldav.config import CaldavConfig
from extractors.caldav.poll import Sizes
from extractors.calendar.testing import component, vcalendar, vevent
from extractors.testing import START, Key, Poll, context_for, events_of, poll, records_of
from schemas.errors import AuthError
from schemas.event import Event
from schemas.model import Json
from tests.peers import caldav
from tests.peers.process import provided

BERLIN = ";TZID=Europe/Berlin:"
STARTERS = {"radicale": caldav.radicale, "xandikos": caldav.xandikos}


@pytest.fixture(scope="module", params=list(STARTERS))
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[caldav.Server]:
    yield from provided(STARTERS[request.param], tmp_path_factory.mktemp(request.param))


class Household:
    """A person at a desk, an account, and the cursor that the service would keep."""

    def __init__(self, server: caldav.Server) -> None:
        self.server = server
        self.desk = caldav.Desk(server)
        self.desk.clear()
        self.work = self.desk.make("work", "Work")
        self.connector = Caldav(Sizes(objects=3, items=2))
        self.key = Key({"password": caldav.PASSWORD})
        self.cursor: Any = None

    @property
    def config(self) -> CaldavConfig:
        return CaldavConfig(url=self.server.url, username=caldav.USER, allow_private=True)

    def put(self, uid: str, *lines: str, start: str = "20260310T100000", path: str = "") -> None:
        event = vevent(uid, f"{BERLIN}{start}", "DURATION:PT1H", *lines)
        self.desk.put(f"{path or self.work}{uid}.ics", vcalendar(event))

    def poll(self, *, days: int = 0, kill_after: int | None = None) -> Poll:
        context = context_for(START + timedelta(days=days))
        result = poll(self.connector, self.config, self.cursor, context, key=self.key, kill_after=kill_after)
        self.cursor = result.cursor
        return result

    def events(self) -> list[Event]:
        result = self.poll()
        assert result.error is None
        changes = records_of(self.connector, [*result.upserts, *result.deletes], context_for())
        events, poison = events_of(self.connector, changes, context_for())
        assert not poison
        return events


@pytest.fixture
def home(server: caldav.Server) -> Iterator[Household]:
    household = Household(server)
    yield household
    household.desk.close()


def told(result: Poll) -> tuple[list[str], list[str]]:
    assert result.error is None
    return sorted(upsert.native_id for upsert in result.upserts), sorted(one.native_id for one in result.deletes)


def test_calendars_are_found_from_the_bare_host(home: Household) -> None:
    home.desk.make("chores", "Chores", components=("VTODO",))

    async def run() -> tuple[dict[str, Json], list[str]]:
        async with home.key.open(START) as access:
            context = replace(context_for(), access=access)
            return (
                await home.connector.discover(home.server.url, context),
                [*await home.connector.check(home.config, context)],
            )

    found, calendars = asyncio.run(run())
    assert found == {"url": f"{home.server.url}/"}
    assert "Work: events and to-dos" in calendars
    assert any(line.startswith("Chores: ") for line in calendars)


def test_an_event_comes_changes_and_goes(home: Household) -> None:
    home.put("dentist", "SUMMARY:Dentist")
    home.put("choir", "SUMMARY:Choir", start="20260311T190000")
    first = home.events()
    assert [(event.kind, event.title) for event in first] == [
        ("calendar.scheduled", "Dentist"), ("calendar.scheduled", "Choir"),
    ]  # fmt: skip
    assert first[0].starts_at == datetime(2026, 3, 10, 9, tzinfo=UTC)
    assert home.events() == []
    home.put("dentist", "SUMMARY:Dentist", start="20260312T100000")
    (moved,) = home.events()
    assert (moved.kind, moved.subject) == ("calendar.changed", first[0].subject)
    home.desk.delete(f"{home.work}dentist.ics")
    (gone,) = home.events()
    assert (gone.kind, gone.op, gone.subject) == ("calendar.cancelled", "retract", first[0].subject)
    assert home.events() == []


def test_a_calendar_that_is_made_is_read_and_one_that_is_deleted_takes_its_entries_along(home: Household) -> None:
    home.put("a")
    home.poll()
    club = home.desk.make("club", "Club")
    home.put("b", path=club)
    home.put("c", path=club)
    assert told(home.poll()) == (["b", "c"], [])
    home.desk.delete(club)
    assert told(home.poll()) == ([], ["b", "c"])
    assert told(home.poll()) == ([], [])


def test_a_series_with_exceptions_is_told_date_by_date(home: Household) -> None:
    series = vevent("choir", f"{BERLIN}20260303T190000", "DURATION:PT2H", "SUMMARY:Choir",
                    "RRULE:FREQ=WEEKLY;COUNT=5", f"EXDATE{BERLIN}20260317T190000")  # fmt: skip
    moved = vevent("choir", f"{BERLIN}20260311T180000", "DURATION:PT2H", "SUMMARY:Choir (Wednesday!)",
                   f"RECURRENCE-ID{BERLIN}20260310T190000")  # fmt: skip
    home.desk.put(f"{home.work}choir.ics", vcalendar(series, moved))
    assert [(f"{event.starts_at:%m-%d %H}", event.title) for event in home.events()] == [
        ("03-03 18", "Choir"), ("03-11 17", "Choir (Wednesday!)"), ("03-24 18", "Choir"), ("03-31 17", "Choir"),
    ]  # fmt: skip
    home.desk.put(f"{home.work}choir.ics", vcalendar(series))
    (back,) = home.events()
    assert (back.kind, f"{back.starts_at:%m-%d %H}") == ("calendar.changed", "03-10 18")


def test_a_to_do_with_a_date_is_told_until_it_is_done(home: Household) -> None:
    todo = ("UID:tax", "DTSTAMP:20260101T000000Z", "DUE;VALUE=DATE:20260331", "SUMMARY:Tax return")
    home.desk.put(f"{home.work}tax.ics", vcalendar(component("VTODO", *todo)))
    (event,) = home.events()
    assert (event.title, str(event.due_at)[:10]) == ("Tax return", "2026-03-31")
    home.desk.put(f"{home.work}tax.ics", vcalendar(component("VTODO", *todo, "STATUS:COMPLETED")))
    (done,) = home.events()
    assert done.op == "retract"


def test_a_dead_token_loses_nothing_and_repeats_nothing(home: Household) -> None:
    for uid in "abcde":
        home.put(uid)
    home.poll()
    home.desk.delete(f"{home.work}b.ics")
    home.put("c", "SUMMARY:Renamed")
    home.put("f")
    for state in home.cursor["calendars"].values():
        state[0], state[1] = "another mark", "http://example.org/no-such-token"
    result = home.poll()
    assert told(result) == (["c", "f"], ["b"])
    assert {upsert.native_id: upsert.is_new for upsert in result.upserts} == {"c": False, "f": True}
    assert all(page.reset for page in result.pages)
    assert told(home.poll()) == ([], [])


def test_a_poll_that_is_killed_between_pages_goes_on_and_sees_what_changed_meanwhile(home: Household) -> None:
    uids = [f"m{number}" for number in range(8)]
    for uid in uids:
        home.put(uid)
    killed = home.poll(kill_after=2)
    assert home.cursor is not None
    home.desk.delete(f"{home.work}m0.ics")
    home.put("m7", "SUMMARY:Renamed")
    home.put("m9")
    rest = home.poll()
    ids = {upsert.native_id for upsert in (*killed.upserts, *rest.upserts)}
    was_told = "m0" in {upsert.native_id for upsert in killed.upserts}
    assert ids - {"m0"} == {*uids[1:], "m9"}
    assert [one.native_id for one in rest.deletes] == (["m0"] if was_told else [])
    assert len(rest.upserts) < len(uids) + 1
    assert told(home.poll()) == ([], [])


def test_an_entry_that_moves_to_another_calendar_is_neither_new_nor_withdrawn(home: Household) -> None:
    family = home.desk.make("a-family", "Family")
    home.put("dentist")
    home.put("other")
    home.poll()
    home.put("dentist", path=family)
    home.desk.delete(f"{home.work}dentist.ics")
    assert told(home.poll()) == ([], [])


def test_names_with_odd_letters_are_the_same_in_every_answer(home: Household) -> None:
    work = home.desk.make("bücher & co", "Bücher &amp; Co")
    home.desk.put(f"{work}a%20b@c+ü.ics", vcalendar(vevent("odd", f"{BERLIN}20260310T100000", "SUMMARY:Ü < & >")))
    (event,) = home.events()
    assert event.title == "Ü < & >"
    assert home.events() == []
    home.desk.delete(f"{work}a%20b@c+ü.ics")
    assert told(home.poll()) == ([], ["odd"])


def test_a_server_whose_calendars_are_read_is_not_changed(home: Household) -> None:
    home.put("a")
    before = {path: path.read_bytes() for path in home.server.folder.rglob("*.ics")}
    home.poll()
    home.poll()
    assert {path: path.read_bytes() for path in home.server.folder.rglob("*.ics")} == before


def test_a_password_that_is_not_taken_any_more_is_for_the_person(home: Household) -> None:
    if home.server.name == "xandikos":
        pytest.skip("Xandikos asks for no password")
    home.put("a")
    home.poll()
    home.server.let_in(allowed=False)
    try:
        assert isinstance(home.poll().error, AuthError)
    finally:
        home.server.let_in(allowed=True)
    assert told(home.poll()) == ([], [])
