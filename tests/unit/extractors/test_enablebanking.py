"""The connector contract for Enable Banking, and the connector under faults in random order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from extractors.enablebanking import EnableBanking
from extractors.testing import ConnectorContract, Key
from extractors.testing.faults import fault_machine
from schemas.model import Json
from tests.standins.enablebanking import EnableBankingStandIn, pending, transaction

CONNECTOR = EnableBanking(page_rows=2)
UNTIL = datetime(2026, 8, 1, tzinfo=UTC)


class Unlimited(dict[str, list[datetime]]):
    """Calls are counted elsewhere: the laws of connectors poll more often than a bank allows."""

    def setdefault(self, key: str, default: list[datetime] | None = None) -> list[datetime]:
        return []


class Bank:
    """The first item is a pending payment, which may change and go; the others are booked."""

    def __init__(self) -> None:
        self.service = EnableBankingStandIn()
        self.service.start()
        self.account = self.service.open("DE89370400440532013000")
        session = self.service.consent(UNTIL)
        self.key = Key(secrets=self.service.secrets(session), spent=Unlimited(), asked=True)
        self.config = self.service.config()
        self.count = 0
        self.changes = 0

    def add(self) -> None:
        make = transaction if self.account.rows else pending
        self.account.rows.append(make(self.count))
        self.count += 1

    def change(self) -> None:
        self.changes += 1
        self.account.rows[0] = {**self.account.rows[0], "remittance_information": [f"Said otherwise {self.changes}"]}

    def remove(self) -> None:
        del self.account.rows[0]

    def poison(self) -> None:
        """A row without any day: the description allows it, but when was it?"""
        self.account.rows.append(transaction(self.count, booking_date=None, value_date=None, transaction_date=None))
        self.count += 1

    def breakages(self) -> Mapping[str, Callable[[], None]]:
        return {
            "down": self.service.stop,
            "empty": self.account.rows.clear,
            "html": lambda: self.service.arm("html"),
            "truncated": lambda: self.service.arm("half", after=1),
            "revoked": lambda: self.service.arm("revoked"),
        }

    def fingerprint(self) -> Json:
        return [dict(row) for row in self.account.rows]

    def faults(self) -> Mapping[str, Callable[[int], None]]:
        return self.service.faults()

    def heal(self) -> None:
        self.service.heal()

    def lose_cursors(self) -> None:
        """No list can be continued where it was left."""
        self.service.salt += 1

    def close(self) -> None:
        self.service.stop()
        assert self.service.violations == []


class TestEnableBankingConnector(ConnectorContract):
    connector = CONNECTOR

    @pytest.fixture(autouse=True)
    def _services(self) -> Iterator[None]:
        self.opened: list[Bank] = []
        yield
        for bank in self.opened:
            bank.close()

    def source(self, folder: Path) -> Bank:
        self.opened.append(Bank())
        return self.opened[-1]


class FaultyBank(Bank):
    """Only pending payments go and change: a bank that takes a booking back is believed the second time only."""

    def add(self) -> None:
        make: Callable[..., dict[str, Any]] = pending if self.count % 2 == 0 else transaction
        self.account.rows.append(make(self.count))
        self.count += 1

    def _first(self) -> int:
        return next((place for place, row in enumerate(self.account.rows) if row["status"] == "PDNG"), -1)

    def change(self) -> None:
        self.changes += 1
        if (place := self._first()) >= 0:
            said = {"bank_transaction_code": {"description": f"Code {self.changes}"}}
            self.account.rows[place] = {**self.account.rows[place], **said}

    def remove(self) -> None:
        if (place := self._first()) >= 0:
            del self.account.rows[place]


TestFaults = fault_machine(FaultyBank, CONNECTOR, examples=20).TestCase
