"""The connector contract for GoCardless, and the connector under faults in random order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from extractors.gocardless import GoCardless
from extractors.testing import START, ConnectorContract, Key
from extractors.testing.faults import fault_machine
from schemas.model import Json
from tests.standins.gocardless import GoCardlessStandIn, pending, transaction

CONNECTOR = GoCardless(page_rows=2)


class Unlimited(dict[str, list[datetime]]):
    """Calls are counted elsewhere: the laws of connectors poll more often than a bank allows."""

    def setdefault(self, key: str, default: list[datetime] | None = None) -> list[datetime]:
        return []


class Bank:
    """The first item is a pending payment, which may change and go; the others are booked."""

    def __init__(self) -> None:
        self.service = GoCardlessStandIn()
        self.service.start()
        self.account = self.service.open("DE89370400440532013000")
        requisition = self.service.consent(START)
        self.key = Key(secrets=self.service.secrets(requisition), spent=Unlimited(), asked=True)
        self.config = self.service.config()
        self.count = 0
        self.changes = 0

    def add(self) -> None:
        if self.count == 0:
            self.account.pending.append(pending(self.count))
        else:
            self.account.booked.append(transaction(self.count))
        self.count += 1

    def change(self) -> None:
        self.changes += 1
        if self.account.pending:
            said = {"proprietaryBankTransactionCode": f"Code {self.changes}"}
            self.account.pending[0] = {**self.account.pending[0], **said}

    def remove(self) -> None:
        del self.account.pending[:1]

    def poison(self) -> None:
        self.account.booked.append(transaction(self.count, bookingDate=None, valueDate=None))
        self.count += 1

    def _emptied(self) -> None:
        self.account.booked.clear()
        self.account.pending.clear()

    def breakages(self) -> Mapping[str, Callable[[], None]]:
        return {
            "down": self.service.stop,
            "empty": self._emptied,
            "html": lambda: self.service.arm("html", after=1),
            "truncated": lambda: self.service.arm("half", after=1),
            "revoked": lambda: self.service.arm("revoked"),
        }

    def fingerprint(self) -> Json:
        listed: list[dict[str, Any]] = [*self.account.booked, *self.account.pending]
        return [dict(row) for row in listed]

    def faults(self) -> Mapping[str, Callable[[int], None]]:
        return self.service.faults()

    def heal(self) -> None:
        self.service.heal()

    def lose_cursors(self) -> None:
        """There are none; every token that was given is forgotten instead."""
        self.service.tokens.clear()
        self.service.refreshers.clear()

    def close(self) -> None:
        self.service.stop()
        assert self.service.violations == []


class TestGoCardlessConnector(ConnectorContract):
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
    """Every other payment is pending: only those go and change, for a bank that takes a booking back is believed the
    second time only."""

    def add(self) -> None:
        if self.count % 2 == 0:
            self.account.pending.append(pending(self.count))
        else:
            self.account.booked.append(transaction(self.count))
        self.count += 1


TestFaults = fault_machine(FaultyBank, CONNECTOR, examples=20).TestCase
