"""From a mail server's door to an event, and through a mailbox with many mails."""

from __future__ import annotations

import asyncio
import smtplib
import tracemalloc
from collections.abc import Iterator
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest
from aiosmtpd.controller import Controller

from benchmarks import mail
from extractors.imap import ImapConnector
from extractors.imap.known import LIMIT
from extractors.imap.reading import PageSize
from extractors.testing import Key, context_for, events_of, poll, records_of
from tests.integration.imap_source import LETTERS, config_of, letter
from tests.peers.dovecot import PASSWORD, Dovecot
from tests.peers.process import PeerMissing, free_port

KEY = Key(secrets={"password": PASSWORD})


class ToLmtp:
    """What a mail server does with a mail for somebody of its own: hands it to the mailbox by LMTP."""

    def __init__(self, port: int) -> None:
        self.port = port

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        def hand_over() -> None:
            with smtplib.LMTP("127.0.0.1", self.port) as lmtp:
                lmtp.sendmail(envelope.mail_from, envelope.rcpt_tos, envelope.content)

        await asyncio.to_thread(hand_over)
        return "250 delivered"


@pytest.fixture
def mail_server(dovecot_server: Dovecot) -> Iterator[int]:
    """The port of an SMTP server that delivers to Dovecot."""
    controller = Controller(ToLmtp(dovecot_server.lmtp), hostname="127.0.0.1", port=free_port())
    controller.start()
    yield controller.port
    controller.stop()


def test_a_mail_that_is_sent_is_an_event_after_one_poll(dovecot_server: Dovecot, mail_server: int) -> None:
    user = dovecot_server.user()
    config = config_of(dovecot_server, user)
    before = poll(LETTERS, config, None, context_for(), key=KEY)
    with smtplib.SMTP("127.0.0.1", mail_server) as smtp:
        smtp.sendmail(
            "billing@acme.example",
            [user],
            f"From: Acme <billing@acme.example>\r\nTo: {user}\r\nSubject: Invoice 2026-17\r\n"
            "Date: Mon, 02 Mar 2026 09:00:00 +0100\r\nMessage-ID: <i17@acme.example>\r\n\r\n"
            "Please pay 84.50 EUR by 16 March 2026.\r\n",
        )
    result = poll(LETTERS, config, before.cursor, context_for(), key=KEY)
    (event,), poison = events_of(LETTERS, records_of(LETTERS, result.upserts, context_for()), context_for())
    assert not poison
    assert (event.kind, event.title, event.trust) == ("mail.received", "Invoice 2026-17", "outside")
    assert str(event.amount) == "-84.50 EUR"
    assert event.due_at is not None
    assert event.due_at.date().isoformat() == "2026-03-16"


def test_two_thousand_mails_need_the_memory_of_a_page(dovecot_server: Dovecot) -> None:
    user = dovecot_server.user()
    size = 20_000
    dovecot_server.deliver(user, (letter(number, "x" * size) for number in range(2_000)))
    connector = ImapConnector(page=PageSize(mails=100, size=1024 * 1024))

    async def run() -> tuple[int, int]:
        seen = 0
        async with KEY.open(context_for().now) as access:
            pages = connector.pull(config_of(dovecot_server, user), None, replace(context_for(), access=access))
            tracemalloc.start()
            async with aclosing(pages):  # type: ignore[type-var]
                async for page in pages:
                    seen += len(page.upserts)
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
        return seen, peak

    seen, peak = asyncio.run(run())
    assert seen == 2_000
    assert peak < 12_000_000 < 2_000 * size


def test_the_benchmark_reads_the_same_mails_as_its_peer() -> None:
    """Its figures are ratios of one run on a quiet machine; here only what is no matter of time."""
    try:
        found = mail.measure(500, rounds=1)
    except PeerMissing as missing:
        pytest.skip(str(missing))
    assert found.mails == 500
    assert found.turns == 1
    assert found.growth_mb < 50
    assert 0 < found.ratio < 20


def test_of_too_many_mails_the_newest_are_watched(dovecot_server: Dovecot, monkeypatch: pytest.MonkeyPatch) -> None:
    assert LIMIT > 10
    for module in ("known", "look", "poll"):
        monkeypatch.setattr(f"extractors.imap.{module}.LIMIT", 10)
    user = dovecot_server.user()
    dovecot_server.deliver(user, (letter(number) for number in range(15)))
    config = config_of(dovecot_server, user)
    first = poll(LETTERS, config, None, context_for(), key=KEY)
    assert [upsert.raw for upsert in first.upserts] == [letter(number) for number in range(5, 15)]
    assert first.warnings == ["more than 10 mails: only the newest are watched; max_age_days narrows it down"]
    with dovecot_server.client(user) as client:
        client.append("INBOX", letter("new"))
    second = poll(LETTERS, config, first.cursor, context_for(), key=KEY)
    assert [upsert.raw for upsert in second.upserts] == [letter("new")]
    assert second.deletes == []
    assert poll(LETTERS, config, second.cursor, context_for(), key=KEY).upserts == []
