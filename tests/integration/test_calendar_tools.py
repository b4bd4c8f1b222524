"""Meetings and to-dos on real CalDAV servers: made, moved, answered, cancelled, and seen there by another program."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import icalendar
import pytest

from actions.run.attempt import Answer, attempt
from actions.testing.laws import KEY, OTHER
from actions.tools import ics
from actions.tools.kept import Kept
from actions.tools.meetings import INVITE, RESCHEDULE, MeetingAnswer, MeetingCancel, MeetingCreate, MeetingMove
from actions.tools.tasks import TaskCreate, TaskMark
from actions.tools.tool import Args, Tool
from extractors.calendar.testing import vcalendar, vevent
from extractors.connector import Access
from extractors.testing import Key
from forewatch.outgoing.accounts import Outgoing
from schemas.account import AccountState
from schemas.clock import ManualClock
from schemas.model import Json
from tests.peers import caldav
from tests.peers.process import provided

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
BERLIN = ";TZID=Europe/Berlin:"
STARTERS = {"radicale": caldav.radicale, "xandikos": caldav.xandikos}
WAIT_S = 60.0


@pytest.fixture(scope="module", params=list(STARTERS))
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[caldav.Server]:
    yield from provided(STARTERS[request.param], tmp_path_factory.mktemp(request.param))


class Person:
    def __init__(self, server: caldav.Server, folder: Path) -> None:
        self.desk = caldav.Desk(server)
        self.desk.clear()
        self.work = self.desk.make("work", "Work")
        config: dict[str, Json] = {"url": server.url, "username": caldav.USER, "allow_private": True}
        config |= {"addresses": ["nora@example.org"]}
        self.account = AccountState.model_validate(
            {"id": "cal", "owner": "me", "connector": "caldav", "created_at": NOW, "config": config, "allow": ["write"]}
        )
        clock, kept = ManualClock(NOW), Kept(folder / "effects")
        outgoing = Outgoing(self._enter, clock, ZoneInfo("Europe/Berlin"))
        outgoing.accounts = lambda: [self.account]
        moves = (MeetingMove(outgoing, kept), MeetingMove(outgoing, kept, RESCHEDULE), MeetingCancel(outgoing, kept))
        makes = (MeetingCreate(outgoing), MeetingCreate(outgoing, INVITE), MeetingAnswer(outgoing, kept))
        tools: tuple[Tool, ...] = (*moves, *makes, TaskCreate(outgoing), TaskMark(outgoing, kept))
        self.tools = {tool.manifest.name: tool for tool in tools}

    def _enter(self, account: AccountState, asked: bool) -> AbstractAsyncContextManager[Access]:
        return Key(secrets={"password": caldav.PASSWORD}).open(NOW)

    def tries(self, name: str, args: Args, key: str = KEY) -> Answer:
        return asyncio.run(attempt(self.tools[name], args, key, WAIT_S))

    def calls(self, name: str, args: Args, key: str = KEY) -> dict[str, Json]:
        """Done, done again without another effect, found and seen."""
        answer, before = self.tries(name, args, key), self.holds()
        assert answer.outcome == "ok", answer
        assert self.tries(name, args, key).out == answer.out
        assert self.holds() == before
        assert asyncio.run(self.tools[name].look_up(args, key)) == answer.out
        assert asyncio.run(self.tools[name].verify(args, key, answer.out)) is not None
        return answer.out

    def holds(self) -> dict[str, str]:
        """Every object by its address, as another program gets it."""
        body = '<propfind xmlns="DAV:"><prop><getetag/></prop></propfind>'
        headers = {"Depth": "1", "Content-Type": "application/xml"}
        listed = self.desk.http.request("PROPFIND", self.work, content=body, headers=headers).text
        names = {part.partition("<")[0] for part in listed.split(self.work)[1:]}
        return {name: self.desk.http.get(f"{self.work}{name}").text for name in names if name.endswith(".ics")}

    def shows(self, component: str = "VEVENT") -> icalendar.cal.Component:
        (text,) = self.holds().values()
        (found,) = icalendar.Calendar.from_ical(text).walk(component)
        return found

    def put(self, uid: str, *lines: str) -> None:
        event = vevent(uid, f"{BERLIN}20260310T100000", "DURATION:PT1H", *lines)
        self.desk.put(f"{self.work}{uid}.ics", vcalendar(event))


@pytest.fixture
def person(server: caldav.Server, tmp_path: Path) -> Iterator[Person]:
    made = Person(server, tmp_path.resolve())
    yield made
    made.desk.close()


def test_an_entry_is_made_moved_back_and_taken_away(person: Person) -> None:
    args: Args = {
        "title": "Renew; now, please",
        "start": "2026-03-10T10:00:00+01:00",
        "minutes": 45,
        "place": "Room 1",
    }
    out = person.calls("meeting.create", args)
    event = person.shows()
    assert (str(event["SUMMARY"]), str(event["LOCATION"])) == ("Renew; now, please", "Room 1")
    assert event["DTSTART"].dt == datetime(2026, 3, 10, 9, tzinfo=UTC)
    assert (event["DTEND"].dt - event["DTSTART"].dt).total_seconds() == 45 * 60
    moved = person.calls("meeting.move", {**_which(out), "start": "2026-03-11T08:30:00+00:00"}, OTHER)
    assert person.shows()["DTSTART"].dt == datetime(2026, 3, 11, 8, 30, tzinfo=UTC)
    person.calls("meeting.move", {**_which(out), "start": moved["previous_start"]}, "d" * 32)
    assert person.shows()["DTSTART"].dt == datetime(2026, 3, 10, 9, tzinfo=UTC)
    person.calls("meeting.cancel", {**_which(out)}, "e" * 32)
    assert person.holds() == {}


def _which(out: dict[str, Json]) -> dict[str, Json]:
    return {"event_id": out["event_id"], "account": out["account"]}


def test_a_moved_entry_keeps_its_zone_its_length_and_every_other_line(person: Person) -> None:
    person.put("dentist", "X-MINE:kept here", "SEQUENCE:4")
    person.calls("meeting.move", {"event_id": "dentist", "start": "2026-04-02T08:00:00+00:00"})
    event = person.shows()
    assert event["DTSTART"].dt == datetime(2026, 4, 2, 10, tzinfo=ZoneInfo("Europe/Berlin"))
    assert event["DTSTART"].params["TZID"] == "Europe/Berlin"
    length = str(event["DURATION"].to_ical(), "ascii")
    assert (str(event["X-MINE"]), int(event["SEQUENCE"]), length) == ("kept here", 5, "PT1H")


def test_an_invitation_is_answered_and_the_answer_taken_back(person: Person) -> None:
    mine = 'ATTENDEE;CN="N; O";PARTSTAT=NEEDS-ACTION;RSVP=TRUE:mailto:Nora@example.org'
    others = "ATTENDEE;PARTSTAT=ACCEPTED:mailto:bo@example.org"
    person.put("townhall", "ORGANIZER:mailto:ada@example.org", mine, others)
    out = person.calls("meeting.answer", {"event_id": "townhall", "answer": "accepted"})
    said = {str(each): each.params["PARTSTAT"] for each in person.shows()["ATTENDEE"]}
    assert said == {"mailto:Nora@example.org": "ACCEPTED", "mailto:bo@example.org": "ACCEPTED"}
    assert person.shows()["ATTENDEE"][0].params["CN"] == "N; O"
    person.calls("meeting.answer", {"event_id": "townhall", "answer": out["previous_answer"]}, OTHER)
    assert person.shows()["ATTENDEE"][0].params["PARTSTAT"] == "NEEDS-ACTION"


def test_guests_are_invited_and_only_the_tool_that_tells_them_moves_it(person: Person) -> None:
    args: Args = {"title": "Review", "start": "2026-03-10T10:00:00+01:00", "guest": "ada@example.org"}
    out = person.calls("meeting.invite", args)
    assert str(person.shows()["ATTENDEE"]) == "mailto:ada@example.org"
    start = "2026-03-12T10:00:00+00:00"
    refused = person.tries("meeting.move", {**_which(out), "start": start}, OTHER)
    assert (refused.outcome, refused.code) == ("failed", "invalid")
    person.calls("meeting.reschedule", {**_which(out), "start": start}, OTHER)


@pytest.mark.parametrize(
    ("name", "lines"),
    [("meeting.move", ("RRULE:FREQ=WEEKLY",)), ("meeting.cancel", ("RRULE:FREQ=WEEKLY",)),
     ("meeting.move", ("ORGANIZER:mailto:ada@example.org", "ATTENDEE:mailto:nora@example.org")),
     ("meeting.answer", ())],
)  # fmt: skip
def test_what_is_not_the_owners_to_change_is_refused(person: Person, name: str, lines: tuple[str, ...]) -> None:
    person.put("thing", *lines)
    before = person.holds()
    args: dict[str, Json] = {"event_id": "thing"}
    args |= {"start": "2026-04-02T08:00:00+00:00"} if name == "meeting.move" else {}
    args |= {"answer": "accepted"} if name == "meeting.answer" else {}
    assert person.tries(name, args).outcome == "failed"
    assert person.holds() == before


def test_a_to_do_is_made_done_and_opened_again(person: Person) -> None:
    out = person.calls("task.create", {"title": "Call, the office", "due": "2026-03-20", "note": "before noon"})
    todo = person.shows("VTODO")
    assert (str(todo["SUMMARY"]), str(todo["DUE"].dt), str(todo["STATUS"])) == (
        "Call, the office",
        "2026-03-20",
        "NEEDS-ACTION",
    )
    done = person.calls("task.mark", {"task_id": out["task_id"], "status": "completed"}, OTHER)
    todo = person.shows("VTODO")
    assert (str(todo["STATUS"]), todo["COMPLETED"].dt, int(todo["PERCENT-COMPLETE"])) == ("COMPLETED", NOW, 100)
    person.calls("task.mark", {"task_id": out["task_id"], "status": done["previous_status"]}, "d" * 32)
    assert "COMPLETED" not in person.shows("VTODO")


def test_a_change_that_somebody_makes_meanwhile_stays(person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between our look and our writing another program changes the entry: its ETag is not ours any more."""
    person.put("dentist")
    real = ics.moved

    def meanwhile(block: ics.Block, start: datetime, floating: ZoneInfo) -> dict[str, str]:
        person.put("dentist", "LOCATION:at their new address")
        return real(block, start, floating)

    with monkeypatch.context() as patch:
        patch.setattr(ics, "moved", meanwhile)
        answer = person.tries("meeting.move", {"event_id": "dentist", "start": "2026-04-02T08:00:00+00:00"})
    assert (answer.outcome, answer.code) == ("failed", "conflict")
    assert person.shows()["DTSTART"].dt.day == 10


def test_a_server_that_is_gone_was_told_nothing(person: Person) -> None:
    person.account = person.account.model_copy(
        update={"config": {**person.account.config, "url": "http://127.0.0.1:9/"}}
    )
    assert person.tries("meeting.create", {"title": "x", "start": "2026-03-10T10:00:00+01:00"}).outcome == "not_sent"


@pytest.mark.parametrize("server", ["radicale"], indirect=True)
def test_a_server_that_does_not_let_us_in_is_a_definite_no(server: caldav.Server, person: Person) -> None:
    server.let_in(allowed=False)
    try:
        answer = person.tries("meeting.create", {"title": "x", "start": "2026-03-10T10:00:00+01:00"})
    finally:
        server.let_in(allowed=True)
    assert (answer.outcome, answer.code) == ("failed", "denied")
    assert person.holds() == {}
