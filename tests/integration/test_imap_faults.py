"""IMAP under faults in random order, through a line that is cut and mangled: what is held is what the mailbox holds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis.stateful import run_state_machine_as_test

from extractors.testing import Poll, context_for, poll, records_of
from extractors.testing.faults import fault_machine
from schemas.record import Record
from tests.integration.imap_source import LETTERS, MailboxSource
from tests.peers.dovecot import Dovecot


def test_faults_in_any_order_lose_nothing_and_repeat_nothing(dovecot_server: Dovecot) -> None:
    machine = fault_machine(lambda: MailboxSource(dovecot_server, security="none"), LETTERS, examples=15, steps=12)
    run_state_machine_as_test(machine, settings=machine.TestCase.settings)


@pytest.fixture
def source(dovecot_server: Dovecot) -> Iterator[MailboxSource]:
    made = MailboxSource(dovecot_server, security="none")
    yield made
    made.close()


class Books:
    """What the service would hold: each record once, in order of arrival."""

    def __init__(self) -> None:
        self.records: dict[str, Record] = {}

    def take(self, result: Poll) -> None:
        for page in result.pages:
            for record in records_of(LETTERS, [*page.upserts, *page.deletes], context_for()):
                self.records.setdefault(record.id, record)

    def held(self) -> dict[str, object]:
        last = {record.native_id: record for record in self.records.values()}
        return {key: (each.raw, each.meta["flags"]) for key, each in last.items() if each.op == "upsert"}


@pytest.mark.parametrize("fault", ["cut", "half", "garbage", "html"])
def test_a_fault_at_any_moment_of_a_poll_loses_nothing_and_repeats_nothing(source: MailboxSource, fault: str) -> None:
    """Through the first sync, through changes of every kind, and through new numbers for all mails."""

    def polled(cursor: object) -> Poll:
        return poll(LETTERS, source.config, cursor, context_for(), key=source.key)

    def learn() -> None:
        for _ in range(5):
            source.add()

    def live() -> None:
        source.remove()
        source.change()
        source.add()

    def renumber() -> None:
        source.lose_cursors()
        source.add()
        source.remove()

    learn()
    before: object = None
    books = Books()
    broken = 0
    for change in (lambda: None, live, renumber):
        change()
        turns = source.proxy.turns
        truth = polled(before)
        assert truth.error is None
        expected = Books()
        expected.records = dict(books.records)
        expected.take(truth)
        for turn in range(source.proxy.turns - turns):
            tried = Books()
            tried.records = dict(books.records)
            source.proxy.arm(fault, turn)
            first = polled(before)
            source.proxy.heal()
            broken += first.error is not None
            tried.take(first)
            tried.take(polled(first.cursor))
            assert tried.held() == expected.held(), turn
            assert list(tried.records) == list(expected.records), turn
        before, books = truth.cursor, expected
    assert broken > 20
