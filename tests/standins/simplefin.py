"""A SimpleFIN server on this machine, and a source that the contract suite and the fault runs change."""

from __future__ import annotations

import base64
import copy
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from extractors.simplefin.config import SimpleFinConfig
from extractors.testing import START, Key
from extractors.testing.standin import Asked, Reply, StandIn
from schemas.model import Json
from tests.standins.simplefin_contract import CONTRACT

AUTH = "Basic " + base64.b64encode(b"demo:s%cret").decode()
FIRST = date(2026, 1, 12)


def stamp(day: date, hour: int = 0) -> int:
    return int(datetime.combine(day, time(hour), UTC).timestamp())


def transaction(
    key: str, day: date, amount: str, who: str = "Hotel Bellevue", *, pending: bool = False, **more: Any
) -> dict[str, Any]:
    found = {"id": key, "posted": 0 if pending else stamp(day), "amount": amount, "description": who, **more}
    return {**found, "pending": True, "transacted_at": stamp(day, 12)} if pending else found


class FakeSimpleFin(StandIn):
    """``accounts`` by id, each as the protocol has it; ``errlist`` is sent along. A setup token works once."""

    def __init__(self) -> None:
        super().__init__()
        self.accounts: dict[str, dict[str, Any]] = {}
        self.errlist: list[dict[str, str]] = []
        self.claims = {"one"}
        self.status = 200
        self.is_odd = False
        """The next answers hold what the protocol does not allow."""

    def add_account(self, key: str = "card-1", currency: str = "USD", balance: str = "-120.50") -> list[dict[str, Any]]:
        """The account's transactions, to be changed in place."""
        rows: list[dict[str, Any]] = []
        self.accounts[key] = {
            "id": key,
            "name": key.title(),
            "conn_id": "CON-1",
            "currency": currency,
            "balance": balance,
            "balance-date": stamp(FIRST),
            "transactions": rows,
        }
        return rows

    @property
    def setup_token(self) -> str:
        return base64.b64encode(f"{self.url}/simplefin/claim/one".encode()).decode()

    @property
    def access_url(self) -> str:
        return f"http://demo:s%25cret@127.0.0.1:{self.port}/simplefin"

    def answer(self, asked: Asked) -> Reply:
        if asked.path.startswith("/simplefin/claim/"):
            return self._claim(asked.path.rpartition("/")[2])
        if self.status != 200 or asked.headers.get("authorization") != AUTH:
            return Reply.of({"errors": ["refused"]}, self.status if self.status != 200 else 403)
        only = asked.query.get("balances-only")
        listed = [self._account(each, asked, is_bare=only is not None) for each in self.accounts.values()]
        connection = {"conn_id": "CON-1", "name": "Bank", "org_id": "INST-1", "sfin_url": "https://sfin.example.org"}
        return Reply.of({"errlist": self.errlist, "connections": [connection], "accounts": listed})

    def _claim(self, token: str) -> Reply:
        if token not in self.claims:
            return Reply(403, b"", {"Content-Type": "text/plain"})
        self.claims.discard(token)
        return Reply(200, self.access_url.encode(), {"Content-Type": "text/plain"})

    def _account(self, account: dict[str, Any], asked: Asked, *, is_bare: bool) -> dict[str, Any]:
        since, until = int(asked.query.get("start-date", 0)), int(asked.query.get("end-date", 10**11))
        rows = [
            row
            for row in account["transactions"]
            if isinstance(row.get("posted"), int)
            and since <= (row["posted"] or row.get("transacted_at", since)) < until
            and ("pending" in asked.query or not row.get("pending"))
        ]
        return {**account, "transactions": [] if is_bare else sorted(rows, key=lambda row: row["posted"])}

    def check(self, asked: Asked, reply: Reply) -> list[str]:
        if asked.path.startswith("/simplefin/claim/") or reply.status != 200 or self.is_odd:
            return []
        return CONTRACT.violations(asked, reply)


class _Generous(dict[str, list[datetime]]):
    """Counts no call: fault runs poll more often than a day allows."""

    def setdefault(self, key: str, default: Any = None) -> Any:
        return []


class SimpleFinSource:
    """Two accounts. The first item is a pending row; all items are later than those before."""

    config = SimpleFinConfig(history_days=100)

    def __init__(self) -> None:
        self.fake = FakeSimpleFin()
        self.fake.start()
        self.key = Key({"access_url": self.fake.access_url}, spent=_Generous())
        self.rows: list[tuple[list[dict[str, Any]], dict[str, Any]]] = []
        self.made = 0
        self._card, self._giro = self.fake.add_account("card-1"), self.fake.add_account("giro", "EUR", "1000.00")

    def add(self) -> None:
        self.made += 1
        account = self._card if self.made % 2 else self._giro
        day = START.date() - timedelta(days=12) + timedelta(days=self.made)
        row = transaction(f"TRN-{self.made}", day, f"-{self.made}.50", f"Shop {self.made}", pending=self.made % 3 == 1)
        account.append(row)
        self.rows.append((account, row))

    def change(self) -> None:
        _, row = self.rows[0]
        row["description"] += " Lisboa"

    def remove(self) -> None:
        """The first row that waits to be booked, if one does: what was booked must be missing on two days."""
        for place, (account, row) in enumerate(self.rows):
            if row.get("pending"):
                account.remove(row)
                del self.rows[place]
                return

    def poison(self) -> None:
        self.fake.is_odd = True
        self._card.append(transaction("TRN-poison", START.date(), "a lot"))

    def breakages(self) -> Mapping[str, Callable[[], None]]:
        return {
            "down": self.fake.stop,
            "html": lambda: self.fake.arm("html"),
            "revoked": lambda: setattr(self.fake, "status", 403),
            "unpaid": lambda: setattr(self.fake, "status", 402),
            "empty": self._empty,
            "truncated": lambda: self.fake.accounts.clear(),
        }

    def _empty(self) -> None:
        for account in self.fake.accounts.values():
            account["transactions"] = []

    def fingerprint(self) -> Json:
        found: Json = copy.deepcopy(self.fake.accounts)
        return found

    def faults(self) -> Mapping[str, Callable[[int], None]]:
        return self.fake.faults()

    def heal(self) -> None:
        self.fake.heal()

    def lose_cursors(self) -> None:
        """The protocol has none."""

    def close(self) -> None:
        self.fake.stop()
        assert self.fake.violations == []
