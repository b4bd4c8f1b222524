"""The preview of mail files: what a doubtful user sees first."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from extractors.connector import Context, Preview, PreviewOptions
from extractors.maildir import connector

NOW = datetime(2026, 3, 3, tzinfo=UTC)
MAIL = (
    b"From: Ada <ada@example.org>\nSubject: Bill 4711\nDate: Mon, 02 Mar 2026 10:15:00 +0100\n\nPay 30 EUR by Friday.\n"
)


def preview(path: Path, zone: str = "Europe/Berlin") -> Preview:
    return connector.preview(path, Context("nora", "test", ZoneInfo(zone), NOW), PreviewOptions())


def test_one_mail_is_shown_flat(tmp_path: Path) -> None:
    (tmp_path / "a.eml").write_bytes(MAIL)
    shown = preview(tmp_path / "a.eml")
    assert shown.kind == "mail"
    assert [event.kind for event in shown.events] == ["mail.received"]
    assert shown.summary["messages"] == 1
    assert shown.summary["due_dates"] == ["2026-03-06"]
    assert shown.summary["amounts"] == [{"value": "30", "currency": "EUR"}]
    assert shown.summary["facts"] == [
        {
            "kind": "invoice",
            "source": "text",
            "number": "4711",
            "amount": "30.00",
            "currency": "EUR",
            "due": "2026-03-06",
            "issuer": "Ada",
        }
    ]


def test_many_mails_are_a_list(tmp_path: Path) -> None:
    envelope = b"From ada@example.org Mon Mar  2 08:00:00 2026\n"
    (tmp_path / "box").write_bytes((envelope + MAIL + b"\n") * 2)
    shown = preview(tmp_path / "box")
    assert (shown.summary["messages"], shown.summary["distinct_content"]) == (2, 1)
    assert [item["subject"] for item in shown.summary["items"]] == ["Bill 4711"] * 2
    assert len({event.id for event in shown.events}) == 2


def test_a_maildir_is_shown_with_its_folders(tmp_path: Path) -> None:
    for folder in ("", ".Sent"):
        for part in ("cur", "new", "tmp"):
            (tmp_path / folder / part).mkdir(parents=True)
    (tmp_path / "new" / "1772435001.M1").write_bytes(MAIL)
    (tmp_path / ".Sent" / "cur" / "1772435002.M1:2,S").write_bytes(MAIL)
    assert [event.kind for event in preview(tmp_path).events] == ["mail.received", "mail.sent"]


def test_an_undated_file_has_the_time_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "a.eml").write_bytes(b"From: a@example.org\nSubject: x\n\nHello\n")
    shown = preview(tmp_path / "a.eml")
    assert shown.summary["date_source"] == "file"
    assert shown.summary["warnings"] == ["date is missing or cannot be true"]


@pytest.mark.parametrize(("content", "code"), [(b"", "empty"), (b"\x00\x01", "malformed")])
def test_what_is_no_mail_is_rejected_with_a_reason(tmp_path: Path, content: bytes, code: str) -> None:
    (tmp_path / "a.eml").write_bytes(content)
    shown = preview(tmp_path / "a.eml")
    assert [rejected.code for rejected in shown.rejected] == [code]
    assert shown.summary["messages"] == 0


def test_a_path_that_is_not_there_is_rejected_with_a_reason(tmp_path: Path) -> None:
    assert [rejected.code for rejected in preview(tmp_path / "nothing").rejected] == ["unreadable"]


@pytest.mark.parametrize(
    ("content", "is_mail"),
    [
        (MAIL, True),
        (MAIL.replace(b"\n", b"\r\n"), True),
        (b"From ada@example.org Mon Mar  2 08:00:00 2026\n" + MAIL, True),
        (b"Return-Path: <a@b>\nX-Foo: bar\n\nx", True),
        (b"BEGIN:VCALENDAR\nVERSION:2.0\n", False),
        (b"OFXHEADER:100\nDATA:OFXSGML\n", False),
        (b":20:STARTUMS\n:25:1\n", False),
        (b"Datum;Betrag\n01.03.2026;5,00\n", False),
        (b"<?xml version='1.0'?><Document/>", False),
        (b"Title: a note\n\nDate: tomorrow\n", False),
        (b"", False),
    ],
)
def test_mail_is_known_by_its_first_lines(tmp_path: Path, content: bytes, is_mail: bool) -> None:
    (tmp_path / "file").write_bytes(content)
    assert connector.sniff(tmp_path / "file") is is_mail
