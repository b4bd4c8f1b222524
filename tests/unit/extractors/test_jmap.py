"""Mail by JMAP: the laws of connectors, faults, and what is known to go wrong with states and limits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from extractors.jmap import Jmap
from extractors.jmap.config import FASTMAIL, JmapConfig
from extractors.jmap.look import is_older
from extractors.jmap.memory import remembered
from extractors.testing import START, ConnectorContract, Key, Poll, context_for, events_of, poll, records_of
from extractors.testing.faults import fault_machine
from extractors.testing.standin import Reply
from schemas.errors import AuthError, CursorExpired, RateLimited, TransientError
from schemas.model import Json
from tests.standins import jmap_contract
from tests.standins.graph import START as FIRST
from tests.standins.graph import letter
from tests.standins.jmap import FakeEmail, FakeJmap, basic

CONNECTOR = Jmap(page_items=2)


class JmapSource:
    """A mailbox with mails in the inbox, on a running stand-in."""

    def __init__(self) -> None:
        self.server = FakeJmap()
        self.server.start()
        self.key = Key(secrets={"token": "good"})
        self.config = JmapConfig(allow_private=True, base_url=self.server.url, addresses=("nora@example.net",))
        self.count = 0

    def add(self) -> FakeEmail:
        self.count += 1
        return self.server.deliver(letter(self.count), FIRST + timedelta(hours=self.count))

    def first(self) -> FakeEmail:
        return min(self.server.emails.values(), key=lambda email: email.id)

    def change(self) -> None:
        first = self.first()
        self.server.mark(first, *({"$seen"} ^ first.keywords))

    def remove(self) -> None:
        self.server.destroy(self.first())

    def poison(self) -> None:
        self.count += 1
        self.server.deliver(b"X-Huge: y\n" * 100_000 + b"\n", FIRST + timedelta(hours=self.count))

    def breakages(self) -> Mapping[str, Callable[[], None]]:
        return {
            "down": self.server.stop,
            "html": lambda: self.server.arm("html"),
            "revoked": lambda: self.server.arm("revoked"),
            "no mailboxes": self.server.mailboxes.clear,
        }

    def fingerprint(self) -> Json:
        return [[email.id, sorted(email.mailboxes), sorted(email.keywords)] for email in self.server.emails.values()]

    def faults(self) -> Mapping[str, Callable[[int], None]]:
        return self.server.faults()

    def heal(self) -> None:
        self.server.heal()

    def lose_cursors(self) -> None:
        self.server.lose_cursors()

    def close(self) -> None:
        self.server.stop()
        assert self.server.violations == []


@pytest.fixture
def source() -> Iterator[JmapSource]:
    made = JmapSource()
    yield made
    made.close()


def look(source: JmapSource, cursor: Json = None, *, hours: int = 0) -> Poll:
    return poll(CONNECTOR, source.config, cursor, context_for(START + timedelta(hours=hours)), key=source.key)


def events(*polls: Poll) -> list[Any]:
    changes = [change for each in polls for change in (*each.upserts, *each.deletes)]
    return events_of(CONNECTOR, records_of(CONNECTOR, changes, context_for()), context_for())[0]


class TestJmap(ConnectorContract):
    connector = CONNECTOR
    sources: list[JmapSource] = []

    def source(self, folder: Path) -> JmapSource:
        self.sources.append(JmapSource())
        return self.sources[-1]

    def teardown_method(self) -> None:
        while self.sources:
            self.sources.pop().close()


TestJmapFaults = fault_machine(JmapSource, CONNECTOR, examples=20).TestCase


def test_a_mail_becomes_the_event_that_its_text_says(source: JmapSource) -> None:
    source.add()
    (event,) = events(look(source))
    assert (event.kind, event.title, event.trust) == ("mail.received", "Letter 1", "outside")
    assert event.payload.folder == "Inbox"


def test_sent_mail_is_the_owners_and_drafts_bins_and_junk_are_never_read(source: JmapSource) -> None:
    raw = letter(1).replace(b"Ada <ada@example.org>", b"Nora <nora@example.net>")
    source.server.deliver(raw, FIRST, "sent")
    for mailbox in ("drafts", "trash", "junk"):
        source.server.deliver(letter(2), FIRST, mailbox)
    source.server.mailbox("old", "Old", parent="trash")
    source.server.deliver(letter(3), FIRST, "old")
    source.server.deliver(letter(4), FIRST, "inbox", keywords={"$draft"})
    assert [event.kind for event in events(look(source))] == ["mail.sent"]


def test_a_mail_in_two_mailboxes_is_one_mail(source: JmapSource) -> None:
    source.server.mailbox("bills", "Bills", parent="inbox")
    source.server.deliver(letter(1), FIRST, "inbox", "bills")
    source.server.deliver(letter(2), FIRST + timedelta(hours=1), "bills")
    assert [event.payload.folder for event in events(look(source))] == ["Inbox", "Inbox/Bills"]


def test_only_the_mailboxes_that_are_asked_for_are_read(source: JmapSource) -> None:
    source.server.mailbox("bills", "Bills", parent="inbox")
    source.server.deliver(letter(1), FIRST, "bills")
    source.add()
    source.config = source.config.model_copy(update={"mailboxes": ("inbox/bills",)})
    assert len(look(source).upserts) == 1
    source.config = source.config.model_copy(update={"mailboxes": ("Nowhere",)})
    assert isinstance(look(source).error, AuthError)


def test_flags_and_moves_are_new_versions_each(source: JmapSource) -> None:
    source.server.mailbox("bills", "Bills")
    email = source.add()
    result = look(source)
    steps: list[Callable[[], None]] = [
        lambda: source.server.mark(email, "$seen"),
        lambda: source.server.mark(email),
        lambda: source.server.mark(email, "$seen", "$forwarded"),
        lambda: source.server.move(email, "bills"),
        lambda: source.server.move(email, "inbox"),
    ]
    for hour, step in enumerate(steps, start=1):
        step()
        changed = look(source, result.cursor, hours=hour)
        assert (len(changed.upserts), changed.deletes) == (1, []), hour
        result = replace(changed, pages=[*result.pages, *changed.pages])
    versions = [upsert.version for upsert in result.upserts]
    assert len(set(versions)) == len(versions) == 6


def test_a_mail_that_goes_to_the_bin_is_withdrawn_and_comes_back_as_a_new_version(source: JmapSource) -> None:
    email = source.add()
    first = look(source)
    source.server.move(email, "trash")
    binned = look(source, first.cursor, hours=1)
    assert [event.op for event in events(binned)] == ["retract"]
    source.server.move(email, "inbox")
    back = look(source, binned.cursor, hours=2)
    assert [upsert.native_id for upsert in back.upserts] == [first.upserts[0].native_id]
    assert back.upserts[0].version not in {first.upserts[0].version, binned.deletes[0].version}


def test_many_changes_come_in_several_answers(source: JmapSource) -> None:
    first = look(source)
    for _ in range(7):
        source.add()
    source.remove()
    second = look(source, first.cursor, hours=1)
    assert len(second.upserts) == 6
    assert second.deletes == []
    assert look(source, second.cursor, hours=2).upserts == []


def test_what_a_killed_poll_told_of_and_is_gone_before_the_next_is_withdrawn(source: JmapSource) -> None:
    """The server says nothing of what was created and destroyed since the state that it is asked with."""
    source.server.page = source.server.objects = 100
    source.add()
    first = look(source)
    came = [source.add() for _ in range(4)]
    context = context_for(START + timedelta(hours=1))
    killed = poll(CONNECTOR, source.config, first.cursor, context, key=source.key, kill_after=1)
    assert len(killed.upserts) == 2
    for email in came:
        source.server.destroy(email)
    after = look(source, killed.cursor, hours=2)
    assert {delete.native_id for delete in after.deletes} == {upsert.native_id for upsert in killed.upserts}
    assert look(source, after.cursor, hours=3).deletes == []


def listing(source: JmapSource, change: Callable[[], None]) -> Poll:
    """A first poll during which something happens, after the first page of the listing."""
    calls = 0

    def before(method: str) -> None:
        nonlocal calls
        calls += method == "Email/query"
        if calls == 2 and method == "Email/query":
            change()
            calls += 1

    source.server.before = before
    return look(source)


@pytest.mark.parametrize("gone", ["M0001", "M0002"])
def test_what_is_destroyed_during_a_listing_makes_it_skip_nothing(source: JmapSource, gone: str) -> None:
    """M0002 is the anchor of the next page: the listing begins anew."""
    for _ in range(6):
        source.add()
    result = listing(source, lambda: source.server.destroy(source.server.emails[gone]))
    assert result.error is None
    assert {event.title for event in events(result)} >= {f"Letter {number}" for number in (3, 4, 5, 6)}
    after = look(source, result.cursor, hours=1)
    titles = {event.title for event in events(result)} - ({f"Letter {int(gone[1:])}"} if after.deletes else set())
    assert f"Letter {int(gone[1:])}" not in titles


def test_a_lost_anchor_three_times_over_ends_the_poll(source: JmapSource) -> None:
    source.add()
    source.server.failing["Email/query"] = "anchorNotFound"
    assert isinstance(look(source).error, TransientError)


@pytest.mark.parametrize("kind", ["cannotCalculateChanges", "invalidArguments"])
def test_a_forgotten_state_is_a_full_listing_that_tells_only_what_is_new_and_gone(
    source: JmapSource, kind: str
) -> None:
    for _ in range(5):
        source.add()
    first = look(source)
    source.remove()
    source.add()
    source.server.failing["Email/changes"] = kind
    again = look(source, first.cursor, hours=1)
    assert any(page.reset for page in again.pages)
    assert [len(again.upserts), len(again.deletes)] == [1, 1]
    source.server.failing.clear()
    assert look(source, again.cursor, hours=2).upserts == []


def test_a_server_that_went_back_in_time_is_listed_anew(source: JmapSource) -> None:
    for _ in range(5):
        source.add()
    first = look(source)
    lost = source.server.emails.pop("M0005")
    source.server.log = source.server.log[:3]
    assert lost
    second = look(source, first.cursor, hours=1)
    assert second.error is None
    assert any(page.reset for page in second.pages)
    assert [len(second.upserts), len(second.deletes)] == [0, 1]


def test_states_are_compared_only_where_they_are_alike() -> None:
    assert is_older("9", "10")
    assert is_older("J7", "J70")
    assert not is_older("10", "10")
    assert not is_older("11", "10")
    assert not is_older("K1", "J70")
    assert not is_older("deadbeef", "cafe9")


def test_old_mail_that_is_known_survives_a_full_listing(source: JmapSource) -> None:
    aging = source.server.deliver(letter(1), START - timedelta(days=364))
    source.server.deliver(letter(2), START - timedelta(days=500))
    source.add()
    first = look(source)
    assert len(first.upserts) == 2
    source.lose_cursors()
    again = poll(CONNECTOR, source.config, first.cursor, context_for(START + timedelta(days=10)), key=source.key)
    assert (again.error, again.upserts, again.deletes) == (None, [], [])
    assert aging.id in source.server.emails


def test_a_listing_of_nothing_is_not_believed_while_mailboxes_are_full(source: JmapSource) -> None:
    source.add()
    first = look(source)
    source.server.lose_cursors()
    query = source.server._query
    source.server._query = lambda arguments: {**query(arguments), "ids": []}  # type: ignore[method-assign]
    second = look(source, first.cursor, hours=1)
    assert isinstance(second.error, TransientError)
    assert second.deletes == []


@pytest.mark.parametrize(("calls", "objects", "page"), [(1, 1, 1), (1, 500, 100), (16, 1, 100), (2, 2, 5)])
def test_the_limits_of_the_server_are_kept(source: JmapSource, calls: int, objects: int, page: int) -> None:
    source.server.calls, source.server.objects, source.server.page = calls, objects, page
    for _ in range(5):
        source.add()
    first = look(source)
    assert (first.error, len(first.upserts)) == (None, 5)
    source.add()
    source.change()
    source.remove()
    second = look(source, first.cursor, hours=1)
    assert (second.error, len(second.upserts), len(second.deletes)) == (None, 1, 1)


def test_an_unchanged_account_costs_two_requests_beside_the_redirect(source: JmapSource) -> None:
    source.add()
    first = look(source)
    asked = len(source.server.asked)
    second = look(source, first.cursor, hours=1)
    assert second.pages[-1].next_cursor is None
    assert [asked.path for asked in source.server.asked[asked:]] == ["/.well-known/jmap", "/jmap/session", "/jmap/"]


def test_changes_in_a_circle_end_without_moving_the_cursor(source: JmapSource) -> None:
    source.add()
    first = look(source)
    source.add()
    changes = source.server._changes
    source.server._changes = lambda arguments: {  # type: ignore[method-assign]
        **changes(arguments),
        "newState": arguments["sinceState"],
        "hasMoreChanges": True,
    }
    second = look(source, first.cursor, hours=1)
    assert "circle" in str(second.error)
    assert second.cursor == first.cursor


def test_a_listing_in_a_circle_ends(source: JmapSource) -> None:
    source.add()
    query = source.server._query
    source.server._query = lambda arguments: query({**arguments, "anchor": None, "position": 0})  # type: ignore[method-assign]
    assert "circle" in str(look(source).error)


def test_a_refused_token_asks_for_a_new_one(source: JmapSource) -> None:
    source.key = Key(secrets={"token": "old"})
    error = look(source).error
    assert isinstance(error, AuthError)
    assert "make a new one" in error.remedy


def test_a_name_and_a_password_do_too(source: JmapSource) -> None:
    source.add()
    source.server.passwords = {basic("nora", "sesame")}
    source.key = Key(secrets={"token": "sesame"})
    source.config = source.config.model_copy(update={"user": "nora"})
    assert len(look(source).upserts) == 1


def test_a_provider_gives_the_token_and_a_newer_one(source: JmapSource) -> None:
    source.add()
    source.key = Key(tokens=lambda refused: "good" if refused == "old" else "old")
    source.config = source.config.model_copy(update={"provider": "fastmail"})
    assert len(look(source).upserts) == 1


def test_a_login_without_mail_says_so(source: JmapSource) -> None:
    source.config = source.config.model_copy(update={"jmap_account": "u2"})
    assert "'u2'" in str(look(source).error)


def test_a_refused_call_is_for_a_person_and_a_busy_server_is_not(source: JmapSource) -> None:
    source.server.failing["Mailbox/get"] = "forbidden"
    assert isinstance(look(source).error, AuthError)
    source.server.failing["Mailbox/get"] = "serverUnavailable"
    assert isinstance(look(source).error, TransientError)


def test_a_request_for_fewer_calls_says_when(source: JmapSource) -> None:
    source.server.arm("429", after=2)
    error = look(source).error
    assert isinstance(error, RateLimited)
    assert error.retry_at == START + timedelta(seconds=30)


def test_a_mail_that_vanishes_between_list_and_read_is_passed_over(source: JmapSource) -> None:
    email = source.add()
    source.add()
    source.server.overrides[f"/jmap/download/u1/G{email.id}/mail.eml"] = Reply(404)
    first = look(source)
    assert (first.error, len(first.upserts)) == (None, 1)
    source.server.destroy(email)
    second = look(source, first.cursor, hours=1)
    assert (second.upserts, second.deletes, second.error) == ([], [], None)


def test_a_web_page_is_not_taken_for_a_mail(source: JmapSource) -> None:
    email = source.add()
    page = Reply(200, b"<html>Log in</html>", {"Content-Type": "text/html"})
    source.server.overrides[f"/jmap/download/u1/G{email.id}/mail.eml"] = page
    assert isinstance(look(source).error, TransientError)


def test_a_mail_that_is_too_large_is_rejected_once_and_never_fetched(source: JmapSource) -> None:
    source.add().size = 100_000_000
    source.add()
    first = look(source)
    assert [rejected.code for rejected in first.rejected] == ["too_large"]
    assert len(first.upserts) == 1
    assert not any("GM0001" in asked.path for asked in source.server.asked)


def test_a_session_that_names_another_host_without_encryption_is_refused(source: JmapSource) -> None:
    session = {**source.server._session(), "apiUrl": "http://127.0.0.2:9/jmap/"}
    source.server.overrides["/jmap/session"] = Reply.of(session)
    assert isinstance(look(source).error, AuthError)


def test_mail_comes_oldest_first(source: JmapSource) -> None:
    for _ in range(5):
        source.add()
    assert [event.title for event in events(look(source))] == [f"Letter {number}" for number in range(1, 6)]


def test_the_same_content_after_a_lost_cursor_has_the_same_ids(source: JmapSource) -> None:
    for _ in range(3):
        source.add()
    first = look(source)
    source.change()
    changed = look(source, first.cursor, hours=1)
    told = {(upsert.native_id, upsert.version) for upsert in (*first.upserts, *changed.upserts)}
    assert {(upsert.native_id, upsert.version) for upsert in look(source, None, hours=2).upserts} <= told


def test_a_cursor_of_another_version_means_a_full_listing() -> None:
    with pytest.raises(CursorExpired):
        remembered({"format": 0})
    with pytest.raises(CursorExpired):
        remembered({"format": 1, "state": "1", "account": "u1", "known": "???"})


def discovered(source: JmapSource, hint: str) -> dict[str, Json]:
    async def run() -> dict[str, Json]:
        async with source.key.open(START) as access:
            return await CONNECTOR.discover(hint, replace(context_for(), access=access))

    return asyncio.run(run())


def test_the_session_is_found_without_sending_anything_secret(source: JmapSource) -> None:
    found = discovered(source, f"{source.server.url}/.well-known/jmap")
    assert found == {"base_url": f"{source.server.url}/jmap/session"}
    assert not any("authorization" in asked.headers for asked in source.server.asked)


def test_fastmail_is_known(source: JmapSource) -> None:
    assert discovered(source, "Nora@Fastmail.com") == {"base_url": FASTMAIL, "addresses": ["nora@fastmail.com"]}
    assert discovered(source, "") == {"base_url": FASTMAIL}


def test_a_check_lists_what_is_there(source: JmapSource) -> None:
    source.add()

    async def run() -> list[str]:
        async with source.key.open(START) as access:
            return list(await CONNECTOR.check(source.config, replace(context_for(), access=access)))

    assert asyncio.run(run()) == ["account nora@example.net", "Inbox: 1 mails", "Sent: 0 mails"]


def test_a_wrong_exchange_is_caught() -> None:
    request = {"using": [], "methodCalls": [["Email/get", {"accountId": "u1", "ids": ["a b"]}, "0"]]}
    answer = {"accountId": "u1", "state": 7, "list": [{"id": "a", "keywords": {"$Seen": 1}}], "notFound": []}
    response = {"methodResponses": [["Email/get", answer, "0"]], "sessionState": "0"}
    assert len(jmap_contract.exchange(request, response)) >= 4


def test_the_token_goes_nowhere_unencrypted() -> None:
    with pytest.raises(ValidationError, match="https://"):
        JmapConfig(base_url="http://mail.example.org")
