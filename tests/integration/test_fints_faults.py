"""FinTS under faults of the line and of the bank: what is held is what the bank lists, and no PIN is sent in vain."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis.stateful import run_state_machine_as_test

from extractors.bank.row import ITEM, Row
from extractors.fints import FinTS
from extractors.testing import Poll, context_for, poll
from extractors.testing.faults import fault_machine
from forewatch.connect import Connecting, Wishes
from forewatch.settings import Settings
from schemas.clock import SystemClock
from schemas.errors import AuthError, ForewatchError, RateLimited, TransientError
from schemas.model import Json
from tests.peers.fints import fake_protocol
from tests.peers.process import provided
from tests.standins.fints import FinTSBank

CONNECTOR = FinTS(page_rows=2)

pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning",  # of the library
    "ignore::fints.parser.FinTSParserWarning",  # what it cannot read, it says
)


@pytest.fixture(scope="module")
def protocol(tmp_path_factory: pytest.TempPathFactory) -> Iterator[type[Any]]:
    yield from provided(fake_protocol, tmp_path_factory.mktemp("fints"))


@pytest.fixture
def bank(protocol: type[Any]) -> Iterator[FinTSBank]:
    yield from filled(protocol)


def filled(protocol: type[Any]) -> Iterator[FinTSBank]:
    made = FinTSBank(protocol)
    for _ in range(5):
        made.add()
    yield made
    made.close()


class Read(NamedTuple):
    """What is kept after a first read, and how many messages a second one takes."""

    cursor: Json
    secrets: dict[str, str]
    messages: int


@pytest.fixture(scope="module")
def read(protocol: type[Any]) -> Iterator[Read]:
    for bank in filled(protocol):
        cursor = polled(bank).cursor
        before = len(bank.service.asked)
        assert polled(bank, cursor).error is None
        yield Read(cursor, dict(bank.key.secrets), len(bank.service.asked) - before)


def polled(bank: FinTSBank, cursor: Json = None) -> Poll:
    return poll(CONNECTOR, bank.config, cursor, context_for(), key=bank.key)


def rows(result: Poll) -> int:
    return sum(isinstance(ITEM.validate_json(upsert.raw), Row) for upsert in result.upserts)


def test_faults_in_any_order_lose_nothing_and_repeat_nothing(protocol: type[Any]) -> None:
    machine = fault_machine(
        lambda: FinTSBank(protocol),
        CONNECTOR,
        examples=8,
        steps=8,
        doubts=2,
        is_listed=lambda native_id: not native_id.startswith("balance:"),
    )
    run_state_machine_as_test(machine, settings=machine.TestCase.settings)


def test_a_list_of_several_answers_is_read_to_its_end(bank: FinTSBank) -> None:
    result = polled(bank)
    assert result.error is None
    assert rows(result) == 5


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("429", RateLimited),
        ("revoked", AuthError),
        ("aborted", TransientError),
        ("refused", TransientError),
        ("locked", AuthError),
        ("pin", AuthError),
        ("sca", AuthError),
        ("tan", AuthError),
        ("cut", TransientError),
        ("half", TransientError),
        ("html", TransientError),
        ("empty", TransientError),
        ("garbled", TransientError),
        ("not FinTS", TransientError),
    ],
)
def test_a_fault_at_any_message_of_a_read_is_told_as_what_it_is(
    bank: FinTSBank, read: Read, fault: str, error: type[ForewatchError]
) -> None:
    """From the first message of the read to the last that asks something; the farewell may fail."""
    bank.key.secrets |= read.secrets
    bank.add()
    for message in range(read.messages - 1):
        bank.service.arm(fault, message)
        result = polled(bank, read.cursor)
        assert type(result.error) in (error, *error.__subclasses__()), message
        assert result.upserts == [], message
        bank.heal()
    bank.service.arm(fault, read.messages - 1)
    assert rows(polled(bank, read.cursor)) == 1


def test_a_list_that_does_not_end_is_given_up(bank: FinTSBank) -> None:
    for message in range(12):
        bank.service.arm("endless", message)
    result = polled(bank)
    assert isinstance(result.error, TransientError)
    assert "does not end" in str(result.error)


class Person:
    """Has given everything beforehand."""

    def tell(self, text: str) -> None: ...

    def visit(self, url: str) -> None: ...

    async def ask(self, question: str, *, hidden: bool = False) -> str:
        raise AssertionError(question)


def test_an_access_that_was_unlocked_is_used_again_when_the_person_signs_in_with_the_same_pin(
    bank: FinTSBank, tmp_path: Path
) -> None:
    typed = dict(bank.key.secrets)
    bank.service.arm("locked")
    assert isinstance(polled(bank).error, AuthError)
    asked = len(bank.service.asked)
    assert isinstance(polled(bank).error, AuthError)
    assert len(bank.service.asked) == asked, "the PIN was sent again"
    bank.service.heal()
    settings = Settings(home=tmp_path, timezone="Europe/Berlin")
    attempt = Connecting(settings, SystemClock(), Person(), Wishes(secrets=typed))
    connected = asyncio.run(attempt.again(CONNECTOR, bank.config.model_dump(mode="json"), bank.key.secrets))
    bank.key.secrets |= connected.secrets
    assert rows(polled(bank)) == 5
