"""GoCardless Bank Account Data on this machine: one bank with accounts, consents that end, limits that are counted.

``now`` is its clock; a test moves it.
"""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from extractors.gocardless.config import GoCardlessConfig
from extractors.testing.standin import Asked, Reply, StandIn
from tests.standins.gocardless_contract import CONTRACT

BANK = "TESTBANK_TESTDEFF"
REDIRECT = "http://127.0.0.1:8765/"
SECRETS = {"secret_id": "id-1234", "secret_key": "key-5678"}
_SPACE = uuid.UUID("0f6b5d0e-6f5a-4a53-9e53-a5a3c1f3f002")
_COULD_NOT = "Couldn't update account transactions"
START = datetime(2026, 3, 2, 8, tzinfo=UTC)


class Refused(Exception):
    def __init__(self, status: int, summary: str, kind: str = "", **headers: str) -> None:
        super().__init__(summary)
        body = {"summary": summary, "detail": f"{kind or summary}.", "status_code": status}
        self.reply = Reply.of({**body, **({"type": kind} if kind else {})}, status, **headers)


@dataclass
class Account:
    iban: str
    booked: list[dict[str, Any]] = field(default_factory=list)
    pending: list[dict[str, Any]] = field(default_factory=list)
    balances: list[dict[str, Any]] = field(default_factory=list)
    status: str = "READY"


@dataclass
class Consent:
    """``accepted`` None: the person has not said yes."""

    institution: str
    days: int
    agreement: str
    reference: str = ""
    redirect: str = ""
    accepted: datetime | None = None
    status: str = "CR"
    refs: dict[str, str] = field(default_factory=dict)
    """Account id to IBAN."""


class GoCardlessStandIn(StandIn):
    """``reads_a_day``: successful reads by account and scope, as its headers tell."""

    def __init__(self) -> None:
        super().__init__()
        self.now = START
        self.accounts: dict[str, Account] = {}
        self.agreements: dict[str, dict[str, Any]] = {}
        self.consents: dict[str, Consent] = {}
        self.tokens: dict[str, datetime] = {}
        self.refreshers: dict[str, datetime] = {}
        self.reads: dict[str, list[datetime]] = {}
        self.reads_a_day = 10_000
        self.made = 0

    # what a test does

    def open(self, iban: str) -> Account:
        account = self.accounts[iban] = Account(iban)
        return account

    def consent(self, accepted: datetime, days: int = 90) -> str:
        """The id of a requisition that is in force."""
        agreement = self._agree({"institution_id": BANK, "access_valid_for_days": days})["id"]
        requisition = self._id("requisition", len(self.consents))
        self.consents[requisition] = Consent(BANK, days, agreement)
        self.accept(requisition, accepted)
        return requisition

    def accept(self, requisition: str, at: datetime) -> str:
        """The person says yes; where it lands."""
        consent = self.consents[requisition]
        consent.status, consent.accepted = "LN", at
        self.agreements[consent.agreement]["accepted"] = at.isoformat()
        consent.refs = {self._id("account", requisition, iban): iban for iban in self.accounts}
        return f"{consent.redirect}?{urlencode({'ref': consent.reference})}"

    def config(self, **settings: Any) -> GoCardlessConfig:
        return GoCardlessConfig.model_validate({"bank": BANK, "url": self.url, "allow_private": True, **settings})

    def secrets(self, requisition: str = "") -> dict[str, str]:
        if not requisition:
            return dict(SECRETS)
        consent = self.consents[requisition]
        accounts = [{"key": f"number:{iban}", "ref": ref, "number": iban} for ref, iban in consent.refs.items()]
        until = consent.accepted + timedelta(days=consent.days) if consent.accepted else None
        kept = {"id": requisition, "valid_until": until.isoformat() if until else None, "accounts": accounts}
        return {**SECRETS, "requisition": json.dumps(kept)}

    # what it answers

    def check(self, asked: Asked, reply: Reply) -> list[str]:
        return CONTRACT.violations(asked, reply)

    def answer(self, asked: Asked) -> Reply:
        try:
            return self._answer(asked)
        except Refused as refused:
            return refused.reply

    def _answer(self, asked: Asked) -> Reply:
        path = asked.path.removeprefix("/api/v2").strip("/").split("/")
        if path[0] == "token":
            return Reply.of(self._token(path[1], asked.json()))
        token = asked.headers.get("authorization", "").removeprefix("Bearer ")
        if self.tokens.get(token, datetime.min.replace(tzinfo=UTC)) <= self.now:
            raise Refused(401, "Invalid token")
        match path:
            case ["institutions"]:
                return Reply.of([self._institution(BANK, "Testbank"), self._institution("VOLKSBANK_X", "Volksbank")])
            case ["institutions", bank]:
                return Reply.of(self._institution(bank, "Testbank"))
            case ["agreements", "enduser"]:
                return Reply.of(self._agree(asked.json()), 201)
            case ["agreements", "enduser", agreement]:
                return Reply.of(self.agreements[agreement])
            case ["requisitions"]:
                return Reply.of(self._require(asked.json()), 201)
            case ["requisitions", requisition] if asked.method == "DELETE":
                self._requisition(requisition)
                self.consents[requisition].status = "GONE"
                return Reply.of({"summary": "Requisition deleted", "detail": "It and all its End User Agreements"})
            case ["requisitions", requisition]:
                return Reply.of(self._requisition(requisition))
            case ["accounts", ref]:
                return Reply.of(self._metadata(ref))
            case ["accounts", ref, "balances"]:
                account, headers = self._read(ref, "balances")
                return Reply.of({"balances": account.balances}, **headers)
            case ["accounts", ref, "transactions"]:
                account, headers = self._read(ref, "transactions")
                return Reply.of(self._transactions(account, asked.query["date_from"]), **headers)
        raise Refused(404, "Not found.")

    def _token(self, kind: str, body: dict[str, str]) -> dict[str, Any]:
        self.made += 1
        if kind == "refresh":
            if self.refreshers.get(body["refresh"], datetime.min.replace(tzinfo=UTC)) <= self.now:
                raise Refused(401, "Invalid token")
        elif body != SECRETS:
            raise Refused(401, "Authentication failed")
        access, refresh = f"access-{self.made}", f"refresh-{self.made}"
        self.tokens[access] = self.now + timedelta(seconds=86_400)
        answer: dict[str, Any] = {"access": access, "access_expires": 86_400}
        if kind == "refresh":
            return answer
        self.refreshers[refresh] = self.now + timedelta(seconds=2_592_000)
        return {**answer, "refresh": refresh, "refresh_expires": 2_592_000}

    def _institution(self, bank: str, name: str) -> dict[str, Any]:
        return {
            "id": bank,
            "name": name,
            "bic": "TESTDEFF",
            "transaction_total_days": "540",
            "max_access_valid_for_days": "180",
            "countries": ["DE"],
            "logo": "https://cdn.example/logo.png",
        }

    def _agree(self, body: dict[str, Any]) -> dict[str, Any]:
        agreement = {
            "id": self._id("agreement", len(self.agreements)),
            "created": self.now.isoformat(),
            "accepted": None,
            "max_historical_days": 90,
            "access_valid_for_days": 90,
            "access_scope": ["balances", "details", "transactions"],
            **body,
        }
        self.agreements[agreement["id"]] = agreement
        return agreement

    def _require(self, body: dict[str, Any]) -> dict[str, Any]:
        requisition = self._id("requisition", len(self.consents))
        days = self.agreements[body["agreement"]]["access_valid_for_days"]
        self.consents[requisition] = Consent(
            body["institution_id"], days, body["agreement"], body["reference"], body["redirect"]
        )
        return self._requisition(requisition)

    def _requisition(self, requisition: str) -> dict[str, Any]:
        if requisition not in self.consents:
            raise Refused(404, "Not found.")
        consent = self.consents[requisition]
        is_over = consent.accepted is not None and self.now >= consent.accepted + timedelta(days=consent.days)
        return {
            "id": requisition,
            "status": "EX" if is_over else consent.status,
            "accounts": list(consent.refs),
            "agreement": consent.agreement,
            "institution_id": consent.institution,
            "redirect": consent.redirect or REDIRECT,
            "reference": consent.reference,
            "link": f"https://bank.example/psd2/start/{requisition}",
        }

    def _metadata(self, ref: str) -> dict[str, Any]:
        consent = self._consent(ref)
        account = self.accounts[consent.refs[ref]]
        return {
            "id": ref,
            "created": START.isoformat(),
            "last_accessed": None,
            "iban": account.iban,
            "institution_id": BANK,
            "owner_name": "Nora Example",
            "status": account.status,
        }

    def _consent(self, ref: str) -> Consent:
        consent = next((each for each in self.consents.values() if ref in each.refs), None)
        if consent is None:
            raise Refused(404, f"Account ID {ref} not found")
        return consent

    def _read(self, ref: str, scope: str) -> tuple[Account, dict[str, str]]:
        consent = self._consent(ref)
        account = self.accounts[consent.refs[ref]]
        is_over = consent.accepted is None or self.now >= consent.accepted + timedelta(days=consent.days)
        if is_over or consent.status != "LN":
            raise Refused(401, _COULD_NOT, "AccessExpiredError")
        if account.status == "SUSPENDED":
            raise Refused(409, "Account suspended")
        return account, self._count(f"{scope}:{account.iban}")

    def _count(self, name: str) -> dict[str, str]:
        calls = self.reads.setdefault(name, [])
        recent = [at for at in calls if at > self.now - timedelta(days=1)]
        oldest = min(recent, default=self.now) + timedelta(days=1)
        headers = {
            "HTTP_X_RATELIMIT_ACCOUNT_SUCCESS_LIMIT": str(self.reads_a_day),
            "HTTP_X_RATELIMIT_ACCOUNT_SUCCESS_REMAINING": str(max(0, self.reads_a_day - len(recent) - 1)),
            "HTTP_X_RATELIMIT_ACCOUNT_SUCCESS_RESET": str(int((oldest - self.now).total_seconds())),
        }
        if len(recent) >= self.reads_a_day:
            raise Refused(429, _COULD_NOT, "RateLimitError", **headers)
        calls.append(self.now)
        return headers

    def _transactions(self, account: Account, since: str) -> dict[str, Any]:
        booked = [row for row in account.booked if row.get("bookingDate", "9999") >= since]
        waiting = [row for row in account.pending if row.get("valueDate", "9999") >= since]
        return {"transactions": {"booked": booked[::-1], "pending": waiting[::-1]}}

    def _id(self, *parts: object) -> str:
        return str(uuid.uuid5(_SPACE, "/".join(map(str, parts))))


def transaction(number: int, **changes: Any) -> dict[str, Any]:
    """A booked card payment, each a day later than the one before."""
    day = (date(2026, 2, 12) + timedelta(days=number)).isoformat()
    found = {
        "transactionId": f"ref-7{number:06d}",
        "internalTransactionId": f"internal-7{number:06d}",
        "bookingDate": day,
        "valueDate": day,
        "transactionAmount": {"amount": f"-{10 + number}.50", "currency": "EUR"},
        "creditorName": f"Shop {number}",
        "creditorAccount": {"iban": "DE02120300000000202051"},
        "remittanceInformationUnstructured": f"Purchase {number}",
        "proprietaryBankTransactionCode": "Kartenzahlung",
        **changes,
    }
    return {name: value for name, value in found.items() if value is not None}


def pending(number: int, **changes: Any) -> dict[str, Any]:
    none = {"bookingDate": None, "internalTransactionId": None}
    return transaction(number, **{**none, "transactionId": f"pre-9{number:05d}", **changes})


def closing(day: date, amount: str) -> dict[str, Any]:
    return {
        "balanceAmount": {"amount": amount, "currency": "EUR"},
        "balanceType": "closingBooked",
        "referenceDate": day.isoformat(),
    }
