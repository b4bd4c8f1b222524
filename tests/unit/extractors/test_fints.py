"""The FinTS connector without its library: a bank that is a script, TANs, and answers that are none."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from extractors.fints import FinTS
from extractors.fints.config import FinTSConfig
from extractors.fints.dialog import Login, Send, decoded, encoded, translated
from extractors.testing import ConnectorContract, Key, Poll, context_for, poll
from schemas.errors import AuthError, ForewatchError, TransientError
from schemas.model import Json

IBAN = "DE89370400440532013000"


class Account(NamedTuple):
    iban: str
    bic: str = ""
    accountnumber: str = "532013000"
    subaccount: str = ""
    blz: str = "37040044"


class NeedTANResponse:
    """Called as the library calls it."""


class Bank:
    """``rows``: day, amount in cents, code of the booking, purpose."""

    def __init__(self) -> None:
        self.rows: list[list[Any]] = []
        self.count = 0
        self.wants_tan = ""
        self.error: Exception | None = None
        self.raw: bytes | None = None
        self.dialogs = 0
        self.key = Key(secrets={"user": "u", "pin": "p"}, spent=Unlimited(), asked=True)
        self.config = FinTSConfig(bank_code="37040044", server="https://fints.example/")

    def add(self) -> None:
        self.rows.append([date(2026, 2, 12) + timedelta(days=self.count), 1050 + 100 * self.count, "105", self.count])
        self.count += 1

    def change(self) -> None:
        self.rows[0][2] = "Basislastschrift" if self.rows[0][2] == "105" else "Lastschrift"

    def remove(self) -> None:
        """Not the oldest: a list that begins later than the last one is taken for a shorter list."""
        del self.rows[1]

    def poison(self) -> None:
        self.rows.append([None, 0, "", self.count])
        self.count += 1

    def breakages(self) -> Mapping[str, Callable[[], None]]:
        return {
            "down": lambda: setattr(self, "error", ConnectionError("refused")),
            "empty": self.rows.clear,
            "html": lambda: setattr(self, "raw", b"<html>Log in</html>"),
            "revoked": lambda: setattr(self, "wants_tan", "statements"),
        }

    def fingerprint(self) -> Json:
        return [[str(part) for part in row] for row in self.rows]

    def statement(self) -> bytes:
        if self.raw is not None:
            return self.raw
        if not self.rows:
            return b""
        lines = [":20:STARTUMS", ":25:37040044/532013000", ":28C:0", ":60F:C260101EUR1000,00"]
        for day, cents, code, number in self.rows:
            when = f"{day:%y%m%d%m%d}" if day else "269999"
            lines += [f":61:{when}D{cents // 100},{cents % 100:02d}NMSCNONREF"]
            lines += [f":86:105?00{code}?20SVWZ+Purchase {number}?32Shop {number}"]
        closing = 100_000 - sum(row[1] for row in self.rows)
        last = max(row[0] for row in self.rows if row[0])
        lines += [f":62F:C{last:%y%m%d}EUR{closing // 100},{closing % 100:02d}", "-", ""]
        return "\r\n".join(lines).encode()


class Unlimited(dict[str, list[Any]]):
    def setdefault(self, key: str, default: list[Any] | None = None) -> list[Any]:
        return []


class Client:
    def __init__(self, bank: Bank) -> None:
        self.bank = bank
        self.init_tan_response = NeedTANResponse() if bank.wants_tan == "login" else None
        bank.dialogs += 1

    def __enter__(self) -> Client:
        if self.bank.error is not None:
            raise self.bank.error
        return self

    def __exit__(self, *_: object) -> None:
        """The dialog ends."""

    def get_sepa_accounts(self) -> Any:
        return NeedTANResponse() if self.bank.wants_tan == "accounts" else [Account(IBAN)]

    def statements(self, account: Account, since: date) -> Any:
        return NeedTANResponse() if self.bank.wants_tan == "statements" else self.bank.statement()

    def deconstruct(self, *, including_private: bool) -> bytes:
        return b"device"


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Bank:
    bank = Bank()
    connect(bank, monkeypatch)
    return bank


def connect(bank: Bank, monkeypatch: pytest.MonkeyPatch) -> None:
    def client(login: Login, send: Send) -> Client:
        return Client(bank)

    monkeypatch.setattr("extractors.fints.dialog._client", client)


class TestFinTSConnector(ConnectorContract):
    connector = FinTS(page_rows=2)

    @pytest.fixture(autouse=True)
    def _library(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.patch = monkeypatch

    def source(self, folder: Path) -> Bank:
        bank = Bank()
        connect(bank, self.patch)
        return bank

    def poll(self, source: Any, cursor: Json, *, days: int = 0, kill_after: int | None = None) -> Poll:
        connect(source, self.patch)
        return super().poll(source, cursor, days=days, kill_after=kill_after)

    def test_a_removed_item_is_a_delete_that_becomes_a_retraction(self, tmp_path: Path) -> None:
        """A bank that takes a booking back is believed the second time."""
        source = self.filled(tmp_path)
        first = self.first(source)
        source.remove()
        second = self.again(source, first)
        assert second.deletes == []
        third = self.again(source, second, days=2)
        assert len(third.deletes) == 1
        assert self.again(source, third, days=3).deletes == []

    def test_what_a_killed_poll_told_is_withdrawn_where_it_is_gone_by_the_next(self, tmp_path: Path) -> None:
        """Here too the second time."""
        source = self.filled(tmp_path)
        killed = self.kill(source, 1)
        source.remove()
        believed = self.again(source, self.again(source, killed), days=2)
        there = {upsert.native_id for upsert in self.first(source).upserts}
        lost = {upsert.native_id for upsert in killed.upserts} - there
        assert lost == {gone.native_id for gone in believed.deletes} != set()


@pytest.mark.parametrize("when", ["login", "accounts", "statements"])
def test_a_tan_is_never_waited_for_and_never_taken_for_no_activity(at: Bank, when: str) -> None:
    at.add()
    at.wants_tan = when
    result = poll(FinTS(), at.config, None, context_for(), key=at.key)
    assert isinstance(result.error, AuthError)
    assert "TAN" in str(result.error)
    assert result.pages == []


def test_an_empty_answer_says_nothing(at: Bank) -> None:
    result = poll(FinTS(), at.config, None, context_for(), key=at.key)
    assert result.error is None
    assert any("says nothing" in warning for warning in result.warnings)


def test_the_accounts_are_asked_for_once(at: Bank) -> None:
    at.add()
    first = poll(FinTS(), at.config, None, context_for(), key=at.key)
    assert at.dialogs == 2
    poll(FinTS(), at.config, first.cursor, context_for(), key=at.key)
    assert at.dialogs == 3
    assert base64.b64decode(at.key.secrets["device"]) == b"device"


def test_without_the_library_a_person_hears_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "extractors.fints.library", None)
    result = poll(FinTS(), Bank().config, None, context_for(), key=Bank().key)
    assert isinstance(result.error, AuthError)
    assert result.error.remedy == "install forewatch[fints]"


def test_an_unknown_error_shows_nothing_of_what_was_sent() -> None:
    error = translated(ValueError("HNSHA:1+PIN MARKER"))
    assert isinstance(error, TransientError)
    assert "MARKER" not in str(error)
    assert isinstance(translated(type("FinTSClientPINError", (Exception,), {})()), AuthError)


def test_what_is_no_message_is_an_error_of_the_address() -> None:
    assert decoded(encoded(b"HNHBK")) == b"HNHBK"
    with pytest.raises(ForewatchError, match="no FinTS message"):
        decoded(b"<html>")
