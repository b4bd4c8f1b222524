"""One bank behind either service, so that what must hold for both is tested on both."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any, Protocol

from pydantic import BaseModel

from extractors.connector import Connector
from extractors.enablebanking import EnableBanking
from extractors.gocardless import GoCardless
from extractors.testing import Key
from tests.standins import enablebanking, gocardless
from tests.standins.enablebanking import EnableBankingStandIn
from tests.standins.gocardless import GoCardlessStandIn

IBAN = "DE89370400440532013000"
OTHER = "DE02120300000000202051"


class World(Protocol):
    """``now`` is the bank's clock. Days are counted from 2026-02-12, see the stand-ins' ``transaction``."""

    connector: Connector
    service: EnableBankingStandIn | GoCardlessStandIn
    config: BaseModel
    key: Key

    def book(self, number: int, iban: str = IBAN, **changes: Any) -> None: ...

    def announce(self, number: int, iban: str = IBAN, **changes: Any) -> None:
        """A pending row."""
        ...

    def withdraw(self, number: int) -> None:
        """The pending row of that number goes."""
        ...

    def link(self, at: datetime, days: int = 90) -> None:
        """A consent that the person gives."""
        ...

    def at(self, now: datetime) -> None: ...

    def reads(self) -> int:
        """How many reads of transactions the bank counted."""
        ...

    def allow(self, reads_a_day: int) -> None: ...


class AtEnableBanking:
    connector = EnableBanking()

    def __init__(self) -> None:
        self.service = EnableBankingStandIn()
        self.service.open(IBAN)
        self.service.open(OTHER)
        self.key = Key(secrets=self.service.secrets())

    @property
    def config(self) -> BaseModel:
        return self.service.config()

    def _rows(self, iban: str) -> list[dict[str, Any]]:
        return next(account.rows for account in self.service.accounts.values() if account.iban == iban)

    def book(self, number: int, iban: str = IBAN, **changes: Any) -> None:
        self._rows(iban).append(enablebanking.transaction(number, **_renamed(changes)))

    def announce(self, number: int, iban: str = IBAN, **changes: Any) -> None:
        self._rows(iban).append(enablebanking.pending(number, **_renamed(changes)))

    def withdraw(self, number: int) -> None:
        gone = enablebanking.pending(number)["entry_reference"]
        self._rows(IBAN)[:] = [row for row in self._rows(IBAN) if row["entry_reference"] != gone]

    def link(self, at: datetime, days: int = 90) -> None:
        session = self.service.consent(at + timedelta(days=days))
        self.key.secrets |= self.service.secrets(session)

    def at(self, now: datetime) -> None:
        """Its clock is in the tokens that it is sent."""

    def reads(self) -> int:
        return sum(len(calls) for name, calls in self.service.reads.items() if name.startswith("transactions"))

    def allow(self, reads_a_day: int) -> None:
        self.service.reads_a_day = reads_a_day


class AtGoCardless:
    connector = GoCardless()

    def __init__(self) -> None:
        self.service = GoCardlessStandIn()
        self.service.open(IBAN)
        self.service.open(OTHER)
        self.key = Key(secrets=self.service.secrets())

    @property
    def config(self) -> BaseModel:
        return self.service.config()

    def book(self, number: int, iban: str = IBAN, **changes: Any) -> None:
        self.service.accounts[iban].booked.append(gocardless.transaction(number, **changes))

    def announce(self, number: int, iban: str = IBAN, **changes: Any) -> None:
        self.service.accounts[iban].pending.append(gocardless.pending(number, **changes))

    def withdraw(self, number: int) -> None:
        rows = self.service.accounts[IBAN].pending
        gone = gocardless.pending(number)["transactionId"]
        rows[:] = [row for row in rows if row["transactionId"] != gone]

    def link(self, at: datetime, days: int = 90) -> None:
        self.key.secrets |= self.service.secrets(self.service.consent(at, days))

    def at(self, now: datetime) -> None:
        self.service.now = now

    def reads(self) -> int:
        return sum(len(calls) for name, calls in self.service.reads.items() if name.startswith("transactions"))

    def allow(self, reads_a_day: int) -> None:
        self.service.reads_a_day = reads_a_day


def _renamed(changes: dict[str, Any]) -> dict[str, Any]:
    """GoCardless' names, in which tests say what is special about a row, as Enable Banking's."""
    names = {
        "transactionId": "entry_reference",
        "remittanceInformationUnstructured": "remittance_information",
        "bookingDate": "booking_date",
        "valueDate": "value_date",
    }
    found: dict[str, Any] = {}
    for name, value in changes.items():
        if name == "creditorName":
            found["creditor"] = {"name": value}
        elif name == "transactionAmount":
            found["transaction_amount"] = {**value, "amount": value["amount"].lstrip("-")}
        else:
            found[names[name]] = [value] if name == "remittanceInformationUnstructured" else value
    return found


def day(number: int) -> date:
    return date(2026, 2, 12) + timedelta(days=number)


def noon(number: int) -> datetime:
    return datetime(2026, 2, 12, 12, tzinfo=UTC) + timedelta(days=number)
