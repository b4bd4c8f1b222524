"""What happens in a mailbox on a Dovecot, and what the connector makes of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from extractors.imap import ImapConnector
from extractors.imap.login import Door
from extractors.imap.reading import PageSize
from extractors.testing import START, Poll, context_for, events_of, poll, records_of
from schemas.event import Event
from tests.integration.imap_source import LETTERS, MailboxSource, config_of, letter
from tests.peers.dovecot import Dovecot, dovecot
from tests.peers.process import provided

CASE = Path(__file__).parents[1] / "cases" / "email" / "e16_uidvalidity_reset"


@pytest.fixture(scope="module", params=["", "QRESYNC", "QRESYNC CONDSTORE"], ids=["QRESYNC", "CONDSTORE", "neither"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dovecot]:
    yield from provided(partial(dovecot, hide=request.param), tmp_path_factory.mktemp("dovecot"))


@pytest.fixture
def source(server: Dovecot) -> Iterator[MailboxSource]:
    made = MailboxSource(server)
    yield made
    made.close()


@pytest.fixture
def modern(dovecot_server: Dovecot) -> Iterator[MailboxSource]:
    """With every extension; for what does not depend on them."""
    made = MailboxSource(dovecot_server)
    yield made
    made.close()


def polled(source: MailboxSource, before: Poll | None = None, connector: ImapConnector = LETTERS) -> Poll:
    result = poll(connector, source.config, before.cursor if before else None, context_for(), key=source.key)
    assert result.error is None, result.error
    return result


def events(result: Poll) -> list[Event]:
    found, poison = events_of(
        LETTERS, records_of(LETTERS, [*result.upserts, *result.deletes], context_for()), context_for()
    )
    assert not poison
    return found


def told(result: Poll) -> list[tuple[str, str]]:
    return [(event.kind, event.title) for event in events(result)]


def test_new_numbers_for_all_mails_raise_nothing_again(source: MailboxSource) -> None:
    """Case e16."""
    steps = json.loads(CASE.with_suffix(".json").read_text("utf-8"))["steps"]
    expected = json.loads(CASE.with_name(f"{CASE.name}.expected.json").read_text("utf-8"))["after"]
    result: Poll | None = None
    stored: dict[str, bytes] = {}
    for step in steps:
        match step["do"]:
            case "append":
                for subject in step["subjects"]:
                    source.append(letter(subject), step["folder"])
            case "set_uidvalidity":
                source.server.new_validity(source.user, step["folder"], step["value"])
            case "poll":
                result = polled(source, result)
                stored |= {upsert.native_id: upsert.raw for upsert in result.upserts}
                if "expect_new" in step:
                    assert [title for _, title in told(result)] == [f"Letter {name}" for name in step["expect_new"]]
    assert result is not None
    assert told(result) == [("mail.received", f"Letter {name}") for name in expected["new_events_raised"]]
    assert len(stored) == expected["stored_messages"]
    assert not result.deletes
    assert all(page.reset for page in result.pages)
    assert polled(source, result).upserts == []


def test_what_went_while_the_numbers_changed_is_withdrawn(source: MailboxSource) -> None:
    for number in range(3):
        source.append(letter(number))
    first = polled(source)
    source.remove()
    source.change()
    source.server.new_validity(source.user, "INBOX", 77)
    second = polled(source, first)
    assert [delete.native_id for delete in second.deletes] == [first.upserts[0].native_id]
    assert [(upsert.native_id, upsert.is_new) for upsert in second.upserts] == [(first.upserts[1].native_id, False)]


def test_a_poll_killed_while_the_numbers_are_new_goes_on_there(source: MailboxSource) -> None:
    for number in range(5):
        source.append(letter(number))
    first = polled(source)
    source.remove()
    source.server.new_validity(source.user, "INBOX", 78)
    for pages in range(1, 5):
        killed = poll(LETTERS, source.config, first.cursor, context_for(), key=source.key, kill_after=pages)
        rest = polled(source, killed)
        assert [u.native_id for u in [*killed.upserts, *rest.upserts]] == []
        gone = {d.native_id for d in [*killed.deletes, *rest.deletes]}
        assert gone == {first.upserts[0].native_id}, pages


def test_a_mail_that_is_moved_stays_the_same_mail(source: MailboxSource) -> None:
    with source.server.client(source.user) as client:
        client.create_folder("Archive")
    source.config = config_of(source.server, source.user, folders=["INBOX", "Archive"])
    source.append(letter("a"))
    source.append(letter("b"))
    first = polled(source)
    with source.server.client(source.user) as client:
        client.select_folder("INBOX")
        client.move([1], "Archive")
    second = polled(source, first)
    assert second.deletes == []
    (moved,) = second.upserts
    assert (moved.native_id, moved.is_new, moved.meta["folder"]) == (first.upserts[0].native_id, False, "Archive")
    assert [event.kind for event in events(second)] == ["mail.flagged"]


def test_a_mail_that_comes_back_is_a_version_of_itself(source: MailboxSource) -> None:
    source.append(letter("a"))
    source.append(letter("b"))
    first = polled(source)
    source.remove()
    second = polled(source, first)
    source.append(letter("a"))
    third = polled(source, second)
    (back,) = third.upserts
    assert back.native_id == first.upserts[0].native_id == second.deletes[0].native_id
    assert not back.is_new
    assert len({first.upserts[0].version, second.deletes[0].version, back.version}) == 3


def test_copies_are_mails_of_their_own(source: MailboxSource) -> None:
    for _ in range(3):
        source.append(letter("same"))
    first = polled(source)
    assert len({upsert.native_id for upsert in first.upserts}) == 3
    source.remove()
    second = polled(source, first)
    assert [delete.native_id for delete in second.deletes] == [first.upserts[0].native_id]


def test_flags_there_and_back_are_three_versions(source: MailboxSource) -> None:
    source.append(letter("a"))
    first = polled(source)
    source.change()
    second = polled(source, first)
    source.change()
    third = polled(source, second)
    versions = [upsert.version for result in (first, second, third) for upsert in result.upserts]
    assert len(set(versions)) == 3
    assert [event.payload.flags for result in (first, second, third) for event in events(result)] == [
        (),
        ("flagged",),
        (),
    ]


def test_a_lost_cursor_gives_every_mail_its_old_record(source: MailboxSource) -> None:
    for number in range(3):
        source.append(letter(number))
    first = polled(source)
    source.change()
    source.server.new_validity(source.user, "INBOX", 79)
    again = polled(source)
    assert [(u.native_id, u.version, u.raw) for u in again.upserts] == [
        (u.native_id, u.version, u.raw) for u in first.upserts
    ]


def test_all_mails_read_at_once_come_page_by_page(source: MailboxSource) -> None:
    for number in range(7):
        source.append(letter(number))
    first = polled(source)
    with source.server.client(source.user) as client:
        client.select_folder("INBOX")
        client.add_flags(client.search(), [b"\\Seen"])
    second = polled(source, first)
    assert [len(page.upserts) for page in second.pages] == [2, 2, 2, 1, 0]
    assert all(event.payload.flags == ("seen",) for event in events(second))


def test_sent_mail_is_found_where_the_server_marks_it(modern: MailboxSource) -> None:
    modern.append(letter("in"))
    modern.append(letter("out", sender=f"Nora <{modern.user}>"), "Sent")
    modern.append(letter("thrown away"), "Trash")
    assert told(polled(modern)) == [("mail.received", "Letter in"), ("mail.sent", "Letter out")]


def test_the_folders_of_the_settings_are_read_and_no_others(modern: MailboxSource) -> None:
    with modern.server.client(modern.user) as client:
        client.create_folder("Rechnungen & Belege/Büro")
    modern.append(letter("a"), "Rechnungen & Belege/Büro")
    modern.append(letter("b"))
    modern.config = config_of(modern.server, modern.user, folders=["Rechnungen & Belege/Büro", "No such folder"])
    result = polled(modern)
    assert [upsert.meta["folder"] for upsert in result.upserts] == ["Rechnungen & Belege/Büro"]
    assert result.warnings == ["the folder No such folder is not there; its mails are kept"]


def test_a_folder_that_the_settings_name_no_more_is_forgotten_without_a_word(modern: MailboxSource) -> None:
    modern.append(letter("in"))
    modern.append(letter("out"), "Sent")
    first = polled(modern)
    modern.config = config_of(modern.server, modern.user, folders=["INBOX"])
    second = polled(modern, first)
    assert (second.upserts, second.deletes, second.warnings) == ([], [], [])


def test_a_folder_that_is_gone_takes_no_mails_with_it(modern: MailboxSource) -> None:
    with modern.server.client(modern.user) as client:
        client.create_folder("Archive")
    modern.config = config_of(modern.server, modern.user, folders=["INBOX", "Archive"])
    modern.append(letter("in"))
    modern.append(letter("old"), "Archive")
    first = polled(modern)
    with modern.server.client(modern.user) as client:
        client.delete_folder("Archive")
    second = polled(modern, first)
    assert (second.upserts, second.deletes) == ([], [])
    assert second.warnings == ["the folder Archive is not there; its mails are kept"]


def test_one_folder_that_was_made_anew_and_empty_holds_only_itself_up(modern: MailboxSource) -> None:
    with modern.server.client(modern.user) as client:
        client.create_folder("Archive")
    modern.config = config_of(modern.server, modern.user, folders=["INBOX", "Archive"])
    modern.append(letter("old"), "Archive")
    modern.append(letter("a"))
    first = polled(modern)
    with modern.server.client(modern.user) as client:
        client.delete_folder("Archive")
        client.create_folder("Archive")
    modern.server.new_validity(modern.user, "Archive", 4_711)
    modern.append(letter("b"))
    second = polled(modern, first)
    assert [title for _, title in told(second)] == ["Letter b"]
    assert "suddenly new and empty" in second.warnings[0]


def test_an_emptied_inbox_is_believed_while_other_mail_is_there(modern: MailboxSource) -> None:
    modern.append(letter("in"))
    modern.append(letter("out"), "Sent")
    first = polled(modern)
    modern.remove()
    assert [delete.native_id for delete in polled(modern, first).deletes] == [first.upserts[0].native_id]


def test_old_mail_is_left_alone_if_the_settings_say_so(modern: MailboxSource) -> None:
    from datetime import timedelta

    with modern.server.client(modern.user) as client:
        client.append("INBOX", letter("old"), (), START - timedelta(days=40))
        client.append("INBOX", letter("young"), (), START - timedelta(days=4))
    modern.config = config_of(modern.server, modern.user, max_age_days=30)
    first = polled(modern)
    assert [title for _, title in told(first)] == ["Letter young"]
    modern.change()
    assert polled(modern, first).upserts == []


def test_a_big_mail_comes_without_its_attachments(modern: MailboxSource) -> None:
    body = b"Please pay 12.00 EUR by 14 March 2026."
    blob = b"JVBERi0x" * 9 + b"\r\n"
    raw = (
        b"From: ada@example.org\r\nSubject: With a scan\r\nMIME-Version: 1.0\r\n"
        b'Content-Type: multipart/mixed; boundary="b"\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\n'
        + body
        + b"\r\n--b\r\nContent-Type: application/pdf\r\nContent-Transfer-Encoding: base64\r\n"
        b'Content-Disposition: attachment; filename="scan.pdf"\r\n\r\n' + blob * 40_000 + b"--b--\r\n"
    )
    modern.append(raw)
    modern.append(letter("next"))
    result = polled(modern)
    assert len(result.upserts[0].raw) < 2_000
    event = events(result)[0]
    assert (event.title, event.text.strip()) == ("With a scan", body.decode())
    assert [(each.filename, each.size) for each in event.payload.attachments] == [("scan.pdf", 54 * 40_000)]


def test_a_mail_beyond_all_measure_is_told_once_and_not_read(
    modern: MailboxSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("extractors.mail.limits.MESSAGE_BYTES", 50_000)
    modern.append(letter("huge", "x" * 60_000))
    modern.append(letter("next"))
    first = polled(modern)
    (rejected,) = first.rejected
    assert (rejected.where, rejected.code) == ("INBOX/1", "too_large")
    assert [title for _, title in told(first)] == ["Letter next"]
    assert polled(modern, first).rejected == []
    modern.remove()
    assert polled(modern, first).deletes == []


def test_pages_end_where_their_bytes_do(modern: MailboxSource) -> None:
    for number in range(4):
        modern.append(letter(number, "x" * 3_000))
    small = ImapConnector(page=PageSize(mails=100, size=7_000), door=Door(read_s=5))
    assert [len(page.upserts) for page in polled(modern, connector=small).pages] == [2, 2, 0]


def test_a_poll_with_nothing_new_is_one_round_trip_after_the_login(modern: MailboxSource) -> None:
    modern.append(letter("in"))
    modern.append(letter("out"), "Sent")
    modern.proxy.__exit__()
    modern.proxy.target = ("127.0.0.1", modern.server.imap)
    modern.proxy.__enter__()
    modern.config = config_of(modern.server, modern.user, port=modern.proxy.port, security="none")
    first = polled(modern)
    before = modern.proxy.turns
    assert polled(modern, first).pages == [polled(modern, first).pages[0]]
    greeting, login, good_bye = 1, 1, 1
    assert (modern.proxy.turns - before) / 2 <= greeting + login + 1 + good_bye
