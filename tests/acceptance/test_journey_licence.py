"""A licence about to expire: the form found, filled, sent and followed over weeks, in one process after another, one of
them killed while its mail is delivered. Real mail servers, no model."""

from __future__ import annotations

import email
import email.policy
import io
import os
import signal
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from email.message import EmailMessage
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
from docx import Document

from tests.acceptance.lives import ZONE, Household, household
from tests.peers.dovecot import PASSWORD, Dovecot
from tests.peers.smtp import Smtp, submission

WARNING = """\
Dear Nora,

your driving licence expires on 20 April 2026. Please renew it in time.

Licensing Office
"""
RULES = """\
overrides:
  - id: document-expiring
    propose: {playbook: apply-for-renewal}
"""
"""Nora applies by form."""
RECEIVED = "We have received your application {code} for the renewal of your driving licence. Please be patient."


@dataclass
class World:
    """Nora with her folders, and the office with its mailbox."""

    dovecot: Dovecot
    smtp: Smtp
    nora: str
    office: str
    house: Household

    def mails(self, user: str, folder: str = "INBOX") -> list[EmailMessage]:
        """As another mail program shows them."""
        with self.dovecot.client(user) as client:
            client.select_folder(folder, readonly=True)
            found = client.search()
            raw = client.fetch(found, ["BODY.PEEK[]"]) if found else {}
        return [email.message_from_bytes(each[b"BODY[]"], policy=email.policy.default) for each in raw.values()]

    def applications(self) -> list[EmailMessage]:
        return self.mails(self.office)

    def writes(self, day: str, subject: str, body: str, *, answers: EmailMessage | None = None) -> None:
        """A mail of the office to Nora."""
        mail = EmailMessage(policy=email.policy.SMTP)
        at = datetime.fromisoformat(f"{day}T07:00").replace(tzinfo=ZONE)
        mail["From"], mail["To"], mail["Subject"] = f"Licensing Office <{self.office}>", self.nora, subject
        mail["Date"], mail["Message-ID"] = format_datetime(at), f"<{day}@office.example>"
        if answers is not None:
            mail["In-Reply-To"] = mail["References"] = str(answers["Message-ID"])
        mail.set_content(body)
        with self.dovecot.client(self.nora) as client:
            client.append("INBOX", mail.as_bytes(), msg_time=at)

    def keeps_and_kills(self, letter: bytes) -> None:
        """The mail server keeps the copy by itself, as many do; the sender dies before it hears that all is well."""
        self.smtp.delivered = lambda letter: None
        with self.dovecot.client(self.nora) as client:
            client.append("Sent", letter)
        os.kill(self.house.pid, signal.SIGKILL)


@pytest.fixture
def world(dovecot_server: Dovecot, tmp_path: Path) -> Iterator[World]:
    with _world(dovecot_server, tmp_path.resolve()) as world:
        yield world


@pytest.fixture
def world_on_kafka(dovecot_server: Dovecot, kafka_server: str, tmp_path: Path) -> Iterator[World]:
    log = {"broker": f"kafka://{kafka_server}?session_timeout_s=10", "topic_prefix": f"j{uuid.uuid4().hex[:10]}"}
    with _world(dovecot_server, tmp_path.resolve(), **log) as world:
        yield world


@contextmanager
def _world(dovecot: Dovecot, folder: Path, **log: str) -> Iterator[World]:
    forms, rules = folder / "forms", folder / "home" / "rules"
    forms.mkdir()
    rules.mkdir(parents=True)
    (rules / "mine.yaml").write_text(RULES)
    form = Document()
    form.add_heading("Application for renewal")
    for line in ("Of: {document}, valid until {expires}", "For: {applicant}", "On {today}, reference {reference}"):
        form.add_paragraph(line)
    form.save(str(forms / "renewal of a licence.docx"))
    nora, office = dovecot.user(), dovecot.user()
    with submission(dovecot) as smtp, household(folder, _place(dovecot, smtp, nora, folder, log)) as house:
        yield World(dovecot, smtp, nora, office, house)


def _place(dovecot: Dovecot, smtp: Smtp, nora: str, folder: Path, log: dict[str, str]) -> dict[str, Any]:
    server = {"host": "localhost", "port": dovecot.imaps, "ca_file": str(dovecot.ca), "allow_private": True}
    server |= {"username": nora, "smtp_host": "localhost", "smtp_port": smtp.port}
    home = {"home": str(folder / "home"), "timezone": ZONE.key, "folders": [str(folder / "forms")], "sender": nora}
    return {
        "settings": {**home, **log, "interruptions_per_day": 10},
        "accounts": [{"id": "mail", "connector": "imap", "config": server, "allow": ["send"]}],
        "password": PASSWORD,
        "born": "2026-03-02T07:00+01:00",
        "rule": "document-expiring",
    }


def applied(world: World) -> dict[str, Any]:
    """From the office's warning to the application in its mailbox: nineteen days, four lives, one of them killed."""
    world.writes("2026-03-02", "Your driving licence", WARNING)
    house = world.house
    (asked,) = house.live(["until", "2026-03-22"])["proposals"]
    assert (asked["phase"], asked["questions"]) == ("needs_input", ["applicant", "office", "form"])
    given = {"applicant": "Nora Bell", "office": world.office, "form": "renewal licence"}
    (offered,) = house.live(["answer", given])["proposals"]
    assert offered["phase"] == "offered"
    (gated,) = house.live(["approve"], ["until", "2026-03-23"])["proposals"]
    assert [name for name, step in gated["steps"].items() if step["asks"]] == ["s3"]
    assert world.applications() == []
    world.smtp.delivered = world.keeps_and_kills
    house.killed(["confirm"], ["minutes", 5])
    (sent,) = house.live(["until", "2026-03-24"])["proposals"]
    assert {name: sent["steps"][name]["phase"] for name in ("s1", "s2", "s3", "s4")} == {
        "s1": "ok", "s2": "ok", "s3": "ok", "s4": "waiting",
    }  # fmt: skip
    return dict(sent)


def code(application: EmailMessage) -> str:
    """The reference that the application gives."""
    return str(application["Subject"])[-5:-1]


def sends(state: dict[str, Any]) -> int:
    """How often a mail was begun to be sent."""
    mine = {step["uid"] for step in state["steps"].values() if step["tool"] == "mail.send"}
    return sum(uid in mine for uid in state["intents"])


def test_a_licence_is_applied_for_followed_and_granted(world: World) -> None:
    is_applied_for_followed_and_granted(world)


@pytest.mark.kafka
def test_a_licence_is_applied_for_followed_and_granted_on_kafka(world_on_kafka: World) -> None:
    """The same weeks, lives and kill on the other log: one code path (law L8)."""
    is_applied_for_followed_and_granted(world_on_kafka)


def is_applied_for_followed_and_granted(world: World) -> None:
    sent = applied(world)
    (application,) = world.applications()
    assert (application["From"], application["To"]) == (world.nora, world.office)
    (attached,) = application.iter_attachments()
    filled = Document(io.BytesIO(attached.get_payload(decode=True)))  # type: ignore[arg-type]  # bytes, as decoded
    assert [paragraph.text for paragraph in filled.paragraphs][1:] == [
        "Of: driving licence, valid until 2026-04-20",
        "For: Nora Bell",
        f"On 2026-03-22, reference {code(application)}",
    ]
    assert (sends(sent), sent["steps"]["s2"]["receipt"], sent["steps"]["s3"]["receipt"]) == (1, True, True)
    assert "human.asked" not in sent["journal"]

    reference = code(application)
    world.writes("2026-03-27", "Re: your application", RECEIVED.format(code=reference), answers=application)
    (received,) = world.house.live(["until", "2026-03-28"])["proposals"]
    assert received["steps"]["s6"]["out"]["text"] == "answered"
    told = [f"driving licence: {world.office} has answered: Re: your application"]
    assert world.house.notices() == told
    world.writes("2026-04-02", f"Application {reference}", "Your application is being processed.")
    (processed,) = world.house.live(["until", "2026-04-07"])["proposals"]
    assert (processed["phase"], processed["steps"]["s6"]["out"]["text"]) == ("running", "in process")
    world.writes("2026-04-14", f"Application {reference}", "Your application has been approved.")
    (done,) = world.house.live(["until", "2026-04-21"])["proposals"]
    assert (done["phase"], done["steps"]["s6"]["out"]["text"]) == ("done", "decided: approved")
    assert world.house.notices() == [*told, "driving licence: the application is approved."]
    assert (done["steps"]["s8"]["phase"], sends(done), len(world.applications())) == ("skipped", 1, 1)


def test_silence_leads_to_a_reminder_that_is_asked_for_and_a_refusal_is_told_as_one(world: World) -> None:
    applied(world)
    (silent,) = world.house.live(["until", "2026-04-08"])["proposals"]
    assert silent["revision"], "a further mail is a new effect, so it is asked for"
    assert len(world.applications()) == 1
    (gated,) = world.house.live(["approve"])["proposals"]
    assert [name for name, step in gated["steps"].items() if step["asks"]] == ["s10"]
    (reminded,) = world.house.live(["confirm"], ["minutes", 5])["proposals"]
    first, second = sorted(world.applications(), key=lambda mail: str(mail["Subject"]))
    assert str(second["Subject"]) == f"Reminder: application for renewal: driving licence ({code(first)})"
    assert (reminded["steps"]["s11"]["phase"], sends(reminded)) == ("waiting", 2)

    words = "We are sorry: your application was refused. A medical certificate is missing."
    world.writes("2026-04-10", f"Your application {code(first)}", words)
    (done,) = world.house.live(["until", "2026-04-13"])["proposals"]
    assert (done["phase"], done["steps"]["s7"]["phase"], len(world.applications())) == ("done", "skipped", 2)
    assert set(world.house.notices()) == {
        f"driving licence: {world.office} has answered: Your application {code(first)}",
        f"driving licence: the application was refused. It expires on 20 April 2026; see the mail of {world.office}.",
    }
