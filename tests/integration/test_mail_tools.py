"""Mail that is really sent: by SMTP into a real mail server, found by IMAP there, honest about what is not known."""

from __future__ import annotations

import asyncio
import email
import email.policy
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from email.message import EmailMessage
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from actions.run.attempt import Answer, attempt
from actions.testing.cases import incoming
from actions.testing.laws import KEY, OTHER
from actions.tools.kept import Kept
from actions.tools.send import MailReply, MailSend
from actions.tools.sort import MailLabel, MailMove
from actions.tools.tool import Args, Tool
from actions.tools.tree import Tree
from extractors.connector import Access
from extractors.imap.login import Door
from extractors.testing import Key
from forewatch.outgoing.accounts import Outgoing
from schemas.account import AccountState, Permission
from schemas.clock import ManualClock
from schemas.errors import OutcomeUnknown, StepFailed
from tests.peers.dovecot import PASSWORD, Dovecot
from tests.peers.process import free_port
from tests.peers.smtp import Smtp, submission

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
WAIT_S = 60.0
"""For a real server's answer: generous, and never waited out but where the server is told to be silent."""


@pytest.fixture(scope="module")
def smtp(dovecot_server: Dovecot) -> Iterator[Smtp]:
    with submission(dovecot_server) as server:
        yield server


class Person:
    """Somebody with a mailbox, and what they granted."""

    def __init__(self, dovecot: Dovecot, smtp: Smtp, folder: Path, *allow: Permission, **more: object) -> None:
        smtp.fault = ""
        self.dovecot, self.smtp, self.user, self.friend = dovecot, smtp, dovecot.user(), dovecot.user()
        place = {"host": "localhost", "port": dovecot.imaps, "ca_file": str(dovecot.ca), "allow_private": True}
        place |= {"username": self.user, "smtp_host": "localhost", "smtp_port": smtp.port}
        self.account = AccountState.model_validate(
            {"id": "home", "owner": "me", "connector": "imap", "created_at": NOW, "allow": allow}
            | {"config": {**place, **more}}
        )
        self.outgoing = Outgoing(self._enter, ManualClock(NOW), ZoneInfo("Europe/Berlin"), Door(read_s=20))
        self.outgoing.accounts = lambda: [self.account]
        clock, kept = ManualClock(NOW), Kept(folder / "effects")
        tree = Tree([folder])
        tools = [MailSend(self.outgoing, tree, clock), MailReply(self.outgoing, tree, clock)]
        self.tools: dict[str, Tool] = {
            tool.manifest.name: tool for tool in (*tools, MailLabel(self.outgoing, kept), MailMove(self.outgoing, kept))
        }

    def _enter(self, account: AccountState, asked: bool) -> AbstractAsyncContextManager[Access]:
        return Key(secrets={"password": PASSWORD}).open(NOW)

    def tries(self, name: str, args: Args, key: str = KEY) -> Answer:
        return asyncio.run(attempt(self.tools[name], args, key, WAIT_S))

    def calls(self, name: str, args: Args, key: str = KEY) -> dict[str, object]:
        answer = self.tries(name, args, key)
        assert answer.outcome == "ok", answer
        assert asyncio.run(self.tools[name].verify(args, key, answer.out)) is not None
        return dict(answer.out)

    def holds(self, user: str, folder: str) -> list[EmailMessage]:
        """What another mail program shows."""
        with self.dovecot.client(user) as client:
            client.select_folder(folder, readonly=True)
            found = client.fetch(client.search() or [1], ["BODY.PEEK[]"]) if client.search() else {}
        return [email.message_from_bytes(each[b"BODY[]"], policy=email.policy.default) for each in found.values()]


@pytest.fixture
def person(dovecot_server: Dovecot, smtp: Smtp, tmp_path: Path) -> Person:
    return Person(dovecot_server, smtp, tmp_path.resolve(), "send", "write")


def to(person: Person) -> dict[str, str]:
    return {"to": person.friend, "subject": "Kündigung", "body": "Guten Tag,\n\nGröße: 5 €\n.\nFrom here"}


class TestSending:
    def test_a_mail_arrives_and_is_found_among_those_sent(self, person: Person, tmp_path: Path) -> None:
        (tmp_path / "Größe.txt").write_text("attached", "utf-8")
        out = person.calls("mail.send", {**to(person), "attachment": str(tmp_path.resolve() / "Größe.txt")})
        (arrived,) = person.holds(person.friend, "INBOX")
        assert str(arrived["Message-ID"]).strip() == out["message_id"] == f"<{KEY}@example.org>"
        assert (arrived["Subject"], arrived["From"]) == ("Kündigung", person.user)
        body = arrived.get_body(("plain",))
        assert body is not None
        assert str(body.get_content()).splitlines() == ["Guten Tag,", "", "Größe: 5 €", ".", "From here"]
        (attached,) = arrived.iter_attachments()
        assert (attached.get_filename(), attached.get_payload(decode=True)) == ("Größe.txt", b"attached")
        (kept,) = person.holds(person.user, "Sent")
        assert kept["Message-ID"] == arrived["Message-ID"]
        assert asyncio.run(person.tools["mail.send"].look_up(to(person), KEY)) == out

    def test_a_second_call_of_the_same_step_sends_nothing(self, person: Person) -> None:
        person.calls("mail.send", to(person))
        person.calls("mail.send", to(person))
        assert len(person.holds(person.friend, "INBOX")) == len(person.holds(person.user, "Sent")) == 1

    def test_an_answer_goes_to_the_sender_in_the_thread(self, person: Person) -> None:
        raw = incoming("question", From=f"Ada <{person.friend}>", References="<first@example.org>")
        with person.dovecot.client(person.user) as client:
            client.append("INBOX", raw)
        person.calls("mail.reply", {"message_id": "<question@example.org>", "to": person.friend, "body": "Yes."})
        (arrived,) = person.holds(person.friend, "INBOX")
        assert arrived["In-Reply-To"] == "<question@example.org>"
        assert arrived["References"] == "<first@example.org> <question@example.org>"
        assert arrived["Subject"] == "Re: Letter question"

    def test_an_answer_to_anybody_else_is_refused(self, person: Person) -> None:
        with person.dovecot.client(person.user) as client:
            client.append("INBOX", incoming("question", From=f"Ada <{person.friend}>"))
        args = {"message_id": "<question@example.org>", "to": "mallory@evil.example", "body": "Yes."}
        answer = person.tries("mail.reply", args)
        assert (answer.outcome, answer.code) == ("failed", "denied")
        assert person.smtp.taken.count(person.friend) == 0


class TestSorting:
    @pytest.fixture(autouse=True)
    def mail(self, person: Person) -> None:
        with person.dovecot.client(person.user) as client:
            client.append("INBOX", incoming("bill"))
            client.create_folder("Rechnungen")

    def test_a_label_is_given_and_taken_away_again(self, person: Person) -> None:
        out = person.calls("mail.label", {"message_id": "<bill@example.org>", "label": "flagged", "on": True})
        with person.dovecot.client(person.user) as client:
            client.select_folder("INBOX")
            assert b"\\Flagged" in client.get_flags(client.search())[1]
        person.calls("mail.label", {"message_id": "<bill@example.org>", "label": "flagged", "on": out["was"]}, OTHER)
        with person.dovecot.client(person.user) as client:
            client.select_folder("INBOX")
            assert b"\\Flagged" not in client.get_flags(client.search())[1]

    def test_a_mail_is_moved_and_moved_back(self, person: Person) -> None:
        out = person.calls("mail.move", {"message_id": "<bill@example.org>", "folder": "rechnungen"})
        assert [mail["Subject"] for mail in person.holds(person.user, "Rechnungen")] == ["Letter bill"]
        person.calls("mail.move", {"message_id": "<bill@example.org>", "folder": out["previous_folder"]}, OTHER)
        assert [mail["Subject"] for mail in person.holds(person.user, "INBOX")] == ["Letter bill"]
        assert person.holds(person.user, "Rechnungen") == []

    def test_a_folder_that_is_not_there_is_a_definite_no(self, person: Person) -> None:
        answer = person.tries("mail.move", {"message_id": "<bill@example.org>", "folder": "nonesuch"})
        assert (answer.outcome, answer.code) == ("failed", "not_found")


class TestBoundary:
    """What each end of a submission means (acting.md 4.4), and that it agrees with the friend's inbox."""

    @pytest.mark.parametrize(
        ("fault", "outcome", "code"),
        [
            ("auth", "failed", "denied"),
            ("auth_later", "not_sent", "not_sent"),
            ("mail", "failed", "denied"),
            ("rcpt", "failed", "denied"),
            ("rcpt_later", "not_sent", "rate"),
            ("data", "failed", "denied"),
            ("data_later", "not_sent", "rate"),
            ("cut_before", "unknown", "unknown"),
            ("cut_after", "unknown", "unknown"),
        ],
    )
    def test_each_stage_says_what_is_known(self, person: Person, fault: str, outcome: str, code: str) -> None:
        person.smtp.fault = fault
        answer = person.tries("mail.send", to(person))
        assert (answer.outcome, answer.code) == (outcome, code)
        arrived = len(person.holds(person.friend, "INBOX"))
        assert arrived == (1 if fault == "cut_after" else 0)
        if outcome == "unknown":
            with pytest.raises(OutcomeUnknown, match="no answer is known"):
                asyncio.run(person.tools["mail.send"].look_up(to(person), KEY))
            assert asyncio.run(person.tools["mail.send"].verify(to(person), KEY, {})) is None
        else:
            assert asyncio.run(person.tools["mail.send"].look_up(to(person), KEY)) is None
            assert person.holds(person.user, "Sent") == []

    def test_a_server_that_never_answers_is_given_up_on_and_nobody_knows(self, person: Person) -> None:
        person.smtp.fault = "silent"

        async def story() -> None:
            calling = asyncio.create_task(attempt(person.tools["mail.send"], to(person), KEY, WAIT_S))
            async with asyncio.timeout(WAIT_S):
                while person.friend not in person.smtp.taken:
                    await asyncio.sleep(0.01)
            calling.cancel()  # as a time-out does, or the end of the process
            await asyncio.wait([calling])

        asyncio.run(story())
        with pytest.raises(OutcomeUnknown, match="no answer is known"):
            asyncio.run(person.tools["mail.send"].look_up(to(person), KEY))

    def test_a_server_that_is_not_there_was_sent_nothing(
        self, dovecot_server: Dovecot, smtp: Smtp, tmp_path: Path
    ) -> None:
        person = Person(dovecot_server, smtp, tmp_path.resolve(), "send", smtp_port=free_port())
        assert person.tries("mail.send", to(person)).outcome == "not_sent"
        assert person.holds(person.user, "Sent") == []

    def test_after_a_clear_no_the_same_step_sends_it_once(self, person: Person) -> None:
        person.smtp.fault = "rcpt_later"
        assert person.tries("mail.send", to(person)).outcome == "not_sent"
        person.smtp.fault = ""
        person.calls("mail.send", to(person))
        assert len(person.holds(person.friend, "INBOX")) == len(person.holds(person.user, "Sent")) == 1

    def test_a_server_that_says_yes_and_keeps_nothing_leaves_the_step_unverified(self, person: Person) -> None:
        out = person.calls("mail.send", to(person))
        with person.dovecot.client(person.user) as client:
            client.select_folder("Sent")
            client.delete_messages(client.search())
            client.expunge()
        assert asyncio.run(person.tools["mail.send"].verify(to(person), KEY, out)) is None


class TestPermission:
    def test_an_account_that_only_reads_gives_tools_nothing(
        self, dovecot_server: Dovecot, smtp: Smtp, tmp_path: Path
    ) -> None:
        person = Person(dovecot_server, smtp, tmp_path.resolve())
        with pytest.raises(StepFailed, match="forewatch accounts auth ACCOUNT --allow send"):
            asyncio.run(person.tools["mail.send"].call(to(person), KEY))
        assert not any(person.outgoing.offers(tool.manifest) for tool in person.tools.values())

    def test_what_was_taken_back_is_gone_at_the_next_call(self, person: Person) -> None:
        assert person.outgoing.offers(person.tools["mail.send"].manifest)
        person.account = person.account.model_copy(update={"allow": ("write",)})
        assert not person.outgoing.offers(person.tools["mail.send"].manifest)
        answer = person.tries("mail.send", to(person))
        assert (answer.outcome, answer.code) == ("failed", "denied")
        assert person.smtp.taken.count(person.friend) == 0
