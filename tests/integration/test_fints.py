"""The FinTS connector against the fake bank that comes with the library: the whole protocol, on the wire."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from extractors.bank.row import ITEM, Row
from extractors.fints import FinTS
from extractors.fints.config import FinTSConfig
from extractors.testing import Key, context_for, poll
from schemas.errors import AuthError
from tests.peers.fints import fake_bank
from tests.peers.process import provided

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the library


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    yield from provided(fake_bank, tmp_path_factory.mktemp("fints"))


def key(pin: str = "1234") -> Key:
    return Key(secrets={"user": "test1", "pin": pin, "product": "TEST-123"}, asked=True)


def config(bank: str) -> FinTSConfig:
    return FinTSConfig(bank_code="12345678", server=bank, allow_private=True)


def checked(bank: str, access_key: Key) -> list[str]:
    async def go() -> list[str]:
        async with access_key.open(context_for().now) as access:
            return list(await FinTS().check(config(bank), replace(context_for(), access=access)))

    return asyncio.run(go())


def test_the_accounts_of_a_login_are_listed(bank: str) -> None:
    assert checked(bank, key()) == ["…0001: can be read"]


def test_bookings_of_several_answers_are_read_once(bank: str) -> None:
    access = key()
    first = poll(FinTS(), config(bank), None, context_for(), key=access)
    assert first.error is None
    rows = [item for upsert in first.upserts if isinstance(item := ITEM.validate_json(upsert.raw), Row)]
    assert [(row.booked_on, row.amount.amount) for row in rows] == [
        (date(2015, 1, 1), Decimal("182.34")),
        (date(2015, 3, 1), Decimal("100.03")),
        (date(2015, 3, 1), Decimal("100.00")),
    ]
    assert {row.account for row in rows} == {"DE111234567800000001"}
    second = poll(FinTS(), config(bank), first.cursor, context_for(), key=access)
    assert (second.error, second.upserts, second.deletes) == (None, [], [])


def test_the_bank_knows_the_device_again(bank: str) -> None:
    access = key()
    checked(bank, access)
    device = access.secrets["device"]
    checked(bank, access)
    assert device
    assert access.secrets["device"]


@pytest.mark.parametrize(("pin", "words"), [("9999", "does not accept"), ("3938", "locked")])
def test_a_refused_pin_is_never_sent_again(bank: str, pin: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    access = key(pin)
    with pytest.raises(AuthError, match=words) as caught:
        checked(bank, access)
    assert pin not in str(caught.value)

    def never(*_: Any) -> Any:
        raise AssertionError("the PIN was sent again")

    monkeypatch.setattr("extractors.fints.dialog._client", never)
    result = poll(FinTS(), config(bank), None, context_for(), key=access)
    assert isinstance(result.error, AuthError)
    access.secrets["pin"] = "1234"
    monkeypatch.undo()
    assert checked(bank, access)
