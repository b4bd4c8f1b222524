"""Gmail: what labels mean, what is asked of the API, and what it says when it refuses."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from email.message import EmailMessage

import pytest
from pydantic import ValidationError

from extractors.connector import Context
from extractors.gmail import GmailConnector, connector
from extractors.gmail.config import GmailConfig
from extractors.gmail.draft import Sizes
from extractors.gmail.known import LIMIT, TOMBSTONES, Memory, Seen, pack, remembered, unpack
from extractors.http import Limits
from extractors.testing import START, Key, Poll, context_for, events_of, poll, records_of
from extractors.testing.standin import Reply
from schemas.errors import AuthError, CursorExpired, RateLimited, TransientError
from schemas.event import Event
from schemas.model import Json
from schemas.payloads import MailPayload
from tests.standins.google import FakeGmail, error

CONNECTOR = GmailConnector(sizes=Sizes(items=4, at_once=3), calls_per_s=10_000)
INBOX = ("INBOX", "UNREAD")


def letter(subject: str, sender: str = "shop@example.com", body: str = "Hello.\n") -> bytes:
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = sender, "nora@example.org", subject
    mail["Date"], mail["Message-ID"] = "Mon, 2 Mar 2026 09:00:00 +0100", f"<{subject.replace(' ', '-')}@example.com>"
    mail.set_content(body)
    return mail.as_bytes()


@pytest.fixture
def gmail() -> Iterator[FakeGmail]:
    with FakeGmail() as fake:
        yield fake
    assert fake.violations == []


def look(gmail: FakeGmail, cursor: Json = None, *, at: datetime = START, days: int = 365) -> Poll:
    config = GmailConfig(base_url=gmail.url, allow_private=True, days=days)
    key = Key(tokens=lambda refused: "token-1", limits=Limits(read_s=30, total_s=60))
    return poll(CONNECTOR, config, cursor, context_for(at), key=key)


def events(result: Poll) -> list[Event]:
    context: Context = context_for()
    found, poison = events_of(CONNECTOR, records_of(CONNECTOR, [*result.upserts, *result.deletes], context), context)
    assert not poison
    return found


def titles(result: Poll) -> list[str]:
    return [event.title for event in events(result)]


def test_a_mailbox_is_read_oldest_first_without_spam_bin_drafts_and_chats(gmail: FakeGmail) -> None:
    for number, labels in enumerate((INBOX, ("SPAM",), ("SENT",), ("TRASH",), ("DRAFT",), ("CHAT",), INBOX)):
        gmail.add(letter(f"Mail {number}"), labels, START - timedelta(days=9 - number))
    assert titles(look(gmail)) == ["Mail 0", "Mail 2", "Mail 6"]


def test_labels_become_flags_and_places(gmail: FakeGmail) -> None:
    gmail.add(letter("Read and starred"), ("INBOX", "STARRED", "Label_17"), START - timedelta(days=3))
    gmail.add(letter("Archived"), ("UNREAD",), START - timedelta(days=2))
    gmail.add(letter("Mine", sender="nora@example.org"), ("SENT",), START - timedelta(days=1))
    found = events(look(gmail))
    payloads = [event.payload for event in found]
    assert all(isinstance(payload, MailPayload) for payload in payloads)
    assert [(p.folder, p.flags) for p in payloads if isinstance(p, MailPayload)] == [
        ("INBOX", ("flagged", "seen")),
        ("Archive", ()),
        ("Sent", ("seen",)),
    ]
    assert [event.kind for event in found] == ["mail.received", "mail.received", "mail.sent"]
    assert [event.trust for event in found] == ["outside", "outside", "self"]


def test_a_mail_from_the_owners_address_that_was_not_sent_from_here_is_outside_text(gmail: FakeGmail) -> None:
    forged = b"Received: from somewhere\r\n" + letter("Pay now", sender="nora@example.org")
    gmail.add(forged, INBOX, START)
    assert [(event.kind, event.trust) for event in events(look(gmail))] == [("mail.received", "outside")]


def test_older_mail_than_wished_is_left_alone_and_not_even_listed(gmail: FakeGmail) -> None:
    for number in range(12):
        gmail.add(letter(f"Mail {number}"), INBOX, START - timedelta(days=120 - 10 * number))
    assert titles(look(gmail, days=35)) == ["Mail 9", "Mail 10", "Mail 11"]
    listings = [asked for asked in gmail.asked if asked.path.endswith("/messages")]
    assert len(listings) == 2
    assert all("q" not in asked.query for asked in listings)


def test_a_poll_with_nothing_new_is_one_question(gmail: FakeGmail) -> None:
    gmail.add(letter("One"), INBOX, START)
    first = look(gmail)
    before = len(gmail.asked)
    second = look(gmail, first.cursor)
    assert [asked.path for asked in gmail.asked[before:]] == ["/gmail/v1/users/me/history"]
    assert [(page.complete, page.next_cursor) for page in second.pages] == [(True, None)]


def test_the_place_in_history_is_taken_before_the_listing(gmail: FakeGmail) -> None:
    gmail.add(letter("One"), INBOX, START)
    look(gmail)
    assert [asked.path.rpartition("/")[2] for asked in gmail.asked[:2]] == ["profile", "messages"]


def test_the_stored_place_is_the_mailboxs_own_and_not_that_of_the_last_record(gmail: FakeGmail) -> None:
    gmail.add(letter("One"), INBOX, START)
    first = look(gmail)
    gmail.add(letter("Two"), INBOX, START)
    gmail.number += 50  # something happened that is no record for us
    second = look(gmail, first.cursor)
    assert isinstance(second.cursor, dict)
    assert second.cursor["history"] == str(gmail.number)


def test_a_page_without_history_is_no_end(gmail: FakeGmail) -> None:
    gmail.add(letter("One"), INBOX, START)
    first = look(gmail)
    gmail.empty_pages = True
    gmail.add(letter("Two"), INBOX, START)
    assert titles(look(gmail, first.cursor)) == ["Two"]


def test_a_mail_that_is_gone_between_list_and_get_is_passed_over(gmail: FakeGmail) -> None:
    names = [gmail.add(letter(f"Mail {number}"), INBOX, START + timedelta(minutes=number)) for number in range(3)]
    gmail.vanishing.add(names[1])
    result = look(gmail)
    assert titles(result) == ["Mail 0", "Mail 2"]
    assert (result.error, result.rejected) == (None, [])


def test_spam_and_bin_take_an_event_back_and_out_of_them_it_returns(gmail: FakeGmail) -> None:
    name = gmail.add(letter("Invoice"), INBOX, START)
    first = look(gmail)
    gmail.label(name, add=("SPAM",), remove=("INBOX",))
    second = look(gmail, first.cursor)
    assert [(event.kind, event.op) for event in events(second)] == [("mail.removed", "retract")]
    gmail.label(name, add=("INBOX",), remove=("SPAM",))
    third = look(gmail, second.cursor)
    assert [(event.kind, event.op) for event in events(third)] == [("mail.flagged", "upsert")]
    versions = [change.version for result in (first, second, third) for change in (*result.upserts, *result.deletes)]
    assert len(set(versions)) == 3


def test_a_mail_that_was_never_seen_comes_out_of_spam_as_a_new_one(gmail: FakeGmail) -> None:
    name = gmail.add(letter("Wrongly suspected"), ("SPAM",), START)
    first = look(gmail)
    assert first.upserts == []
    gmail.label(name, add=("INBOX",), remove=("SPAM",))
    assert [event.kind for event in events(look(gmail, first.cursor))] == ["mail.received"]


def test_a_draft_that_is_saved_again_and_again_is_never_read(gmail: FakeGmail) -> None:
    first = look(gmail)
    gmail.delete(gmail.add(letter("Dear"), ("DRAFT",), START))
    gmail.add(letter("Dear all"), ("DRAFT",), START)
    before = len(gmail.asked)
    assert look(gmail, first.cursor).upserts == []
    assert {asked.path.rpartition("/")[2] for asked in gmail.asked[before:]} == {"history"}


def test_a_star_on_a_mail_that_is_too_old_says_nothing(gmail: FakeGmail) -> None:
    old = gmail.add(letter("Long ago"), INBOX, START - timedelta(days=800))
    first = look(gmail)
    gmail.label(old, add=("STARRED",))
    assert look(gmail, first.cursor).upserts == []


def test_labels_of_the_person_change_nothing(gmail: FakeGmail) -> None:
    name = gmail.add(letter("One"), INBOX, START)
    first = look(gmail)
    gmail.label(name, add=("Label_4", "IMPORTANT"))
    assert look(gmail, first.cursor).upserts == []


def test_going_back_to_old_labels_is_a_version_of_its_own(gmail: FakeGmail) -> None:
    name = gmail.add(letter("One"), INBOX, START)
    results = [look(gmail)]
    for add, remove in (((), ("UNREAD",)), (("UNREAD",), ())):
        gmail.label(name, add=add, remove=remove)
        results.append(look(gmail, results[-1].cursor))
    versions = [upsert.version for result in results for upsert in result.upserts]
    assert len(versions) == len(set(versions)) == 3


def test_a_lost_place_leads_to_a_full_listing_without_a_flood(gmail: FakeGmail) -> None:
    names = [gmail.add(letter(f"Mail {number}"), INBOX, START + timedelta(minutes=number)) for number in range(7)]
    first = look(gmail)
    gmail.forget()
    gmail.delete(names[0])
    gmail.label(names[1], add=("TRASH",))
    gmail.label(names[2], remove=("UNREAD",))
    gmail.add(letter("While away"), INBOX, START + timedelta(hours=1))
    gmail.forget()
    second = look(gmail, first.cursor, at=START + timedelta(days=20))
    assert all(page.reset for page in second.pages)
    assert [(upsert.native_id == names[2], upsert.is_new) for upsert in second.upserts] == [
        (False, True),
        (True, False),
    ]
    assert {delete.native_id for delete in second.deletes} == set(names[:2])
    third = look(gmail, second.cursor, at=START + timedelta(days=21))
    assert (third.upserts, third.deletes) == ([], [])
    assert not any(page.reset for page in third.pages)


def test_what_changed_while_the_first_listing_was_interrupted_is_told_when_it_ends(gmail: FakeGmail) -> None:
    for number in range(9):
        gmail.add(letter(f"Mail {number}"), INBOX, START + timedelta(minutes=number))
    config = GmailConfig(base_url=gmail.url, allow_private=True)
    key = Key(tokens=lambda refused: "token-1")
    killed = poll(CONNECTOR, config, None, context_for(), key=key, kill_after=1)
    removed, starred = (upsert.native_id for upsert in killed.upserts[:2])
    gmail.delete(removed)
    gmail.label(starred, add=("STARRED",))
    rest = look(gmail, killed.cursor)
    assert [delete.native_id for delete in rest.deletes] == [removed]
    assert [upsert.native_id for upsert in rest.upserts if not upsert.is_new] == [starred]
    assert len(rest.upserts) == 6


def test_an_interrupted_listing_whose_place_is_lost_meanwhile_is_made_good(gmail: FakeGmail) -> None:
    for number in range(9):
        gmail.add(letter(f"Mail {number}"), INBOX, START + timedelta(minutes=number))
    config = GmailConfig(base_url=gmail.url, allow_private=True)
    key = Key(tokens=lambda refused: "token-1")
    killed = poll(CONNECTOR, config, None, context_for(), key=key, kill_after=1)
    gmail.delete(killed.upserts[0].native_id)
    gmail.forget()
    second = look(gmail, killed.cursor)
    assert [delete.native_id for delete in second.deletes] == [killed.upserts[0].native_id]
    assert len({upsert.native_id for result in (killed, second) for upsert in result.upserts}) == 9


def test_what_was_forgotten_long_ago_does_not_come_back_as_news_after_a_lost_place(gmail: FakeGmail) -> None:
    gmail.add(letter("Known"), INBOX, START - timedelta(days=1))
    first = look(gmail)
    gmail.add(letter("From before, by another way"), INBOX, START - timedelta(days=90), is_told=False)
    gmail.forget()
    assert look(gmail, first.cursor, at=START + timedelta(days=1)).upserts == []


def test_a_place_that_is_lost_between_two_pages_of_history_is_a_lost_place(gmail: FakeGmail) -> None:
    gmail.add(letter("Known"), INBOX, START)
    first = look(gmail)
    for number in range(5):
        gmail.add(letter(f"New {number}"), INBOX, START + timedelta(minutes=number))
    ordinary, pages = gmail.reply, 0

    def forgetful(asked: object) -> Reply:
        nonlocal pages
        if asked.path.endswith("/history"):  # type: ignore[attr-defined]
            pages += 1
            if pages == 2:
                gmail.forget()
        return ordinary(asked)  # type: ignore[arg-type]

    gmail.reply = forgetful  # type: ignore[method-assign]
    second = look(gmail, first.cursor)
    assert second.error is None
    assert sorted(titles(second)) == [f"New {number}" for number in range(5)]
    assert len({upsert.native_id for upsert in second.upserts}) == 5


def test_a_listing_that_lacks_mails_which_are_there_removes_none(gmail: FakeGmail) -> None:
    names = [gmail.add(letter(f"Mail {number}"), INBOX, START + timedelta(minutes=number)) for number in range(3)]
    first = look(gmail)
    gmail.forget()
    hidden = gmail.letters.pop(names[0])
    ordinary = gmail._list
    gmail._list = lambda query: (gmail.letters.pop(names[0], None), ordinary(query))[1]  # type: ignore[method-assign]
    gmail._get = _getting(gmail, names[0], hidden)  # type: ignore[method-assign]
    second = look(gmail, first.cursor)
    assert (second.error, second.deletes) == (None, [])


def _getting(gmail: FakeGmail, name: str, hidden: object) -> object:
    ordinary = gmail._get

    def get(asked: str, form: str) -> Reply:
        gmail.letters[name] = hidden  # type: ignore[assignment]
        return ordinary(asked, form)

    return get


@pytest.mark.parametrize("reason", ["rateLimitExceeded", "userRateLimitExceeded", "quotaExceeded"])
def test_too_many_calls_are_not_a_lack_of_permission(gmail: FakeGmail, reason: str) -> None:
    gmail.refusals.append(error(403, reason, domain="usageLimits"))
    result = look(gmail)
    assert isinstance(result.error, RateLimited)
    assert result.error.retry_at is not None
    assert START < result.error.retry_at <= START + timedelta(hours=1)


def test_google_may_say_when_to_come_back(gmail: FakeGmail) -> None:
    gmail.refusals.append(replace(error(429, "rateLimitExceeded"), headers={"Retry-After": "90"}))
    result = look(gmail)
    assert isinstance(result.error, RateLimited)
    assert result.error.retry_at == START + timedelta(seconds=90)


def test_a_consent_that_lacks_the_scope_names_it(gmail: FakeGmail) -> None:
    gmail.refusals.append(error(403, "insufficientPermissions"))
    result = look(gmail)
    assert isinstance(result.error, AuthError)
    assert "gmail.readonly" in str(result.error)
    assert "authorise the account again" in str(result.error)


def test_a_new_style_refusal_for_scope_names_it_too(gmail: FakeGmail) -> None:
    detail = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "ACCESS_TOKEN_SCOPE_INSUFFICIENT"}
    told = {"code": 403, "message": "no", "status": "PERMISSION_DENIED", "errors": [], "details": [detail]}
    gmail.refusals.append(Reply.of({"error": told}, 403))
    assert "gmail.readonly" in str(look(gmail).error)


@pytest.mark.parametrize(
    ("status", "reason", "kind", "words"),
    [
        (403, "accessNotConfigured", AuthError, "enable its API"),
        (403, "domainPolicy", AuthError, "ask its administrator"),
        (403, "forbidden", AuthError, "not allowed"),
        (400, "failedPrecondition", AuthError, "has no Gmail"),
        (400, "invalidArgument", TransientError, "does not understand"),
        (503, "backendError", TransientError, "503"),
    ],
)
def test_each_refusal_says_who_has_to_do_what(
    gmail: FakeGmail, status: int, reason: str, kind: type[Exception], words: str
) -> None:
    gmail.refusals.append(error(status, reason))
    result = look(gmail)
    assert isinstance(result.error, kind)
    assert words in str(result.error)


def test_a_web_page_with_403_is_no_word_of_googles(gmail: FakeGmail) -> None:
    with FakeGmail() as portal:
        portal.check = lambda asked, reply: []  # type: ignore[method-assign]
        portal.refusals.append(Reply(403, b"<html>Blocked by your hotel</html>", {"Content-Type": "text/html"}))
        assert isinstance(look(portal).error, TransientError)


def test_a_refused_token_is_renewed_once(gmail: FakeGmail) -> None:
    gmail.add(letter("One"), INBOX, START)
    config = GmailConfig(base_url=gmail.url, allow_private=True)
    key = Key(tokens=lambda refused: "token-1" if refused == "token-0" else "token-0")
    assert len(poll(CONNECTOR, config, None, context_for(), key=key).upserts) == 1


def test_a_big_mail_is_slimmed_to_fit_a_record(gmail: FakeGmail) -> None:
    mail = EmailMessage()
    mail["From"], mail["Subject"], mail["Date"] = "shop@example.com", "Photos", "Mon, 2 Mar 2026 09:00:00 +0100"
    mail.set_content("See the pictures.\n")
    mail.add_attachment(b"\xff" * 13_000_000, maintype="image", subtype="jpeg", filename="pictures.jpg")
    gmail.add(mail.as_bytes(), INBOX, START)
    gmail.check = lambda asked, reply: []  # type: ignore[method-assign]  # 24 MB are slow to check
    result = look(gmail)
    (event,) = events(result)
    assert len(result.upserts[0].raw) < 10_000
    assert isinstance(event.payload, MailPayload)
    assert [(each.filename, each.size) for each in event.payload.attachments] == [("pictures.jpg", 13_000_000)]


def test_a_mail_that_is_too_large_is_rejected_once(gmail: FakeGmail, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("extractors.gmail.source._BODY_BYTES", 50_000)
    gmail.add(letter("Huge", body="x" * 76 + "\n" + "y\n" * 60_000), INBOX, START)
    gmail.add(letter("Small"), INBOX, START + timedelta(minutes=1))
    first = look(gmail)
    assert titles(first) == ["Small"]
    assert [rejected.code for rejected in first.rejected] == ["too_large"]
    assert look(gmail, first.cursor).rejected == []


def test_a_rejected_mail_that_is_deleted_takes_nothing_back(gmail: FakeGmail) -> None:
    name = gmail.add(None, INBOX, START)
    first = look(gmail)
    assert [rejected.code for rejected in first.rejected] == ["malformed"]
    gmail.delete(name)
    second = look(gmail, first.cursor)
    assert (second.error, second.deletes) == (None, [])


def test_a_page_token_that_repeats_ends_the_poll_where_it_was(gmail: FakeGmail) -> None:
    gmail.refusals += [
        Reply.of({"emailAddress": "nora@example.org", "historyId": "5"}),
        Reply.of({"messages": [], "nextPageToken": "again"}),
        Reply.of({"messages": [], "nextPageToken": "again"}),
    ]
    result = look(gmail)
    assert isinstance(result.error, TransientError)
    assert result.cursor is None


def test_a_mailbox_of_300_mails_is_read_in_bounded_pages(gmail: FakeGmail) -> None:
    gmail.page = 200
    for number in range(300):
        gmail.add(letter(f"Mail {number}"), INBOX, START - timedelta(minutes=600 - number))
    config = GmailConfig(base_url=gmail.url, allow_private=True)
    reader = GmailConnector(sizes=Sizes(items=100), calls_per_s=10_000)
    result = poll(reader, config, None, context_for(), key=Key(tokens=lambda refused: "token-1"))
    assert [len(page.upserts) for page in result.pages] == [100] * 3
    assert titles(result) == [f"Mail {number}" for number in range(300)]


def test_of_more_mails_than_can_be_watched_the_newest_are(gmail: FakeGmail, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("extractors.gmail.poll.LIMIT", 3)
    for number in range(8):
        gmail.add(letter(f"Mail {number}"), INBOX, START + timedelta(minutes=number))
    result = look(gmail)
    assert titles(result) == ["Mail 5", "Mail 6", "Mail 7"]
    assert any("only the newest" in warning for warning in result.warnings)


def test_a_check_says_what_is_there(gmail: FakeGmail) -> None:
    gmail.add(letter("One"), INBOX, START)

    async def ask() -> list[str]:
        async with Key(tokens=lambda refused: "token-1").open(START) as access:
            context = replace(context_for(), access=access)
            return list(await CONNECTOR.check(GmailConfig(base_url=gmail.url, allow_private=True), context))

    assert asyncio.run(ask()) == ["nora@example.org: 1 mails"]


def test_the_least_scope_is_asked_for_and_shown() -> None:
    assert connector.login.scopes == {"google": ("https://www.googleapis.com/auth/gmail.readonly",)}
    assert "drafts, spam" in connector.login.reads


def test_what_is_remembered_survives_packing_and_stays_small() -> None:
    known = {f"{0x18C2F0A900000000 + number:016x}": Seen(number % 7, number % 16) for number in range(LIMIT + 10)}
    memory = Memory(history="1", known=known)
    memory.tidy()
    assert len(memory.known) == LIMIT
    assert "18c2f0a900000009" not in memory.known
    packed = pack(memory.known)
    assert len(packed) < 600_000
    assert unpack(packed) == memory.known
    odd = {"18c2f0a900000001": Seen(3, 5, is_gone=True), "18c2f0a900000002": Seen(0, 1, is_rejected=True)}
    assert unpack(pack(odd)) == odd


def test_the_oldest_tombstones_are_forgotten_first() -> None:
    known = {f"{number:016x}": Seen(1, 0, is_gone=True) for number in range(TOMBSTONES + 5)}
    memory = Memory(history="1", known={**known, f"{2**40:016x}": Seen(0, 0)})
    memory.tidy()
    assert len(memory.known) == TOMBSTONES + 1
    assert f"{4:016x}" not in memory.known


@pytest.mark.parametrize("cursor", [{"format": 2}, "text", {"format": 1, "history": "1", "known": "%%"}])
def test_a_cursor_of_another_version_is_an_expired_one(cursor: Json) -> None:
    if isinstance(cursor, dict) and cursor["format"] == 1:
        cursor = {**cursor, "address": "", "listing": "", "at": None}
    with pytest.raises(CursorExpired):
        remembered(cursor)


@pytest.mark.parametrize("settings", [{"base_url": "http://gmail.example"}, {"addresses": ["nora"]}, {"days": 0}])
def test_settings_that_cannot_be_meant_are_refused(settings: dict[str, Json]) -> None:
    with pytest.raises(ValidationError):
        GmailConfig.model_validate(settings)


def test_an_account_needs_no_settings_but_its_client() -> None:
    config = GmailConfig(
        provider="google", client_id="123.apps.googleusercontent.com", addresses=("Nora@Example.org ",)
    )
    assert (config.base_url, config.addresses) == ("https://gmail.googleapis.com", ("nora@example.org",))
    found = asyncio.run(connector.discover("nora@example.org", context_for()))
    assert found == {"provider": "google"}
    with pytest.raises(AuthError, match="no mail address"):
        asyncio.run(connector.discover("imap.example.org", context_for()))
