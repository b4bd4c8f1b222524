"""Plaid on this machine: an Item whose changes are a log, and a source that suites and fault runs change."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from typing import Any

from extractors.plaid.api import MUTATION
from extractors.plaid.config import PlaidConfig
from extractors.testing import START, Key
from extractors.testing.standin import Asked, Reply, StandIn
from schemas.model import Json
from tests.standins.plaid_contract import prepare, violations

SECRETS = {"client_id": "6a1f", "secret": "s3cret", "access_token": "access-1"}
_PLACE = ["address", "city", "region", "postal_code", "country", "lat", "lon", "store_number"]
_META = ["by_order_of", "payee", "payer", "payment_method", "payment_processor", "ppd_id", "reason", "reference_number"]


def transaction(
    key: str, amount: float, who: str = "Cafe Uno", day: date = START.date(), **more: Any
) -> dict[str, Any]:
    """As /transactions/sync gives it: ``amount`` is positive for money out."""
    return {
        "account_id": "acc1",
        "account_owner": None,
        "amount": amount,
        "iso_currency_code": "EUR",
        "unofficial_currency_code": None,
        "check_number": None,
        "date": day.isoformat(),
        "datetime": None,
        "authorized_date": day.isoformat(),
        "authorized_datetime": None,
        "location": dict.fromkeys(_PLACE),
        "name": who,
        "merchant_name": who,
        "merchant_entity_id": None,
        "logo_url": None,
        "website": None,
        "payment_meta": dict.fromkeys(_META),
        "payment_channel": "other",
        "pending": False,
        "pending_transaction_id": None,
        "transaction_id": key,
        "transaction_code": None,
        "transaction_type": "unresolved",
        **more,
    }


def account(key: str = "acc1", current: float | None = None, **more: Any) -> dict[str, Any]:
    balances = {"available": None, "current": current, "limit": None, "iso_currency_code": "EUR"}
    return {
        "account_id": key,
        "balances": {**balances, "unofficial_currency_code": None},
        "mask": "0000",
        "name": "Giro",
        "official_name": None,
        "type": "depository",
        "subtype": "checking",
        **more,
    }


def refusal(code: str, kind: str = "ITEM_ERROR", status: int = 400, message: str = "refused") -> Reply:
    said = {"error_type": kind, "error_code": code, "error_message": message, "display_message": None}
    return Reply.of({**said, "request_id": "r1", "status": status}, status)


class FakePlaid(StandIn):
    """``log``: what happened, oldest first; a cursor is a place in it. ``script``: answers by turn, before the log.

    ``mutate_after``: so many pages from now the data changes under the loop. ``epoch``: cursors of others are unknown.
    """

    def __init__(self) -> None:
        super().__init__()
        self.log: list[tuple[str, dict[str, Any]]] = []
        self.accounts = [account()]
        self.script: list[Reply] = []
        self.epoch = 0
        self.status = "HISTORICAL_UPDATE_COMPLETE"
        self.item: dict[str, Any] = {}
        self.webhook: dict[str, Any] | None = None
        self.is_odd = False
        self.public_token = ""
        self.allows_redirect = True
        self.removed = 0
        self.mutate_after: int | None = None
        self._listing: list[tuple[str, dict[str, Any]]] = []

    def start(self) -> None:
        prepare("/transactions/sync", "/item/get")
        super().start()

    def put(self, kind: str, row: dict[str, Any]) -> None:
        self.log.append((kind, copy.deepcopy(row)))

    def remove(self, row: Mapping[str, Any]) -> None:
        self.log.append(("removed", {name: row[name] for name in ("transaction_id", "account_id")}))

    @property
    def cursors(self) -> list[str]:
        return [asked.json()["cursor"] for asked in self.asked if asked.path == "/transactions/sync"]

    def answer(self, asked: Asked) -> Reply:
        if (asked.headers.get("plaid-client-id"), asked.headers.get("plaid-secret")) != ("6a1f", "s3cret"):
            return refusal("INVALID_API_KEYS", "INVALID_INPUT")
        if self.script and asked.path == "/transactions/sync":
            return self.script.pop(0)
        match asked.path:
            case "/transactions/sync":
                return self._sync(asked.json())
            case "/item/get":
                return Reply.of(self._item())
            case "/accounts/get":
                return Reply.of({"accounts": self.accounts, "item": self._item()["item"], "request_id": "r1"})
            case "/item/remove":
                self.removed += 1
                return Reply.of({"request_id": "r1"})
            case "/link/token/create":
                if self.allows_redirect is False and asked.json()["hosted_link"]:
                    return refusal("INVALID_FIELD", "INVALID_REQUEST", message="completion_redirect_uri must be https")
                page = {"link_token": "link-1", "expiration": "2026-03-02T12:00:00Z", "request_id": "r1"}
                return Reply.of({**page, "hosted_link_url": "https://secure.plaid.example/hl/1"})
            case "/link/token/get":
                return Reply.of(self._link())
            case _:
                return Reply.of({"access_token": "access-1", "item_id": "item-1", "request_id": "r1"})

    def _sync(self, body: dict[str, Any]) -> Reply:
        if body["access_token"] != "access-1":
            return refusal("INVALID_ACCESS_TOKEN", "INVALID_INPUT")
        cursor = body["cursor"]
        epoch, _, place = cursor.partition(":")
        if cursor and int(epoch) != self.epoch:
            return refusal("INVALID_FIELD", "INVALID_REQUEST", message="cursor not associated with access_token")
        if self.mutate_after is not None:
            self.mutate_after -= 1
            if self.mutate_after < 0:
                self.mutate_after = None
                return refusal(MUTATION, "TRANSACTIONS_ERROR")
        if not cursor:
            self._listing = self._now()
            return self._page(self._listing, 0, body["count"], is_full=True)
        if place.startswith("full-"):
            return self._page(self._listing, int(place.removeprefix("full-")), body["count"], is_full=True)
        return self._page(self.log, int(place), body["count"], is_full=False)

    def _page(self, log: list[tuple[str, dict[str, Any]]], start: int, count: int, *, is_full: bool) -> Reply:
        end = min(start + count, len(log))
        has_more = end < len(log)
        place = f"full-{end}" if is_full and has_more else str(len(self.log) if is_full else end)
        found: dict[str, Any] = {"added": [], "modified": [], "removed": []}
        for kind, row in log[start:end]:
            found[kind].append(row)
        return Reply.of(
            {
                **found,
                "accounts": self.accounts,
                "next_cursor": f"{self.epoch}:{place}",
                "has_more": has_more,
                "request_id": "r1",
                "transactions_update_status": self.status,
            }
        )

    def _now(self) -> list[tuple[str, dict[str, Any]]]:
        rows: dict[str, dict[str, Any]] = {}
        for kind, row in self.log:
            rows.pop(row["transaction_id"], None)
            if kind != "removed":
                rows[row["transaction_id"]] = row
        return [("added", row) for row in rows.values()]

    def _item(self) -> dict[str, Any]:
        item = {"item_id": "item-1", "webhook": None, "error": None, "available_products": [], "billed_products": []}
        item |= {"consent_expiration_time": None, "update_type": "background", **self.item}
        return {"item": item, "status": {"last_webhook": self.webhook}, "request_id": "r1"}

    def _link(self) -> dict[str, Any]:
        added = [{"public_token": self.public_token, "accounts": [], "institution": None}] if self.public_token else []
        others = ("cra_item_add", "cra_update", "bank_income", "payroll_income")
        results = {"item_add_results": added, **{f"{each}_results": [] for each in others}}
        session = {"link_session_id": "s1", "results": {**results, "document_income_results": None}}
        meta = {"initial_products": ["transactions"], "webhook": None, "country_codes": ["US"], "language": "en"}
        meta |= {"redirect_uri": None, "client_name": "Forewatch"}
        return {
            "link_token": "link-1",
            "created_at": "2026-03-02T08:00:00Z",
            "expiration": "2026-03-02T12:00:00Z",
            "link_sessions": [session],
            "metadata": meta,
            "request_id": "r1",
        }

    def check(self, asked: Asked, reply: Reply) -> list[str]:
        return [] if self.is_odd else violations(asked, reply)


class PlaidSource:
    """The first item is pending; a change edits its name. ``remove`` takes the oldest away, but for one from long ago,
    for what is older than all that Plaid lists is not gone by that."""

    def __init__(self) -> None:
        self.fake = FakePlaid()
        self.fake.start()
        self.config = PlaidConfig(url=self.fake.url)
        self.key = Key(dict(SECRETS))
        self.rows: list[dict[str, Any]] = []
        self.made = 0
        self.fake.put("added", transaction("tx0", 0.5, "Shop 0", START.date() - timedelta(days=60)))

    def add(self) -> None:
        self.made += 1
        day = START.date() - timedelta(days=40 - self.made)
        row = transaction(f"tx{self.made}", self.made + 0.5, f"Shop {self.made}", day, pending=self.made % 3 == 1)
        self.rows.append(row)
        self.fake.put("added", row)

    def change(self) -> None:
        self.rows[0]["merchant_name"] += " Lisboa"
        self.fake.put("modified", self.rows[0])

    def remove(self) -> None:
        self.fake.remove(self.rows.pop(0))

    def poison(self) -> None:
        self.fake.is_odd = True
        self.fake.put("added", transaction("odd", 1.0, "Odd", iso_currency_code=None))

    def breakages(self) -> Mapping[str, Callable[[], None]]:
        return {
            "down": self.fake.stop,
            "html": lambda: self.fake.arm("html"),
            "revoked": lambda: self.fake.script.append(refusal("ITEM_LOGIN_REQUIRED")),
            "truncated": self._truncate,
            "empty": self._lose_everything,
        }

    def _truncate(self) -> None:
        self.fake.is_odd = True
        self.fake.script.append(Reply.of({"added": [], "modified": [], "removed": [], "accounts": []}))

    def _lose_everything(self) -> None:
        self.fake.epoch += 1
        self.fake.log.clear()

    def fingerprint(self) -> Json:
        found: Json = copy.deepcopy([list(each) for each in self.fake.log])
        return found

    def faults(self) -> Mapping[str, Callable[[int], None]]:
        return {**self.fake.faults(), "mutated": self._mutate}

    def _mutate(self, after: int) -> None:
        self.fake.mutate_after = after

    def heal(self) -> None:
        self.fake.heal()
        self.fake.mutate_after = None

    def lose_cursors(self) -> None:
        self.fake.epoch += 1

    def close(self) -> None:
        self.fake.stop()
        assert self.fake.violations == []
