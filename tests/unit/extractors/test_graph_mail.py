"""Mail by Microsoft Graph: the laws of connectors, faults, and what is known to go wrong with delta queries."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from extractors.graph_mail import GraphMail
from extractors.graph_mail.config import GraphMailConfig
from extractors.graph_mail.memory import Memory, remembered
from extractors.mail.ledger import Told
from extractors.testing import START, ConnectorContract, Key, Poll, context_for, events_of, poll, records_of
from extractors.testing.faults import fault_machine
from extractors.testing.standin import Reply
from schemas.errors import AuthError, CursorExpired, RateLimited, TransientError
from schemas.model import Json
from tests.standins.graph import START as FIRST
from tests.standins.graph import FakeGraph, FakeMail, letter

CONNECTOR = GraphMail(page_items=2)


class GraphSource:
    """A mailbox with mails in the inbox, on a running stand-in."""

    def __init__(self, graph: FakeGraph | None = None) -> None:
        self.graph = graph or FakeGraph()
        if graph is None:
            self.graph.start()
        self.key = Key(tokens=lambda refused: "good")
        self.config = GraphMailConfig(
            allow_private=True, base_url=f"{self.graph.url}/v1.0", addresses=("nora@example.net",)
        )
        self.count = 0

    def add(self) -> FakeMail:
        self.count += 1
        return self.graph.deliver(letter(self.count), FIRST + timedelta(hours=self.count))

    def first(self) -> FakeMail:
        return min(self.graph.mails.values(), key=lambda mail: mail.number)

    def change(self) -> None:
        first = self.first()
        self.graph.mark(first, is_read=not first.is_read)

    def remove(self) -> None:
        self.graph.delete(self.first())

    def poison(self) -> None:
        self.count += 1
        self.graph.deliver(b"X-Huge: y\n" * 100_000 + b"\n", FIRST + timedelta(hours=self.count))

    def breakages(self) -> Mapping[str, Callable[[], None]]:
        return {
            "down": self.graph.stop,
            "html": lambda: self.graph.arm("html"),
            "revoked": lambda: self.graph.arm("revoked"),
            "empty": self._empty,
        }

    def _empty(self) -> None:
        self.graph.lose_cursors()
        self.graph.blank = True

    def fingerprint(self) -> Json:
        return [[mail.id, mail.folder, mail.is_read, mail.is_flagged] for mail in self.graph.mails.values()]

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
def source() -> Iterator[GraphSource]:
    made = GraphSource()
    yield made
    made.close()


def look(source: GraphSource, cursor: Json = None, *, hours: int = 0) -> Poll:
    return poll(CONNECTOR, source.config, cursor, context_for(START + timedelta(hours=hours)), key=source.key)


def events(*polls: Poll) -> list[Any]:
    changes = [change for each in polls for change in (*each.upserts, *each.deletes)]
    return events_of(CONNECTOR, records_of(CONNECTOR, changes, context_for()), context_for())[0]


class TestGraphMail(ConnectorContract):
    connector = CONNECTOR
    sources: list[GraphSource] = []

    def source(self, folder: Path) -> GraphSource:
        self.sources.append(GraphSource())
        return self.sources[-1]

    def teardown_method(self) -> None:
        while self.sources:
            self.sources.pop().close()


TestGraphMailFaults = fault_machine(GraphSource, CONNECTOR, examples=15, steps=10).TestCase


def test_a_mail_becomes_the_event_that_its_text_says(source: GraphSource) -> None:
    source.add()
    (event,) = events(look(source))
    assert (event.kind, event.title, event.trust) == ("mail.received", "Letter 1", "outside")
    assert event.payload.folder == "Posteingang"


def test_sent_mail_is_the_owners_and_drafts_bins_and_junk_are_never_read(source: GraphSource) -> None:
    raw = letter(1).replace(b"Ada <ada@example.org>", b"Nora <nora@example.net>")
    source.graph.deliver(raw, FIRST, "sentitems")
    for folder in ("drafts", "deleteditems", "junkemail", "outbox"):
        source.graph.deliver(letter(2), FIRST, folder)
    source.graph.folder("binned", "Old", parent="deleteditems")
    source.graph.deliver(letter(3), FIRST, "binned")
    assert [event.kind for event in events(look(source))] == ["mail.sent"]


def test_subfolders_are_read_with_their_path(source: GraphSource) -> None:
    source.graph.folder("bills", "Bills", parent="inbox")
    source.graph.deliver(letter(1), FIRST, "bills")
    assert events(look(source))[0].payload.folder == "Posteingang/Bills"


def test_only_the_folders_that_are_asked_for_are_read(source: GraphSource) -> None:
    source.graph.folder("bills", "Bills", parent="inbox")
    source.graph.deliver(letter(1), FIRST, "bills")
    source.add()
    source.config = source.config.model_copy(update={"folders": ("posteingang/bills",)})
    assert [event.title for event in events(look(source))] == ["Letter 1"]
    source.config = source.config.model_copy(update={"folders": ("Nowhere",)})
    assert isinstance(look(source).error, AuthError)


def test_a_move_between_folders_is_one_change_and_no_removal(source: GraphSource) -> None:
    for name in ("bills", "archive"):
        source.graph.folder(name, name.title(), parent="inbox")
    mail = source.add()
    result = look(source)
    for hour, folder in enumerate(("bills", "archive", "inbox", "bills"), start=1):
        source.graph.move(mail, folder)
        moved = look(source, result.cursor, hours=hour)
        assert (len(moved.upserts), moved.deletes) == (1, []), folder
        assert not moved.upserts[0].is_new
        result = replace(moved, pages=[*result.pages, *moved.pages])
    versions = [upsert.version for upsert in result.upserts]
    assert len(set(versions)) == len(versions)


def test_a_mail_that_goes_to_the_bin_is_withdrawn_and_comes_back_as_a_new_version(source: GraphSource) -> None:
    mail = source.add()
    first = look(source)
    source.graph.move(mail, "deleteditems")
    binned = look(source, first.cursor, hours=1)
    assert [event.op for event in events(binned)] == ["retract"]
    source.graph.move(mail, "inbox")
    back = look(source, binned.cursor, hours=2)
    assert [upsert.native_id for upsert in back.upserts] == [first.upserts[0].native_id]
    assert back.upserts[0].version not in {first.upserts[0].version, binned.deletes[0].version}


def test_a_change_names_only_what_changed_and_the_other_flags_stay(source: GraphSource) -> None:
    mail = source.add()
    source.graph.mark(mail, is_flagged=True)
    first = look(source)
    source.graph.mark(mail, is_read=True)
    second = look(source, first.cursor, hours=1)
    assert second.upserts[0].meta["flags"] == ["flagged", "seen"]
    source.graph.mark(mail, is_read=False)
    third = look(source, second.cursor, hours=2)
    assert third.upserts[0].meta["flags"] == ["flagged"]
    assert third.upserts[0].version not in {first.upserts[0].version, second.upserts[0].version}


def test_what_a_killed_poll_told_of_and_is_gone_before_the_next_is_withdrawn(source: GraphSource) -> None:
    """The service says nothing of what came and went since the link that it is asked with."""
    source.add()
    first = look(source)
    came = [source.add() for _ in range(4)]
    context = context_for(START + timedelta(hours=1))
    killed = poll(CONNECTOR, source.config, first.cursor, context, key=source.key, kill_after=1)
    assert len(killed.upserts) == 2
    for mail in came:
        source.graph.delete(mail)
    after = look(source, killed.cursor, hours=2)
    assert {delete.native_id for delete in after.deletes} == {upsert.native_id for upsert in killed.upserts}
    assert look(source, after.cursor, hours=3).deletes == []


def test_a_forgotten_place_is_a_full_listing_that_tells_only_what_is_new_and_gone(source: GraphSource) -> None:
    for _ in range(5):
        source.add()
    first = look(source)
    source.remove()
    source.add()
    source.lose_cursors()
    again = look(source, first.cursor, hours=1)
    assert any(page.reset for page in again.pages)
    assert [len(again.upserts), len(again.deletes)] == [1, 1]
    assert look(source, again.cursor, hours=2).upserts == []


def test_a_place_that_is_forgotten_in_mid_paging_is_listed_anew(source: GraphSource) -> None:
    for _ in range(5):
        source.add()
    count = 0
    answer = source.graph.answer

    def forgetful(asked: Any) -> Reply:
        nonlocal count
        count += "$skiptoken" in asked.query
        if count == 1 and "$skiptoken" in asked.query:
            source.graph.lose_cursors()
        return answer(asked)

    source.graph.answer = forgetful  # type: ignore[method-assign]
    first = look(source)
    assert first.error is None
    assert len(first.upserts) == 5


def test_the_same_content_after_a_lost_cursor_has_the_same_ids(source: GraphSource) -> None:
    for _ in range(3):
        source.add()
    first = look(source)
    source.change()
    changed = look(source, first.cursor, hours=1)
    told = {(upsert.native_id, upsert.version) for upsert in (*first.upserts, *changed.upserts)}
    again = look(source, None, hours=2)
    assert {(upsert.native_id, upsert.version) for upsert in again.upserts} <= told


def test_a_deleted_folder_takes_its_mails_with_it(source: GraphSource) -> None:
    source.graph.folder("bills", "Bills")
    source.graph.deliver(letter(1), FIRST, "bills")
    source.add()
    first = look(source)
    del source.graph.folders["bills"]
    second = look(source, first.cursor, hours=1)
    assert [len(second.upserts), len(second.deletes)] == [0, 1]


def test_a_folder_list_without_the_inbox_is_not_believed(source: GraphSource) -> None:
    source.add()
    first = look(source)
    source.graph.overrides["me/mailFolders"] = Reply.of({"@odata.context": "$metadata", "value": []})
    second = look(source, first.cursor, hours=1)
    assert isinstance(second.error, TransientError)
    assert second.deletes == []


def test_a_link_to_another_origin_is_never_followed(source: GraphSource) -> None:
    source.add()
    source.graph.overrides["messages/delta"] = Reply.of(
        {"@odata.context": "$metadata", "value": [], "@odata.nextLink": "http://127.0.0.2:9/v1.0/me"}
    )
    result = look(source)
    assert "127.0.0.2" in str(result.error)
    assert result.cursor is None


def test_pages_in_a_circle_end_without_moving_the_cursor(source: GraphSource) -> None:
    source.add()
    first = look(source)
    link = f"{source.graph.url}/v1.0/me/mailFolders/x/messages/delta?$skiptoken=again"
    source.graph.overrides["messages/delta"] = Reply.of(
        {"@odata.context": "$metadata", "value": [], "@odata.nextLink": link}
    )
    second = look(source, first.cursor, hours=1)
    assert "circle" in str(second.error)
    assert second.cursor == first.cursor


def test_a_request_for_fewer_calls_says_when(source: GraphSource) -> None:
    source.graph.arm("429", after=3)
    error = look(source).error
    assert isinstance(error, RateLimited)
    assert error.retry_at == START + timedelta(seconds=30)


def test_a_missing_permission_is_named(source: GraphSource) -> None:
    source.graph.overrides["me/mailFolders"] = Reply.of({"error": {"code": "ErrorAccessDenied"}}, 403)
    error = look(source).error
    assert isinstance(error, AuthError)
    assert "Mail.Read" in error.remedy


def test_an_account_without_a_mailbox_says_so(source: GraphSource) -> None:
    source.graph.overrides["me/mailFolders"] = Reply.of({"error": {"code": "MailboxNotEnabledForRESTAPI"}}, 404)
    assert "no mailbox" in str(look(source).error)


def test_an_expired_token_is_refreshed_once(source: GraphSource) -> None:
    source.add()
    source.key = Key(tokens=lambda refused: "good" if refused == "old" else "old")
    assert len(look(source).upserts) == 1


def test_a_mail_that_exchange_cannot_give_is_rejected_once_and_the_rest_goes_on(source: GraphSource) -> None:
    broken = source.add()
    source.add()
    source.graph.overrides[f"{broken.id}/$value"] = Reply.of(
        {"error": {"code": "ErrorMimeContentConversionFailed"}}, 500
    )
    first = look(source)
    assert [rejected.code for rejected in first.rejected] == ["unreadable"]
    assert len(first.upserts) == 1
    second = look(source, first.cursor, hours=1)
    assert second.rejected == []
    source.graph.delete(broken)
    assert look(source, second.cursor, hours=2).deletes == []


def test_a_web_page_is_not_taken_for_a_mail(source: GraphSource) -> None:
    mail = source.add()
    source.graph.overrides[f"{mail.id}/$value"] = Reply(200, b"<html>Log in</html>", {"Content-Type": "text/html"})
    assert isinstance(look(source).error, TransientError)


def test_a_mail_that_vanishes_between_list_and_read_is_passed_over(source: GraphSource) -> None:
    mail = source.add()
    source.add()
    source.graph.overrides[f"{mail.id}/$value"] = Reply.of({"error": {"code": "ErrorItemNotFound"}}, 404)
    first = look(source)
    assert len(first.upserts) == 1
    source.graph.delete(mail)
    second = look(source, first.cursor, hours=1)
    assert (second.upserts, second.deletes, second.error) == ([], [], None)


def test_old_mail_is_left_alone_and_its_flags_too(source: GraphSource) -> None:
    old = source.graph.deliver(letter(1), START - timedelta(days=500))
    source.add()
    first = look(source)
    assert len(first.upserts) == 1
    source.graph.mark(old, is_read=True)
    assert look(source, first.cursor, hours=1).upserts == []


def test_mail_comes_oldest_first(source: GraphSource) -> None:
    for _ in range(5):
        source.add()
    assert [event.title for event in events(look(source))] == [f"Letter {number}" for number in range(1, 6)]


def test_a_quiet_mailbox_keeps_its_cursor_for_hours_and_refreshes_it_in_time(source: GraphSource) -> None:
    source.add()
    first = look(source)
    assert look(source, first.cursor, hours=1).pages[-1].next_cursor is None
    assert look(source, first.cursor, hours=13).pages[-1].next_cursor is not None


def test_the_cursor_of_a_large_mailbox_stays_small() -> None:
    memory = Memory()
    for number in range(60_000):
        memory.ledger.known[f"{number:016x}"] = Told(0, 1, 7)
    for number in range(100):
        memory.place(f"folder {number}")
        memory.links[f"folder {number}"] = "https://graph.microsoft.com/v1.0/" + "x" * 1_000
    cursor = memory.to_json(START)
    known = remembered(cursor).ledger.known
    assert len(str(cursor)) < 700_000
    assert list(known)[-1] == f"{59_999:016x}"
    assert len(set(memory.places.values())) == 100


def test_a_damaged_cursor_means_a_full_listing() -> None:
    with pytest.raises(CursorExpired):
        remembered({"format": 0})
    with pytest.raises(CursorExpired):
        remembered({"format": 1, "folders": {}, "named": {}, "known": "???", "at": "2026-01-01T00:00:00+00:00"})


def test_the_token_goes_nowhere_unencrypted() -> None:
    with pytest.raises(ValidationError, match="https://"):
        GraphMailConfig(base_url="http://graph.example.org/v1.0")


@pytest.mark.parametrize(
    ("hint", "settings"),
    [("", {}), (" Nora@Outlook.com ", {"addresses": ["nora@outlook.com"]})],
)
def test_an_address_or_nothing_is_all_that_is_asked(hint: str, settings: dict[str, Json]) -> None:
    found = asyncio.run(CONNECTOR.discover(hint, context_for()))
    assert found == {"provider": "microsoft", **settings}
    assert GraphMailConfig.model_validate(found)


def test_what_is_no_address_is_refused() -> None:
    with pytest.raises(AuthError, match="no mail address"):
        asyncio.run(CONNECTOR.discover("outlook", context_for()))


def test_a_check_lists_the_folders(source: GraphSource) -> None:
    source.add()
    source.graph.folder("bills", "Bills", parent="inbox")

    async def run() -> list[str]:
        async with source.key.open(START) as access:
            return list(await CONNECTOR.check(source.config, replace(context_for(), access=access)))

    assert asyncio.run(run()) == [
        "Gesendete Elemente: 0 mails (sent)",
        "Posteingang: 1 mails",
        "Posteingang/Bills: 0 mails",
    ]
