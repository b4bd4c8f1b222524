"""Polling Maildir and mbox as real programs leave them, and as accidents do."""

from __future__ import annotations

import asyncio
import base64
import mailbox
import os
from datetime import timedelta
from email.message import EmailMessage
from pathlib import Path

import pytest

from extractors.connector import Page
from extractors.maildir import MaildirConnector
from extractors.maildir.config import MaildirConfig
from extractors.maildir.known import LIMIT, Seen, pack, unpack
from extractors.maildir.utf7 import decode_utf7
from extractors.testing import START, Poll, context_for, events_of, poll, records_of
from schemas.errors import AuthError, CursorExpired, TransientError
from schemas.event import Event
from schemas.model import Json
from schemas.record import RAW_CAP

CONNECTOR = MaildirConnector(page_items=3)
ENVELOPE = b"From ada@example.org Mon Mar  2 08:00:00 2026\n"


def letter(subject: str, *headers: str) -> bytes:
    lines = "".join(f"{header}\n" for header in headers)
    return (
        f"{lines}From: ada@example.org\nSubject: {subject}\nDate: Mon, 02 Mar 2026 10:15:00 +0100\n\nHello.\n".encode()
    )


def maildir(root: Path, *folders: str) -> Path:
    for folder in ("", *folders):
        for part in ("cur", "new", "tmp"):
            (root / folder / part).mkdir(parents=True, exist_ok=True)
    return root


def polled(path: Path, cursor: Json = None, *, days: int = 0, **settings: object) -> Poll:
    config = MaildirConfig.model_validate({"path": str(path), **settings})
    return poll(CONNECTOR, config, cursor, context_for(now=START + timedelta(days=days)))


def events(result: Poll) -> list[Event]:
    changes = [*result.upserts, *result.deletes]
    found, poison = events_of(CONNECTOR, records_of(CONNECTOR, changes, context_for()), context_for())
    assert not poison
    return found


def titles(result: Poll) -> list[str]:
    return [event.title for event in events(result)]


def test_a_maildir_that_the_standard_library_wrote_is_read(tmp_path: Path) -> None:
    box = mailbox.Maildir(tmp_path / "box")
    message = mailbox.MaildirMessage(letter("one"))
    message.set_subdir("cur")
    message.set_flags("RS")
    box.add(message)
    box.add(letter("two"))
    box.add_folder("Sent").add(letter("three"))
    result = polled(tmp_path / "box")
    found = {event.title: event for event in events(result)}
    assert set(found) == {"one", "two", "three"}
    assert found["one"].payload is not None
    assert getattr(found["one"].payload, "flags", ()) == ("answered", "seen")
    assert found["three"].kind == "mail.sent"


def test_an_mbox_that_the_standard_library_wrote_is_read(tmp_path: Path) -> None:
    box = mailbox.mbox(tmp_path / "box")
    message = EmailMessage()
    message["From"] = "ada@example.org"
    message["Subject"] = "one"
    message.set_content("From here on it is text.\nBye.\n")
    flagged = mailbox.mboxMessage(message)
    flagged.set_flags("RAF")
    box.add(flagged)
    box.add(letter("two"))
    box.close()
    first, second = events(polled(tmp_path / "box"))
    assert (first.title, second.title) == ("one", "two")
    assert first.text == "From here on it is text.\nBye."
    assert getattr(first.payload, "flags", ()) == ("answered", "flagged", "seen")


def test_the_oldest_mail_comes_first_and_pages_are_bounded(tmp_path: Path) -> None:
    root = maildir(tmp_path)
    for number in (5, 3, 4, 1, 2):
        (root / "new" / f"177243500{number}.M1").write_bytes(letter(str(number)))
    result = polled(root)
    assert titles(result) == ["1", "2", "3", "4", "5"]
    assert [len(page.upserts) for page in result.pages] == [3, 2]


def test_a_mail_that_moves_to_another_folder_stays_the_same_mail(tmp_path: Path) -> None:
    root = maildir(tmp_path, ".Archive")
    (root / "cur" / "1772435001.M1:2,S").write_bytes(letter("one"))
    first = polled(root)
    (root / "cur" / "1772435001.M1:2,S").rename(root / ".Archive" / "cur" / "1772435001.M1:2,S")
    second = polled(root, first.cursor)
    assert [event.kind for event in events(second)] == ["mail.flagged"]
    assert not second.deletes


def test_going_back_to_old_flags_is_a_new_version(tmp_path: Path) -> None:
    root = maildir(tmp_path)
    path = root / "cur" / "1772435001.M1:2,"
    path.write_bytes(letter("one"))
    results = [polled(root)]
    for flags in ("S", "", "S"):
        (old,) = (root / "cur").iterdir()
        old.rename(root / "cur" / f"1772435001.M1:2,{flags}")
        results.append(polled(root, results[-1].cursor))
    versions = [upsert.version for result in results for upsert in result.upserts]
    assert len(versions) == len(set(versions)) == 4


def test_a_mail_that_comes_back_is_a_new_version_of_itself(tmp_path: Path) -> None:
    root = maildir(tmp_path)
    (root / "cur" / "1772435001.M1:2,").write_bytes(letter("one"))
    (root / "cur" / "1772435002.M1:2,").write_bytes(letter("two"))
    first = polled(root)
    (root / "cur" / "1772435001.M1:2,").rename(tmp_path / "aside")
    second = polled(root, first.cursor)
    (tmp_path / "aside").rename(root / "cur" / "1772435001.M1:2,")
    third = polled(root, second.cursor)
    (gone,) = second.deletes
    (back,) = third.upserts
    assert gone.native_id == back.native_id
    assert not back.is_new
    assert back.version not in {upsert.version for upsert in first.upserts}


def test_the_same_mail_in_two_folders_is_two_mails(tmp_path: Path) -> None:
    root = maildir(tmp_path, ".Copy")
    (root / "cur" / "1772435001.M1:2,").write_bytes(letter("one"))
    os.link(root / "cur" / "1772435001.M1:2,", root / ".Copy" / "cur" / "1772435001.M1:2,")
    result = polled(root)
    assert len({upsert.native_id for upsert in result.upserts}) == 2


def test_drafts_spam_and_bins_are_not_read(tmp_path: Path) -> None:
    root = maildir(tmp_path, ".Drafts", ".Junk", ".Trash", ".Entw&APw-rfe", ".Papierkorb", ".INBOX.Spam", ".Work")
    for folder in (".Drafts", ".Junk", ".Trash", ".Entw&APw-rfe", ".Papierkorb", ".INBOX.Spam", ".Work"):
        (root / folder / "cur" / f"17724350{len(folder):02}.M1:2,").write_bytes(letter(folder))
    (root / "cur" / "1772435001.M1:2,D").write_bytes(letter("a draft in the inbox"))
    assert titles(polled(root)) == [".Work"]


@pytest.mark.parametrize("folder", [".Sent", ".Gesendet", ".&AMk-l&AOk-ments envoy&AOk-s", ".Enviados", ".INBOX.Sent"])
def test_a_folder_that_is_called_like_sent_mail_holds_sent_mail(tmp_path: Path, folder: str) -> None:
    root = maildir(tmp_path, folder)
    (root / folder / "cur" / "1772435001.M1:2,S").write_bytes(letter("one"))
    assert [event.kind for event in events(polled(root))] == ["mail.sent"]


def test_only_the_main_folder_is_read_where_that_is_wanted(tmp_path: Path) -> None:
    root = maildir(tmp_path, ".Work")
    (root / ".Work" / "cur" / "1772435001.M1:2,").write_bytes(letter("one"))
    assert polled(root, subfolders=False).upserts == []


def test_mail_that_is_too_old_is_left_alone(tmp_path: Path) -> None:
    root = maildir(tmp_path)
    for name, days in (("old", 40), ("young", 10)):
        second = int((START - timedelta(days=days)).timestamp())
        (root / "cur" / f"{second}.M1:2,").write_bytes(letter(name))
    result = polled(root, max_age_days=30)
    assert titles(result) == ["young"]
    later = polled(root, result.cursor, days=25, max_age_days=30)
    assert (later.upserts, later.deletes) == ([], [])


def test_links_pipes_and_folders_are_rejected_and_never_opened(tmp_path: Path) -> None:
    root = maildir(tmp_path / "box")
    (tmp_path / "secret").write_bytes(letter("secret"))
    (root / "new" / "1772435001.M1").symlink_to(tmp_path / "secret")
    os.mkfifo(root / "new" / "1772435002.M1")
    (root / "new" / "1772435003.M1").mkdir()
    (root / "new" / "1772435004.M1").write_bytes(letter("one"))
    result = polled(root)
    assert titles(result) == ["one"]
    assert {rejected.code for rejected in result.rejected} == {"not_a_file"}
    assert len(result.rejected) == 3
    assert polled(root, result.cursor).rejected == []


def test_a_rejected_mail_that_goes_away_is_no_delete(tmp_path: Path) -> None:
    root = maildir(tmp_path)
    (root / "new" / "1772435001.M1").mkdir()
    (root / "new" / "1772435002.M1").write_bytes(letter("one"))
    first = polled(root)
    (root / "new" / "1772435001.M1").rmdir()
    second = polled(root, first.cursor)
    assert (second.deletes, second.rejected) == ([], [])


def test_a_big_mail_is_slimmed_and_its_attachments_are_still_known(tmp_path: Path) -> None:
    root = maildir(tmp_path)
    content = os.urandom(900_000)
    attachment = b"--z\nContent-Type: application/pdf; name=big.pdf\nContent-Transfer-Encoding: base64\n\n"
    body = b"--z\n\nPlease pay 30 EUR by 20 March 2026.\n" + attachment + base64.encodebytes(content) + b"--z--\n"
    (root / "new" / "1772435001.M1").write_bytes(
        b"From: ada@example.org\nContent-Type: multipart/mixed; boundary=z\n\n" + body
    )
    result = polled(root)
    assert len(result.upserts[0].raw) < RAW_CAP // 2
    (event,) = events(result)
    assert event.due_at is not None
    assert [(a.filename, a.size) for a in getattr(event.payload, "attachments", ())] == [("big.pdf", len(content))]


def test_a_mail_that_stays_too_big_is_rejected(tmp_path: Path) -> None:
    root = maildir(tmp_path)
    (root / "new" / "1772435001.M1").write_bytes(b"Subject: x\n" + b"X-Long: y\n" * 100_000 + b"\n")
    assert [rejected.code for rejected in polled(root).rejected] == ["too_large"]


def test_copies_in_an_mbox_are_told_apart_and_rereading_adds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "inbox"
    path.write_bytes((ENVELOPE + letter("same") + b"\n") * 3)
    first = polled(path)
    assert len({upsert.native_id for upsert in first.upserts}) == 3
    path.write_bytes((ENVELOPE + letter("same", "Status: RO") + b"\n") * 3 + ENVELOPE + letter("new") + b"\n")
    second = polled(path, first.cursor)
    assert [event.kind for event in events(second)] == ["mail.received", *["mail.flagged"] * 3]


def test_thunderbirds_flags_are_known_and_what_it_threw_away_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "Inbox"
    envelope = b"From - Mon Mar 02 08:00:00 2026\n"
    path.write_bytes(
        envelope
        + letter("read", "X-Mozilla-Status: 0001")
        + b"\n"
        + envelope
        + letter("gone", "X-Mozilla-Status: 0009")
        + b"\n"
    )
    (event,) = events(polled(path))
    assert event.title == "read"
    assert getattr(event.payload, "flags", ()) == ("seen",)


def test_from_lines_in_the_text_do_not_cut_a_mail(tmp_path: Path) -> None:
    path = tmp_path / "inbox"
    path.write_bytes(
        ENVELOPE
        + letter("one")
        + b"\nFrom now on it is text.\n>From the top.\n\nFrom Mon to Fri 08:00 we work.\nBye\n\n"
        + ENVELOPE
        + letter("two")
    )
    first, second = events(polled(path))
    assert "From now on it is text.\nFrom the top." in first.text
    assert second.title == "two"


def test_an_mbox_with_other_line_ends_and_no_empty_lines_is_read(tmp_path: Path) -> None:
    path = tmp_path / "inbox"
    path.write_bytes((ENVELOPE + letter("one") + ENVELOPE + letter("two")).replace(b"\n", b"\r\n"))
    assert titles(polled(path)) == ["one", "two"]


def test_an_mbox_that_was_cut_inside_of_a_mail_deletes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "inbox"
    whole = b"".join(ENVELOPE + letter(str(number)) + b"\n" for number in range(6))
    path.write_bytes(whole)
    first = polled(path)
    for size in range(len(whole) // 3, len(whole), 37):
        path.write_bytes(whole[:size])
        cut = polled(path, first.cursor)
        if cut.deletes:  # a cut between two mails looks like their deletion
            assert whole[:size].endswith(b"\n")
            assert cut.upserts == []
    path.write_bytes(whole)
    assert polled(path, first.cursor).deletes == []


def test_mail_that_is_deleted_from_an_mbox_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "inbox"
    mails = [ENVELOPE + letter(str(number)) + b"\n" for number in range(4)]
    path.write_bytes(b"".join(mails))
    first = polled(path)
    path.write_bytes(b"".join(mails[:1] + mails[2:]))
    assert len(polled(path, first.cursor).deletes) == 1


@pytest.mark.parametrize("cursor", ["text", {"format": 2}, {"format": 1, "known": "!"}, {"format": 1, "known": "QUJD"}])
def test_a_place_that_is_not_ours_is_lost(tmp_path: Path, cursor: Json) -> None:
    """As the service does it: CursorExpired, and everything from the beginning."""
    root = maildir(tmp_path)
    (root / "new" / "1.host").write_bytes(letter("1"))
    again = polled(root, cursor)
    assert len(again.upserts) == 1
    assert again == polled(root)
    with pytest.raises(CursorExpired):
        asyncio.run(first_page(root, cursor))


async def first_page(root: Path, cursor: Json) -> Page:
    return await anext(MaildirConnector().pull(MaildirConfig(path=str(root)), cursor, context_for()))


@pytest.mark.parametrize(
    ("name", "error", "words"),
    [
        ("missing", TransientError, "check the path, and that its disk is mounted"),
        ("file", TransientError, "is no mbox"),
    ],
)
def test_a_path_that_is_no_mail_says_what_to_do(tmp_path: Path, name: str, error: type[Exception], words: str) -> None:
    (tmp_path / "file").write_bytes(b"just text\n")
    result = polled(tmp_path / name)
    assert isinstance(result.error, error)
    assert words in str(result.error)


def test_a_folder_that_may_not_be_read_needs_a_person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = maildir(tmp_path)

    def refuse(path: object) -> object:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "scandir", refuse)
    result = polled(root)
    assert isinstance(result.error, AuthError)
    assert "read access" in str(result.error)


def test_a_mail_that_may_not_be_read_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = maildir(tmp_path)
    (root / "new" / "1772435001.M1").write_bytes(letter("one"))
    with monkeypatch.context() as patched:
        patched.setattr(os, "O_NOFOLLOW", os.O_CREAT | os.O_EXCL)  # opening an existing file fails
        first = polled(root)
    assert first.upserts == []
    assert "tried again" in first.warnings[0]
    assert titles(polled(root, first.cursor)) == ["one"]


def test_what_is_known_is_packed_and_unpacked_unchanged() -> None:
    known = {
        f"{number:020x}": Seen(number % 65_536, number % 64, number % 256, number % 2 == 0, number % 3 == 0)
        for number in range(1_000)
    }
    assert unpack(pack(known)) == known
    assert list(unpack(pack(known))) == list(known)
    assert len(pack({f"{number:020x}": Seen(0, 0, 0) for number in range(LIMIT)})) < 1_000_000


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Entw&APw-rfe", "Entwürfe"),
        ("A &- B", "A & B"),
        ("&AMk-l&AOk-ments", "Éléments"),
        ("plain", "plain"),
        ("&x-", "&x-"),
    ],
)
def test_folder_names_are_decoded(name: str, text: str) -> None:
    assert decode_utf7(name) == text


@pytest.mark.parametrize(
    "settings", [{"addresses": ["nora"]}, {"path": ""}, {"max_age_days": 0}, {"kind": "pst"}, {"colour": "red"}]
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(ValueError):
        MaildirConfig.model_validate({"path": "/mail", **settings})


def test_addresses_are_compared_in_lower_case() -> None:
    assert MaildirConfig(path="/mail", addresses=("Nora@Example.NET",)).addresses == ("nora@example.net",)
