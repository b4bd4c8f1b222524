"""iCalendar bytes: encodings, folding, broken structure, and files that are not all there."""

from __future__ import annotations

import pytest

from extractors.calendar.moment import Length, Zone
from extractors.calendar.reading import Reading, read_calendar
from extractors.calendar.testing import component, dated, starts, vcalendar, vevent
from schemas.clock import zone

EVENT = vevent("a", ":20260329T100000Z", "SUMMARY:Dinner")


def read(raw: bytes) -> Reading:
    return read_calendar(raw, "file.ics", Zone("Europe/Berlin", zone("Europe/Berlin")))


def summaries(raw: bytes) -> list[str]:
    return [entry.details.summary for entry in read(raw).entries]


def with_summary(line: bytes) -> bytes:
    return (
        b"BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:a\r\nDTSTART:20260329T100000Z\r\n"
        + line
        + (b"\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n")
    )


@pytest.mark.parametrize(
    ("line", "summary"),
    [
        (b"SUMMARY:Caf\xc3\r\n \xa9 am See", "Café am See"),
        (b"SUMMARY:Long\r\n\t er", "Long er"),
        (b"SUMMARY:Caf\xe9", "Café"),
        (b"SUMMARY:caf\xe9 \x80 5", "café € 5"),
        (b"summary;LANGUAGE=de:Essen", "Essen"),
        (b'SUMMARY;X-A="a:b;c";LANGUAGE=de:Essen: jetzt', "Essen: jetzt"),
        (b'SUMMARY;X-A="never closed:Essen', "Essen"),
        (b"SUMMARY:one\\, two\\; three\\nfour \\\\ five", "one, two; three four \\ five"),
        (b"SUMMARY:a\x00b\x07c\x1b[31m", "abc[31m"),
        (b"SUMMARY:" + "e\u0301\u202etxt.exe".encode(), "étxt.exe"),
        (b"SUMMARY", ""),
    ],
)
def test_text_is_read_as_it_was_meant(line: bytes, summary: str) -> None:
    assert summaries(with_summary(line)) == [summary]


@pytest.mark.parametrize("newline", ["\n", "\r", "\r\r\n"])
def test_any_line_end_will_do(newline: str) -> None:
    assert summaries(vcalendar(EVENT).replace(b"\r\n", newline.encode())) == ["Dinner"]


@pytest.mark.parametrize("codec", ["utf-16", "utf-8-sig"])
def test_byte_order_marks_are_obeyed(codec: str) -> None:
    assert summaries(vcalendar(EVENT).decode().encode(codec)) == ["Dinner"]


def test_one_line_in_another_charset_spoils_only_itself() -> None:
    raw = vcalendar(EVENT, vevent("b", ":20260330T100000Z", "SUMMARY:Zürich", "X-A:1")).replace(
        b"X-A:1", b"X-A:\xff\xfe"
    )
    assert summaries(raw) == ["Dinner", "Zürich"]


@pytest.mark.parametrize(
    ("raw", "fault"),
    [
        (b"", "empty"),
        (b" \r\n\0\0", "empty"),
        (b"<!DOCTYPE html><html>Sign in</html>", "html"),
        (b"%PDF-1.7", "not_a_calendar"),
        (vcalendar(EVENT)[:-20], "truncated"),
        (vcalendar(EVENT) + b"BEGIN:VCALENDAR\r\n", "truncated"),
        (b"BEGIN:VCALENDAR\n" + b"X" * 20_000_001, "too_large"),
        (vcalendar(EVENT), ""),
        (vcalendar(), ""),
    ],
)
def test_a_file_that_is_not_all_there_is_known_as_such(raw: bytes, fault: str) -> None:
    reading = read(raw)
    assert reading.fault == fault
    assert [item.code for item in reading.rejected] == ([fault] if fault else [])


def test_of_a_truncated_file_only_whole_entries_count() -> None:
    raw = vcalendar(EVENT, vevent("b", ":20260330T100000Z", "SUMMARY:Half", "LOCATION:Somewhere far away"))
    assert summaries(raw[: raw.index(b"Somewhere")]) == ["Dinner"]


@pytest.mark.parametrize(
    "raw",
    [
        vcalendar(component("VEVENT", "UID:x", "DTSTART:20260329T100000Z").removesuffix("END:VEVENT") + EVENT),
        vcalendar("END:VEVENT", EVENT),
        vcalendar("END:VCALENDAR-ISH", "nonsense", ":", ";;;", EVENT),
        vcalendar(EVENT.replace("END:VEVENT", "BEGIN:VALARM\r\nTRIGGER:-PT5M\r\nDTSTART:19990101\r\nEND:VEVENT")),
    ],
)
def test_broken_structure_loses_only_what_is_broken(raw: bytes) -> None:
    assert "Dinner" in summaries(raw)


def test_an_alarm_lends_nothing_to_its_entry() -> None:
    alarm = component("VALARM", "TRIGGER:-PT5M", "SUMMARY:Ring", "DESCRIPTION:Ring", "DURATION:PT1H")
    entry = read(vcalendar(vevent("a", ":20260329T100000Z", alarm))).entries[0]
    assert (entry.details.summary, entry.details.description, entry.end) == ("", "", Length())


def test_a_thousand_levels_of_nesting_are_cut_off_with_a_reason() -> None:
    deep = "BEGIN:X-DEEP\r\n" * 1_000 + "END:X-DEEP\r\n" * 1_000
    reading = read(vcalendar(deep + EVENT))
    assert [entry.uid for entry in reading.entries] == ["a"]
    assert [item.code for item in reading.rejected] == ["too_deep"]


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        (("UID:a", "SUMMARY:When?"), "no_start"),
        (("UID:a", "DTSTART:tomorrow"), "bad_date"),
        (("UID:a", "DTSTART:20261301T000000"), "bad_date"),
        (("UID:a", "DTSTART:00010101T000000"), "bad_date"),
        (("UID:a", "DTSTART:20260101", "RECURRENCE-ID:some day"), "bad_date"),
        (("UID:a", "DTSTART:20260101", "RRULE:FREQ=DAILY;INTERVAL=0"), "bad_rule"),
        (("UID:a", "DTSTART;VALUE=DATE:20260101", "RRULE:FREQ=HOURLY"), "bad_rule"),
    ],
)
def test_an_entry_that_can_never_work_is_rejected_alone_and_with_its_place(lines: tuple[str, ...], code: str) -> None:
    reading = read(vcalendar(component("VEVENT", *lines), EVENT))
    assert "Dinner" in [entry.details.summary for entry in reading.entries]
    (rejected,) = reading.rejected
    assert (rejected.where, rejected.code) == ("file.ics:4", code)
    assert rejected.reason
    assert b"UID:a" in rejected.raw


def test_a_broken_rule_keeps_the_first_date() -> None:
    assert starts(dated(vcalendar(vevent("a", ":20260329T100000Z", "RRULE:FREQ=DAILY;INTERVAL=0")))) == [
        "2026-03-29T10:00Z"
    ]


def test_places_count_the_lines_of_the_file_not_the_unfolded_ones() -> None:
    raw = vcalendar(EVENT.replace("Dinner", "Din\r\n ner"), component("VEVENT", "UID:b"))
    lines = raw.split(b"\r\n")
    where = read(raw).rejected[0].where
    assert lines[int(where.rpartition(":")[2]) - 1 :][:2] == [b"BEGIN:VEVENT", b"UID:b"]


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (EVENT.encode(), "misplaced"),
        (EVENT.encode() + b"\r\n" + vcalendar(), "misplaced"),
        (vcalendar(component("X-FOLDER", EVENT)), "misplaced"),
        (vcalendar(EVENT.replace("VEVENT", "VEVNET")), "unknown_component"),
    ],
)
def test_an_entry_in_the_wrong_place_does_not_vanish_without_a_word(raw: bytes, code: str) -> None:
    reading = read(raw)
    assert reading.entries == []
    assert code in [item.code for item in reading.rejected]


def test_an_answer_to_an_invitation_is_no_entry() -> None:
    reading = read(vcalendar("METHOD:REPLY", EVENT))
    assert (reading.entries, [item.code for item in reading.rejected]) == ([], ["answer"])


def test_a_calendar_of_another_era_is_refused() -> None:
    assert [item.code for item in read(vcalendar("CALSCALE:HEBREW", EVENT)).rejected] == ["unsupported"]


def test_a_to_do_without_a_date_is_passed_over_with_a_warning() -> None:
    reading = read(vcalendar(component("VTODO", "UID:t", "SUMMARY:Some day")))
    assert (reading.entries, reading.rejected) == ([], [])
    assert "a to-do without a date" in reading.warnings[0]
    assert reading.has_content


@pytest.mark.parametrize("parts", [(), (component("VTIMEZONE", "TZID:X"),), (component("VJOURNAL", "UID:j"),)])
def test_a_calendar_without_entries_is_whole_but_has_no_content(parts: tuple[str, ...]) -> None:
    reading = read(vcalendar(*parts))
    assert (reading.fault, reading.has_content) == ("", False)


def test_an_attachment_of_ten_megabytes_is_not_looked_at() -> None:
    raw = vcalendar(EVENT.replace("SUMMARY", "ATTACH;ENCODING=BASE64:" + "QUJD" * 2_500_000 + "\r\nSUMMARY"))
    assert summaries(raw) == ["Dinner"]
