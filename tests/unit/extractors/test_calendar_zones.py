"""What a TZID means: names the world knows, names only the file knows, and names that nobody knows."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from extractors.calendar.component import tree
from extractors.calendar.lines import content_lines
from extractors.calendar.moment import Zone
from extractors.calendar.testing import component, dated, starts, vcalendar, vevent
from extractors.calendar.vtimezone import block_zone
from extractors.calendar.zones import Zones
from schemas.clock import zone

OWNER = Zone("Europe/Berlin", zone("Europe/Berlin"))


def block(tzid: str, *lines: str, winter: str = "+0100", summer: str = "+0200") -> str:
    return component(
        "VTIMEZONE",
        f"TZID:{tzid}",
        *lines,
        component(
            "STANDARD", "DTSTART:16011028T030000", "RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10",
            f"TZOFFSETFROM:{summer}", f"TZOFFSETTO:{winter}",
        ),
        component(
            "DAYLIGHT", "DTSTART:16010325T020000", "RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3",
            f"TZOFFSETFROM:{winter}", f"TZOFFSETTO:{summer}",
        ),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("tzid", "name"),
    [
        ("W. Europe Standard Time", "Europe/Berlin"),
        ("w. europe standard time", "Europe/Berlin"),
        ("W. Europe Standard Time 1", "Europe/Berlin"),
        ("Romance", "Europe/Paris"),
        ("Eastern", "America/New_York"),
        ("Eastern Time (US & Canada)", "America/New_York"),
        ("(GMT-05.00) Eastern Time (US & Canada)", "America/New_York"),
        ("(UTC-08:00) Pacific Time (US & Canada)", "America/Los_Angeles"),
        ("(UTC+01:00) Amsterdam, Berlin, Bern, Rome, Stockholm, Vienna", "Europe/Amsterdam"),
        ("(GMT) Greenwich Mean Time : Dublin, Edinburgh, Lisbon, London", "Europe/Dublin"),
        ("(UTC+05:30) Chennai, Kolkata, Mumbai, New Delhi", "Asia/Kolkata"),
        ("/mozilla.org/20050126_1/Europe/Berlin", "Europe/Berlin"),
        ("/freeassociation.sourceforge.net/Tzfile/America/Argentina/Buenos_Aires", "America/Argentina/Buenos_Aires"),
        ("/freeassociation.sourceforge.net/Tzfile/UTC", "UTC"),
        ("europe/berlin", "Europe/Berlin"),
        ("America/New York", "America/New_York"),
        ("tzone://Microsoft/Utc", "UTC"),
        ("GMT+0200", "UTC+02:00"),
        ('"Europe/Berlin"', "Europe/Berlin"),
    ],
)
def test_names_that_programs_write_are_understood(tzid: str, name: str) -> None:
    found = Zones(OWNER).named(tzid)
    assert (found.zone.name, found.note) == (name, "")


@pytest.mark.parametrize(
    "tzid", ["Mars", "Customized Time Zone", "localtime", "Europe", "../../etc/passwd", "", "?" * 999]
)
def test_an_unknown_name_is_the_owners_zone_and_says_so(tzid: str) -> None:
    found = Zones(OWNER).named(tzid)
    assert found.zone == OWNER
    assert "unknown time zone" in found.note


def test_a_stated_offset_without_a_known_place_is_kept_and_says_so() -> None:
    found = Zones(OWNER).named("(UTC-03:00) Nowhere")
    assert found.zone.name == "UTC-03:00"
    assert "all year" in found.note


def test_a_place_whose_offset_contradicts_its_name_is_not_believed() -> None:
    assert Zones(OWNER).named("(UTC+09:00) Berlin").zone.name == "UTC+09:00"


def test_a_name_only_the_file_knows_means_the_files_own_block() -> None:
    for offset, utc in (("+0200", "2026-04-08T07:00Z"), ("-0500", "2026-04-08T14:00Z")):
        raw = vcalendar(
            block("Customized Time Zone", winter=offset, summer=offset),
            vevent("a", ";TZID=Customized Time Zone:20260408T090000"),
        )
        assert starts(dated(raw)) == [utc], "the block of another file was remembered"


def test_a_block_may_stand_after_what_uses_it() -> None:
    raw = vcalendar(vevent("a", ";TZID=Here:20260708T090000"), block("Here"))
    assert starts(dated(raw, owner="Asia/Tokyo")) == ["2026-07-08T07:00Z"]


def test_wrong_rules_for_a_name_that_the_world_knows_are_ignored() -> None:
    raw = vcalendar(
        block("Europe/Berlin", winter="-0800", summer="-0800"), vevent("a", ";TZID=Europe/Berlin:20260708T090000")
    )
    assert starts(dated(raw)) == ["2026-07-08T07:00Z"]


def test_a_block_that_names_its_place_is_that_place() -> None:
    raw = vcalendar(block("Zone 7", "X-LIC-LOCATION:Asia/Kolkata"), vevent("a", ";TZID=Zone 7:20260708T090000"))
    assert starts(dated(raw)) == ["2026-07-08T03:30Z"]


@pytest.mark.parametrize(
    "broken",
    [
        component("VTIMEZONE", "TZID:Here"),
        component("VTIMEZONE", "TZID:Here", component("STANDARD", "DTSTART:19700101T000000", "TZOFFSETTO:soon")),
        component("VTIMEZONE", component("STANDARD", "TZOFFSETFROM:+0100", "TZOFFSETTO:+0100")),
    ],
)
def test_a_block_without_a_usable_part_is_an_unknown_zone(broken: str) -> None:
    found = dated(vcalendar(broken, vevent("a", ";TZID=Here:20260708T090000")))
    assert starts(found) == ["2026-07-08T07:00Z"]
    assert "unknown time zone 'Here'" in found.placed[0].occurrence.notes[0]


def test_a_block_is_its_place_over_twenty_years() -> None:
    calendar = tree(content_lines(vcalendar(block("Here")))).calendars[0]
    tz = block_zone(calendar.children[0])
    assert tz is not None
    ours, theirs = Zone("Here", tz), OWNER
    wall = datetime(2010, 1, 1)  # noqa: DTZ001 - a wall time
    while wall.year < 2029:
        assert ours.instant(wall) == theirs.instant(wall), wall
        instant = theirs.instant(wall)
        assert ours.wall(instant) == theirs.wall(instant), wall
        assert ours.instant(ours.wall(instant)) == instant, wall
        wall += timedelta(minutes=30) if wall.month in (3, 10) and wall.day > 24 else timedelta(days=1)


def test_a_hostile_block_takes_bounded_work() -> None:
    parts = [
        component(
            "STANDARD", "DTSTART:19700101T000000", "RRULE:FREQ=SECONDLY", "TZOFFSETFROM:+0100", "TZOFFSETTO:+0200"
        )
        for _ in range(500)
    ]
    raw = vcalendar(component("VTIMEZONE", "TZID:Bomb", *parts), vevent("a", ";TZID=Bomb:20260708T090000"))
    assert len(starts(dated(raw))) == 1
