"""Malformed and hostile calendars: each ends as an event or a rejection with a reason, in bounded work.

The inputs are made from a seed, so a failure names the input that fails: family and number.
"""

from __future__ import annotations

import random
import string
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from extractors.calendar.testing import component, vcalendar, vevent
from extractors.connector import Context, PreviewOptions
from extractors.ics import Ics
from extractors.ics.config import IcsConfig
from extractors.testing import events_of, poll, records_of
from tests.scale import scaled

NOW = datetime(2026, 3, 2, 8, tzinfo=UTC)
CONTEXT = Context("nora", "fuzz", ZoneInfo("Europe/Berlin"), NOW)
EVERYTHING = PreviewOptions(window=(datetime(1600, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)))

BERLIN = ";TZID=Europe/Berlin:"
HEALTHY = vcalendar(
    "X-WR-CALNAME:Family",
    vevent("series", f"{BERLIN}20260302T100000", f"DTEND{BERLIN}20260302T110000", "RRULE:FREQ=WEEKLY;COUNT=5",
           f"EXDATE{BERLIN}20260309T100000", "SUMMARY:Choir, with\\nnotes", "LOCATION:Hall"),
    vevent("series", f"{BERLIN}20260317T100000", "RECURRENCE-ID:20260316T090000Z", "SUMMARY:Moved"),
    vevent("day", ";VALUE=DATE:20260320", "DTEND;VALUE=DATE:20260322", "SUMMARY:Trip"),
    vevent("guests", ":20260325T180000Z", "DURATION:PT2H", "ORGANIZER;CN=Eve:mailto:eve@example.org",
           "ATTENDEE;CN=\"Doe, Jane\";PARTSTAT=ACCEPTED:mailto:jane@example.org"),
    component("VTODO", "UID:todo", "DUE;VALUE=DATE:20260331", "SUMMARY:Tax"),
)  # fmt: skip

NAMES = [
    "DTSTART", "DTEND", "DURATION", "RRULE", "RDATE", "EXDATE", "RECURRENCE-ID", "UID", "SEQUENCE", "DTSTAMP",
    "SUMMARY", "STATUS", "ATTENDEE", "ORGANIZER", "CATEGORIES", "URL", "TRANSP", "LAST-MODIFIED", "BEGIN", "END",
    "GEO", "X-JUNK", "ATTACH", "TZID",
]  # fmt: skip
VALUES = [
    "", "20260310", "20260310T100000", "20260310T100000Z", "20260230T250000Z", "00000000", "99999999T999999Z", "-P1D",
    "PT99999999999H", "P", "FREQ=DAILY", "FREQ=DAILY;COUNT=3", "FREQ=YEARLY;BYMONTH=13", "VEVENT", "VCALENDAR", "\\",
    "\\n" * 50, "mailto:", "MAILTO:a@b@c", "2147483648", "-1", "NaN", "1e9", "𝟮𝟬𝟮𝟲𝟬𝟯𝟭𝟬", "🗓" * 30, ",,,,", ";;;;",
    "::::", "20260310T100000/20260309T100000", "20260310T100000/PT1H", '"', "'; DROP TABLE events;--", "{{7*7}}",
    "../../etc/passwd", "\u202e\u200b\ufeff", "A" * 3000,
]  # fmt: skip
PARAMS = [
    "", ";TZID=Europe/Berlin", ";TZID=", ";TZID=Mars", ';TZID="', ";VALUE=DATE", ";VALUE=PERIOD", ";X", ";;", ";=",
    ";RANGE=THISANDFUTURE", ";TZID=(UTC+01:00) Berlin", ";TZID=../../../etc/passwd", ";" + "A=1;" * 50,
]  # fmt: skip
PARTS = [
    "COUNT", "INTERVAL", "UNTIL", "BYDAY", "BYMONTH", "BYMONTHDAY", "BYYEARDAY", "BYWEEKNO", "BYSETPOS", "BYHOUR",
    "BYMINUTE", "BYSECOND", "WKST",
]  # fmt: skip
NUMBERS = ["0", "-1", "1", "2", "31", "366", "-366", "999999999", "1,2,3", "MO", "5FR,-5SU", "x", ""]


def truncated(rng: random.Random, number: int) -> bytes:
    return HEALTHY[: number * len(HEALTHY) // 200]


def flipped(rng: random.Random, number: int) -> bytes:
    raw = bytearray(HEALTHY)
    for _ in range(rng.randint(1, 40)):
        raw[rng.randrange(len(raw))] = rng.randrange(256)
    return bytes(raw)


def shuffled(rng: random.Random, number: int) -> bytes:
    lines = HEALTHY.splitlines(keepends=True)
    for _ in range(rng.randint(1, 8)):
        at = rng.randrange(len(lines))
        match rng.randrange(3):
            case 0:
                del lines[at]
            case 1:
                lines.insert(rng.randrange(len(lines)), lines[at])
            case _:
                other = rng.randrange(len(lines))
                lines[at], lines[other] = lines[other], lines[at]
    return b"".join(lines)


def wrong_charset(rng: random.Random, number: int) -> bytes:
    text = HEALTHY.decode().replace("Choir", "Chœur à l'été ✓ 東京")
    codec = rng.choice(["utf-16", "utf-16-le", "utf-32", "cp1252", "latin-1", "shift_jis", "utf-7", "koi8-r"])
    return text.encode(codec, "replace") if rng.random() < 0.7 else bytes(rng.randbytes(200)) + text.encode()


def junk_properties(rng: random.Random, number: int) -> bytes:
    lines = [f"{rng.choice(NAMES)}{rng.choice(PARAMS)}:{rng.choice(VALUES)}" for _ in range(rng.randint(1, 25))]
    return vcalendar(*lines[:3], component("VEVENT", *lines), vevent("ok", ":20260310T100000Z", *lines[:4]))


def bad_values(rng: random.Random, number: int) -> bytes:
    name = NAMES[number % len(NAMES)]
    line = f"{name}{rng.choice(PARAMS)}:{rng.choice(VALUES)}"
    base = ["UID:a", "DTSTART:20260310T100000Z", "RRULE:FREQ=WEEKLY;COUNT=3", "SUMMARY:A"]
    return vcalendar(component("VEVENT", *(item for item in base if not item.startswith(name)), line))


def rules(rng: random.Random, number: int) -> bytes:
    parts = [
        f"FREQ={rng.choice(['YEARLY', 'MONTHLY', 'WEEKLY', 'DAILY', 'HOURLY', 'MINUTELY', 'SECONDLY', 'NEVER', ''])}"
    ]
    parts += [f"{name}={rng.choice(NUMBERS)}" for name in rng.sample(PARTS, rng.randint(0, 5))]
    start = rng.choice([f"{BERLIN}19010101T000000", ":20260310T100000Z", ";VALUE=DATE:20260310", ":99990101T000000Z"])
    return vcalendar(vevent("a", start, f"RRULE:{';'.join(parts)}"))


def bombs(rng: random.Random, number: int) -> bytes:
    freq = ["SECONDLY", "MINUTELY", "HOURLY", "DAILY"][number % 4]
    extra = rng.choice(["", ";COUNT=2147483647", ";BYSETPOS=-1", ";INTERVAL=0", ";BYMONTHDAY=31;BYMONTH=2",
                        ";BYSECOND=" + ",".join(map(str, range(60))), ";UNTIL=99991231T235959Z"])  # fmt: skip
    return vcalendar(vevent("a", f":{rng.choice(['1583', '1970', '2026'])}0101T000000Z", f"RRULE:FREQ={freq}{extra}"))


def nested(rng: random.Random, number: int) -> bytes:
    name = rng.choice(["VCALENDAR", "VEVENT", "VTIMEZONE", "X-DEEP"])
    closed = f"END:{name}\r\n" * rng.choice([0, 500, 1_000])
    return vcalendar(f"BEGIN:{name}\r\n" * 1_000 + closed + vevent("ok", ":20260310T100000Z"))


def huge_lines(rng: random.Random, number: int) -> bytes:
    name = rng.choice(["SUMMARY", "DESCRIPTION", "UID", "ATTACH", "X-A", "RDATE", "EXDATE", "ATTENDEE", "CATEGORIES"])
    filler = rng.choice(["A", "\\", ",", "a,", '"', "20260310T100000Z,", "é", "\r\n ", ";", "\u0000"])
    return vcalendar(vevent("a", ":20260310T100000Z", f"{name}:{filler * rng.choice([70_000, 200_000])}"))


def zones(rng: random.Random, number: int) -> bytes:
    name = "".join(rng.choices(string.printable[:95] + "é東/", k=rng.randint(0, 80)))
    offset = rng.choice(["+0100", "-9999", "", "+01", "+150000", "soon", "-0000"])
    rule = rng.choice(["FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU", "FREQ=SECONDLY", "FREQ=YEARLY;INTERVAL=0", ""])
    part = component("STANDARD", f"DTSTART:{rng.choice(['16010101T000000', '0', '20260301T020000'])}",
                     f"RRULE:{rule}", f"TZOFFSETFROM:{offset}", f"TZOFFSETTO:{offset}")  # fmt: skip
    zone = component("VTIMEZONE", f"TZID:{name}", *[part] * rng.randint(0, 4))
    return vcalendar(f"X-WR-TIMEZONE:{name}", zone, vevent("a", f';TZID="{name}":20260310T100000'))


def floods(rng: random.Random, number: int) -> bytes:
    match number % 4:
        case 0:
            return vcalendar(*("BEGIN:VALARM\r\nEND:VALARM" for _ in range(3_000)), vevent("a", ":20260310T100000Z"))
        case 1:
            return vcalendar(vevent("a", ":20260310T100000Z", *["ATTENDEE:mailto:a@example.org"] * 6_000))
        case 2:
            overrides = [
                vevent("a", ":20260310T100000Z", f"RECURRENCE-ID:202603{day:02}T090000Z") for day in range(1, 29)
            ]
            return vcalendar(*overrides * 10, vevent("a", ":20260301T090000Z", "RRULE:FREQ=DAILY"))
        case _:
            return b"BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n" * 2_000


def other_formats(rng: random.Random, number: int) -> bytes:
    heads = [
        b"", b"\xff\xfe", b"%PDF-1.7\n", b"PK\x03\x04", b"<html>", b'{"a":1}', b"From: a@b\r\n\r\n", b"GIF89a",
        b"BEGIN:VCARD\r\n", b"OFXHEADER:100\r\n", b"\x1f\x8b\x08", b"BEGIN:VCALENDAR",
    ]  # fmt: skip
    return heads[number % len(heads)] + rng.randbytes(rng.choice([0, 10, 3_000]))


FAMILIES: list[tuple[Callable[[random.Random, int], bytes], int]] = [
    (truncated, 200),
    (flipped, 250),
    (shuffled, 150),
    (wrong_charset, 100),
    (junk_properties, 250),
    (bad_values, 250),
    (rules, 250),
    (bombs, 40),
    (nested, 24),
    (huge_lines, 36),
    (zones, 100),
    (floods, 8),
    (other_formats, 60),
]
ROUNDS = scaled(1, 3)
"""Each input has a number of its own, so more rounds are more inputs."""  # fmt: skip


def test_there_are_as_many_inputs_as_promised() -> None:
    assert ROUNDS * sum(count for _, count in FAMILIES) >= scaled(1_700, 5_000)


@pytest.mark.parametrize(("family", "count"), FAMILIES, ids=[family.__name__ for family, _ in FAMILIES])
def test_malformed_calendars_end_as_events_or_rejections(
    family: Callable[[random.Random, int], bytes], count: int, tmp_path: Path
) -> None:
    connector = Ics()
    path = tmp_path / "fuzz.ics"
    config = IcsConfig(path=path, max_occurrences=50)
    for number in range(ROUNDS * count):
        path.write_bytes(family(random.Random(number), number))
        told = poll(connector, config, None, CONTEXT)
        assert told.error is None, number
        assert all(item.code and item.reason and item.where for item in told.rejected), number
        events, poison = events_of(connector, records_of(connector, told.upserts, CONTEXT), CONTEXT)
        assert poison == [], number
        assert len(events) == len(told.upserts) <= 50, number
        assert poll(connector, config, told.cursor, CONTEXT).upserts == [], number
        if not events and not told.rejected:
            shown = connector.preview(path, CONTEXT, EVERYTHING)
            assert shown.events or shown.rejected or shown.warnings, number
