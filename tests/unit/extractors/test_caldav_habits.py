"""What the caldav connector makes of the habits of servers, and of what people do to their calendars."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from extractors.caldav import Caldav
from extractors.caldav.config import CaldavConfig
from extractors.caldav.memory import Memory, State, remembered, source_of
from extractors.caldav.poll import Sizes
from extractors.calendar.ledger import Known, Ledger
from extractors.calendar.testing import component, vcalendar, vevent
from extractors.http import Limits, Oversized
from extractors.testing import START, Key, Poll, context_for, events_of, poll, records_of
from extractors.testing.standin import Asked, Reply
from schemas.errors import AuthError, TransientError
from schemas.event import Event
from schemas.ids import digest
from tests.standins.caldav import PASSWORD, USER, CaldavStandIn, Calendar

BERLIN = ";TZID=Europe/Berlin:"


class Household:
    """A server, an account, and the cursor that the service would keep."""

    def __init__(self) -> None:
        self.server = CaldavStandIn()
        self.work = self.server.calendars["work"] = Calendar("Work")
        self.server.start()
        self.connector = Caldav(Sizes(objects=4))
        self.settings: dict[str, Any] = {}
        self.key = Key({"password": PASSWORD})
        self.cursor: Any = None
        self.now = START

    def put(self, *days: int, title: str = "Meeting", calendar: Calendar | None = None) -> None:
        for day in days:
            event = vevent(f"m{day}", f"{BERLIN}202603{day:02}T100000", f"SUMMARY:{title}")
            (calendar or self.work).put(f"m{day}.ics", vcalendar(event))

    def poll(self, *, days: int = 0, kill_after: int | None = None) -> Poll:
        self.now += timedelta(days=days)
        config = CaldavConfig(url=self.server.url, username=USER, allow_private=True, **self.settings)
        result = poll(self.connector, config, self.cursor, context_for(self.now), key=self.key, kill_after=kill_after)
        self.cursor = json.loads(json.dumps(result.cursor))
        return result

    def asked(self, *, days: int = 0) -> list[str]:
        """What a poll asks the server."""
        before = len(self.server.asked)
        assert self.poll(days=days).error is None
        return self.server.requests(before)

    def events(self) -> list[Event]:
        result = self.poll()
        assert result.error is None
        context = context_for(self.now)
        events, poison = events_of(
            self.connector, records_of(self.connector, [*result.upserts, *result.deletes], context), context
        )
        assert not poison
        return events


@pytest.fixture
def home() -> Iterator[Household]:
    household = Household()
    yield household
    household.server.stop()


def told(result: Poll) -> tuple[list[str], list[str]]:
    assert result.error is None
    return [upsert.native_id for upsert in result.upserts], [delete.native_id for delete in result.deletes]


def test_a_poll_with_nothing_new_asks_once(home: Household) -> None:
    home.put(10, 11)
    first = ["PROPFIND"] * 4 + ["sync-collection", "sync-collection", "calendar-multiget"]
    assert home.asked() == first
    assert home.asked() == ["PROPFIND"]
    home.put(12)
    assert home.asked() == ["PROPFIND", "sync-collection", "sync-collection", "calendar-multiget"]
    assert home.asked() == ["PROPFIND"]


def test_a_server_that_shows_no_marks_is_asked_for_each_calendar(home: Household) -> None:
    home.server.has_marks = False
    home.put(10)
    home.asked()
    assert home.asked() == ["PROPFIND", "sync-collection"]


def test_a_server_without_sync_collection_is_not_asked_for_it(home: Household) -> None:
    home.server.syncs = False
    home.put(10, 11)
    assert home.asked()[4:] == ["PROPFIND", "calendar-multiget"]
    home.put(11, title="Moved")
    assert home.asked() == ["PROPFIND", "PROPFIND", "calendar-multiget"]
    assert home.asked()[1:] == ["PROPFIND"]
    assert home.asked()[1:] == []


@pytest.mark.parametrize("status", [400, 403, 405, 409, 412, 415, 418, 500, 501, 507])
def test_a_server_that_promises_sync_collection_and_cannot_is_listed_by_etags(home: Household, status: int) -> None:
    home.put(10, 11)
    home.server.has_marks = False
    promise = home.server._about("work")
    home.server._about = lambda name: promise  # type: ignore[method-assign]
    home.server.syncs, home.server.unable = False, status
    assert told(home.poll()) == (["m10", "m11"], [])
    home.work.delete("m10.ics")
    assert told(home.poll()) == ([], ["m10"])


@pytest.mark.parametrize("status", [400, 403, 409, 410, 412, 500, 507])
def test_a_dead_token_leads_to_a_full_list_and_only_changes_are_fetched(home: Household, status: int) -> None:
    home.put(*range(10, 20))
    home.poll()
    home.server.lose_cursors()
    home.server.dead = status
    home.work.delete("m12.ics")
    home.put(13, title="Renamed")
    before = len(home.server.asked)
    result = home.poll()
    assert told(result) == (["m13"], ["m12"])
    assert all(page.reset for page in result.pages)
    assert home.server.requests(before).count("calendar-multiget") == 1
    assert b"m13" in home.server.asked[-1].body
    assert b"m14" not in home.server.asked[-1].body


def test_removed_objects_in_a_first_list_are_nothing_to_us(home: Household) -> None:
    home.put(10, 11)
    home.work.delete("m10.ics")
    home.server.buries = True
    assert told(home.poll()) == (["m11"], [])


def test_what_vanished_between_the_list_and_the_fetch_is_no_error(home: Household) -> None:
    home.put(10, 11)
    home.poll()
    home.put(10, 11, 12, title="Changed")
    home.server.vanished = {"m11.ics", "m12.ics"}
    assert told(home.poll()) == (["m10"], [])
    home.server.vanished = set()
    home.work.delete("m11.ics")
    home.work.delete("m12.ics")
    assert told(home.poll()) == ([], ["m11"])


def test_an_object_that_breaks_the_server_stops_no_other(home: Household) -> None:
    home.put(*range(10, 20))
    home.server.broken = {"m14.ics"}
    first = home.poll()
    assert told(first) == ([f"m{day}" for day in range(10, 20) if day != 14], [])
    assert not first.rejected
    assert "m14.ics" in first.warnings[0]
    second = home.poll()
    assert [(item.where, item.code) for item in second.rejected] == [("Work/m14.ics", "unreadable")]
    assert home.poll().rejected == []
    home.server.broken = set()
    assert told(home.poll()) == (["m14"], [])
    assert home.asked() == ["PROPFIND"]


def test_a_server_that_fails_at_everything_is_tried_later(home: Household) -> None:
    home.put(*range(10, 30))
    home.server.broken = set(home.work.objects)
    result = home.poll()
    assert isinstance(result.error, TransientError)
    assert len(home.server.asked) < 40
    home.server.broken = set()
    assert len(told(home.poll())[0]) == 20


def test_an_object_that_is_too_large_is_rejected_once(home: Household) -> None:
    home.put(10, 11, 12)
    home.key.limits = Limits(body_bytes=20_000)
    home.work.put("big.ics", vcalendar(vevent("big", ":20260310T090000Z", "DESCRIPTION:" + "x" * 30_000)))
    first = home.poll()
    assert told(first)[0] == ["m10", "m11", "m12"]
    assert [(item.where, item.code) for item in first.rejected] == [("Work/big.ics", "too_large")]
    assert home.asked() == ["PROPFIND"]


def test_an_answer_without_end_is_not_read(home: Household) -> None:
    home.put(*range(10, 30))
    home.key.limits = Limits(body_bytes=2_000)
    assert isinstance(home.poll().error, Oversized)


def test_fifty_megabytes_are_not_read_to_their_end(home: Household) -> None:
    home.put(10)
    home.poll()
    endless = Reply(207, b'<multistatus xmlns="DAV:">' + b" " * 50_000_000, {"Content-Type": "application/xml"})
    home.server.answer = lambda asked: endless  # type: ignore[method-assign]
    before = home.cursor
    assert "more than 20 MB" in str(home.poll().error)
    assert home.cursor == before


def test_an_entry_that_moves_to_another_calendar_is_neither_new_nor_withdrawn(home: Household) -> None:
    family = home.server.calendars["a-family"] = Calendar("Family")
    home.put(10, 11)
    home.poll()
    for there, here in ((family, home.work), (home.work, family)):
        here.delete("m10.ics")
        home.put(10, calendar=there)
        assert told(home.poll()) == ([], [])
    home.work.delete("m10.ics")
    assert told(home.poll()) == ([], ["m10"])


def test_an_entry_in_two_calendars_is_there_until_it_is_in_none(home: Household) -> None:
    family = home.server.calendars["family"] = Calendar("Family")
    home.put(10, 11)
    home.put(10, 12, calendar=family)
    assert sorted(told(home.poll())[0]) == ["m10", "m11", "m12"]
    home.work.delete("m10.ics")
    assert told(home.poll()) == ([], [])
    home.put(10)
    assert told(home.poll()) == ([], [])
    family.delete("m10.ics")
    assert told(home.poll()) == ([], [])
    home.put(10, title="Renamed")
    assert told(home.poll()) == (["m10"], [])
    home.work.delete("m10.ics")
    assert told(home.poll()) == ([], ["m10"])


@pytest.mark.parametrize("first", ["a-family", "z-family"])
def test_of_two_copies_the_newer_version_counts_whichever_is_read_first(home: Household, first: str) -> None:
    family = home.server.calendars[first] = Calendar("Family")
    home.put(10, title="Old")
    newer = vevent("m10", f"{BERLIN}20260310T110000", "SUMMARY:New", "SEQUENCE:2")
    family.put("copy.ics", vcalendar(newer))
    assert b'"summary":"New"' in home.poll().upserts[-1].raw
    home.put(10, 20, title="Old but touched")
    assert told(home.poll()) == (["m20"], [])


def test_a_calendar_that_is_gone_takes_its_entries_with_it(home: Household) -> None:
    home.server.calendars["club"] = Calendar("Club")
    home.put(10)
    home.put(20, 21, calendar=home.server.calendars["club"])
    home.poll()
    del home.server.calendars["club"]
    assert told(home.poll()) == ([], ["m20", "m21"])
    assert home.asked() == ["PROPFIND"]


def test_a_calendar_that_is_only_not_listed_keeps_its_entries(home: Household) -> None:
    club = home.server.calendars["club"] = Calendar("Club")
    home.put(10)
    home.put(20, calendar=club)
    home.poll()
    home.server._at = lambda path: club if "club" in path else home.work  # type: ignore[method-assign]
    about, home.server._about = home.server._about, lambda name: about("work")  # type: ignore[method-assign]
    result = home.poll()
    assert told(result) == ([], [])
    assert "not listed" in result.warnings[0]


def test_calendars_that_are_all_gone_are_not_believed(home: Household) -> None:
    home.put(10)
    home.poll()
    before = home.cursor
    home.server.calendars.clear()
    result = home.poll()
    assert isinstance(result.error, TransientError)
    assert home.cursor == before


def test_a_calendar_that_is_suddenly_empty_is_believed_at_the_second_look(home: Household) -> None:
    home.put(10, 11)
    home.poll()
    home.server.lose_cursors()
    home.work.objects.clear()
    first = home.poll()
    assert told(first) == ([], [])
    assert "believed if the next poll agrees" in first.warnings[0]
    assert told(home.poll()) == ([], ["m10", "m11"])
    assert told(home.poll()) == ([], [])
    home.put(12)
    assert told(home.poll()) == (["m12"], [])


def test_an_object_that_is_cut_keeps_what_was_in_it(home: Household) -> None:
    home.put(10, 11)
    home.poll()
    home.work.put("m10.ics", home.work.objects["m10.ics"][:-20])
    broken = home.poll()
    assert told(broken) == ([], [])
    assert [(item.where, item.code) for item in broken.rejected] == [("Work/m10.ics", "truncated")]
    home.put(10, title="Whole")
    assert told(home.poll()) == (["m10"], [])


def test_a_new_month_reads_all_again_and_tells_only_what_came_into_sight(home: Household) -> None:
    home.put(20)
    home.work.put("yearly.ics", vcalendar(vevent("y", ";VALUE=DATE:20250501", "RRULE:FREQ=YEARLY", "SUMMARY:Tax")))
    assert sorted(told(home.poll())[0]) == ["m20", "y#20260501"]
    turned = home.poll(days=30)
    assert told(turned) == (["y#20270501"], [])
    assert not any(page.spoke for page in turned.pages)
    assert home.asked(days=1) == ["PROPFIND"]
    home.put(25)
    home.now += timedelta(days=30)
    assert all(page.spoke for page in home.poll().pages)


def test_of_too_many_entries_the_nearest_are_watched(home: Household) -> None:
    home.settings = {"max_occurrences": 20}
    home.work.put("daily.ics", vcalendar(vevent("d", f"{BERLIN}20260210T100000", "RRULE:FREQ=DAILY")))
    home.put(5, 8, 30)
    first = home.poll()
    assert len(first.upserts) <= 20
    assert {"m5", "m8"} <= {upsert.native_id for upsert in first.upserts}
    assert "only those of the next" in first.warnings[0]
    assert told(home.poll(days=1)) == ([], [])
    home.work.delete("daily.ics")
    assert len(home.poll().deletes) == len(first.upserts) - 2


def test_the_words_of_somebody_elses_calendar_are_outside_text(home: Household) -> None:
    club = home.server.calendars["club"] = Calendar("Club", owner="/dav/principals/club/")
    home.put(10)
    home.put(11, calendar=club)
    trust = {event.payload.calendar: event.trust for event in home.events()}  # type: ignore[union-attr]
    assert trust == {"Work": "service", "Club": "outside"}


def test_a_to_do_with_a_date_is_an_event_and_a_journal_is_none(home: Household) -> None:
    home.server.calendars["notes"] = Calendar("Notes", components=("VJOURNAL",))
    home.put(12, calendar=home.server.calendars["notes"])
    todo = component("VTODO", "UID:tax", "DTSTAMP:20260101T000000Z", "DUE;VALUE=DATE:20260331", "SUMMARY:Tax return")
    home.work.put("tax.ics", vcalendar(todo))
    home.work.put("some-day.ics", vcalendar(component("VTODO", "UID:x", "DTSTAMP:20260101T000000Z", "SUMMARY:Paint")))
    (event,) = home.events()
    assert event.title == "Tax return"
    assert str(event.due_at)[:10] == "2026-03-31"


def test_a_home_that_moved_is_looked_for_again(home: Household) -> None:
    home.put(10)
    home.poll()
    cursor = home.cursor
    cursor["homes"] = [[f"{home.server.url}/dav/calendars/old/", False]]
    assert told(home.poll()) == ([], [])
    assert home.asked() == ["PROPFIND"]
    home.server.homes = [f"{home.server.url}/dav/calendars/old/"]
    home.cursor["homes"] = [[home.server.homes[0], False]]
    assert isinstance(home.poll().error, AuthError)


@pytest.mark.parametrize("title", ["A meeting with a title of a usual length", "Встреча с родителями " * 4])
def test_the_cursor_stays_below_its_bound(title: str) -> None:
    path = "/dav/calendars/nora/work/"
    known = Ledger()
    tags = {source_of(path, f"{path}{number}.ics"): f"{number:08x}" for number in range(40_000)}
    for number, source in enumerate(list(tags)[:3_000]):
        key = ("event", f"{number:08d}-1234-5678-9abc-def012345678@example.org", "")
        when = f"2026{3 + number % 9:02}10T090000Z"
        known.put(source, key, Known("0123456789abcdef", "0123456789abcdef", when, f"{title} {number}"))
    cursor = Memory(calendars={path: State("m" * 100, "t" * 100, tags=tags)}, ledger=known).to_json()
    assert len(json.dumps(cursor)) < 700_000
    kept = remembered(cursor)
    assert len([*kept.ledger.items()]) == 3_000
    assert kept.calendars[path].tags.items() < tags.items()
    assert len(kept.calendars[path].tags) > 1_000


def test_a_list_of_changes_that_never_ends_is_left(home: Household) -> None:
    home.put(10, 11)
    tokens = iter(range(10_000))
    home.server._token = lambda *_: f"data:,1-0#{next(tokens)}"  # type: ignore[method-assign]
    home.server._sync = lambda path, calendar, token: real(path, calendar, "")  # type: ignore[method-assign]
    real = CaldavStandIn._sync.__get__(home.server)
    assert told(home.poll()) == (["m10", "m11"], [])
    home.server.cut = 1
    before = home.cursor
    assert isinstance(home.poll().error, TransientError)
    assert home.cursor == before
    assert len(home.server.asked) < 20


def test_a_new_setting_is_heeded_for_what_is_known(home: Household) -> None:
    invited = vevent("m10", f"{BERLIN}20260310T100000", "ORGANIZER:mailto:ann@example.org",
                     "ATTENDEE;PARTSTAT=NEEDS-ACTION:mailto:nora@example.org", "SUMMARY:Tea")  # fmt: skip
    home.work.put("m10.ics", vcalendar(invited))
    home.poll()
    home.settings = {"addresses": ("Nora@example.org",)}
    assert told(home.poll()) == (["m10"], [])
    assert told(home.poll()) == ([], [])


def test_a_poll_that_is_killed_still_withdraws_what_was_in_a_deleted_calendar(home: Household) -> None:
    home.server.calendars["club"] = Calendar("Club")
    home.put(10)
    home.put(20, 21, calendar=home.server.calendars["club"])
    home.poll()
    del home.server.calendars["club"]
    home.put(*range(11, 19))
    killed = home.poll(kill_after=1)
    assert killed.pages[0].next_cursor is not None
    assert not killed.deletes
    assert told(home.poll())[1] == ["m20", "m21"]
    assert home.asked() == ["PROPFIND"]


def test_what_happens_during_a_poll_and_is_undone_after_it_is_noticed(home: Household) -> None:
    home.server.syncs = False
    home.server._token = lambda calendar, *_: digest([*calendar.objects])  # type: ignore[method-assign]
    home.put(10)
    home.poll()
    home.put(11)
    answer, asked_before = home.server.answer, len(home.server.asked)

    def meanwhile(asked: Asked) -> Reply:
        reply = answer(asked)
        if len(home.server.asked) == asked_before + 1:
            home.put(12)
        return reply

    home.server.answer = meanwhile  # type: ignore[method-assign]
    assert told(home.poll()) == (["m11", "m12"], [])
    home.work.delete("m12.ics")
    assert told(home.poll()) == ([], ["m12"])
