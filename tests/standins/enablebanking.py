"""Enable Banking on this machine: one bank with accounts, consents that end, and every exchange held to the contract.

Its clock is the one in the tokens that it is sent, so a test that polls on another day is on that day here too.
"""

from __future__ import annotations

import base64
import json
import uuid
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import cache
from typing import Any
from urllib.parse import urlencode

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from extractors.enablebanking.config import EnableBankingConfig
from extractors.testing.standin import Asked, Reply, StandIn
from tests.standins.enablebanking_contract import CONTRACT

APPLICATION = "cf589be3-3755-465b-a8df-a90a16a31403"
REDIRECT = "http://127.0.0.1:8765/"
_SPACE = uuid.UUID("0f6b5d0e-6f5a-4a53-9e53-a5a3c1f3f001")


@cache
def _private_key() -> RSAPrivateKey:
    return generate_private_key(65537, 2048)


@cache
def pem() -> str:
    return _private_key().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


class Refused(Exception):
    def __init__(self, status: int, error: str) -> None:
        super().__init__(error)
        self.reply = Reply.of({"message": error.replace("_", " ").lower(), "code": status, "error": error}, status)


@dataclass
class Session:
    id: str
    valid_until: datetime
    status: str = "AUTHORIZED"
    refs: dict[str, str] = field(default_factory=dict)
    """uid to account."""


@dataclass
class Account:
    iban: str
    rows: list[dict[str, Any]] = field(default_factory=list)
    balances: list[dict[str, Any]] = field(default_factory=list)
    currency: str = "EUR"
    blocked: bool = False


class EnableBankingStandIn(StandIn):
    """``page_rows`` a page, the first one empty; rows newest first. ``reads_a_day``: what the bank allows without the
    person; ``demands_psu``: it wants the headers of the person's browser; ``reaches``: days that it goes back."""

    def __init__(self, page_rows: int = 3) -> None:
        super().__init__()
        self.page_rows = page_rows
        self.accounts: dict[str, Account] = {}
        self.sessions: dict[str, Session] = {}
        self.codes: dict[str, dict[str, Any]] = {}
        self.reads: dict[str, list[datetime]] = {}
        self.reads_a_day = 10_000
        self.demands_psu = False
        self.reaches = 10_000
        self.longest = timedelta(days=180)
        self.salt = 0
        self.now = datetime(2026, 3, 2, 8, tzinfo=UTC)

    # what a test does

    def open(self, iban: str) -> Account:
        account = self.accounts[_hash(iban)] = Account(iban)
        return account

    def consent(self, until: datetime) -> Session:
        """A consent for all accounts; the refs of each are new."""
        number = len(self.sessions)
        session = Session(_uuid("session", number), until)
        session.refs = {_uuid("account", number, key): key for key in self.accounts}
        self.sessions[session.id] = session
        return session

    def config(self, **settings: Any) -> EnableBankingConfig:
        return EnableBankingConfig.model_validate(
            {"bank": "Testbank", "country": "DE", "url": self.url, "allow_private": True, **settings}
        )

    def secrets(self, session: Session | None = None) -> dict[str, str]:
        found = {"application": APPLICATION, "key": pem()}
        return found if session is None else {**found, "session": json.dumps(self._kept(session))}

    def _kept(self, session: Session) -> dict[str, Any]:
        accounts = [
            {"key": key, "ref": ref, "number": self.accounts[key].iban, "currency": self.accounts[key].currency}
            for ref, key in session.refs.items()
        ]
        return {"id": session.id, "valid_until": session.valid_until.isoformat(), "accounts": accounts}

    def landed(self, url: str, **query: str) -> str:
        """Where the person lands after saying yes at ``url``; with ``error``, after saying no."""
        state = url.rpartition("state=")[2]
        answer = query or {"code": next(code for code, asked in self.codes.items() if asked["state"] == state)}
        return f"{REDIRECT}?{urlencode({**answer, 'state': state})}"

    # what it answers

    def check(self, asked: Asked, reply: Reply) -> list[str]:
        return CONTRACT.violations(asked, reply)

    def answer(self, asked: Asked) -> Reply:
        try:
            self._authorise(asked)
            return Reply.of(self._answer(asked))
        except Refused as refused:
            return refused.reply

    def _authorise(self, asked: Asked) -> None:
        scheme, _, token = asked.headers.get("authorization", "").partition(" ")
        if scheme != "Bearer":
            raise Refused(401, "AUTHORIZATION_NOT_PROVIDED")
        content, _, signature = token.rpartition(".")
        head, claims = (json.loads(_decoded(part)) for part in content.split("."))
        try:
            _private_key().public_key().verify(_decoded(signature), content.encode(), PKCS1v15(), SHA256())
        except InvalidSignature as error:
            raise Refused(401, "UNAUTHORIZED_ACCESS") from error
        expected = {"typ": "JWT", "alg": "RS256", "kid": APPLICATION}
        names = claims["iss"] == "enablebanking.com" and claims["aud"] == "api.enablebanking.com"
        if head != expected or not names or not 0 < claims["exp"] - claims["iat"] <= 86_400:
            raise Refused(401, "UNAUTHORIZED_ACCESS")
        self.now = datetime.fromtimestamp(claims["iat"], UTC)

    def _answer(self, asked: Asked) -> Any:
        match asked.path.strip("/").split("/"):
            case ["aspsps"]:
                return {"aspsps": [self._bank(name) for name in ("Testbank", "Testbank Direkt", "Volksbank")]}
            case ["auth"]:
                return self._start(asked.json())
            case ["sessions"]:
                return self._finish(asked.json())
            case ["sessions", session]:
                return self._session(session) if asked.method == "GET" else self._close(session)
            case ["accounts", ref, "balances"]:
                return {"balances": self._read(ref, asked, "balances").balances}
            case ["accounts", ref, "transactions"]:
                return self._transactions(ref, asked)
        raise Refused(404, "ACCESS_DENIED")

    def _bank(self, name: str) -> dict[str, Any]:
        return {
            "name": name,
            "country": "DE",
            "logo": "",
            "psu_types": ["personal"],
            "auth_methods": [],
            "maximum_consent_validity": int(self.longest.total_seconds()),
            "beta": False,
            "required_psu_headers": None,
        }

    def _start(self, body: dict[str, Any]) -> Any:
        until = datetime.fromisoformat(body["access"]["valid_until"])
        if body["aspsp"]["name"] != "Testbank":
            raise Refused(422, "WRONG_ASPSP_PROVIDED")
        if body["redirect_url"] != REDIRECT:
            raise Refused(422, "REDIRECT_URI_NOT_ALLOWED")
        if until > self.now + self.longest:
            raise Refused(422, "WRONG_REQUEST_PARAMETERS")
        self.codes[f"code-{len(self.codes)}"] = {"state": body["state"], "until": until}
        url = f"https://bank.example/welcome?state={body['state']}"
        return {"url": url, "authorization_id": _uuid("auth", len(self.codes)), "psu_id_hash": "x"}

    def _finish(self, body: dict[str, Any]) -> Any:
        asked = self.codes.get(body["code"])
        if asked is None:
            raise Refused(422, "WRONG_AUTHORIZATION_CODE")
        if asked.get("used"):
            raise Refused(422, "ALREADY_AUTHORIZED")
        asked["used"] = True
        session = self.consent(asked["until"])
        return {
            "session_id": session.id,
            "accounts": [self._resource(ref, key) for ref, key in session.refs.items()],
            "aspsp": {"name": "Testbank", "country": "DE"},
            "psu_type": "personal",
            "access": {"valid_until": session.valid_until.isoformat()},
        }

    def _resource(self, ref: str, key: str) -> dict[str, Any]:
        account = self.accounts[key]
        return {
            "account_id": {"iban": account.iban, "other": None},
            "name": "Nora Example",
            "product": "Girokonto",
            "cash_account_type": "CACC",
            "currency": account.currency,
            "uid": None if account.blocked else ref,
            "identification_hash": key,
            "identification_hashes": [key],
        }

    def _session(self, session_id: str) -> Any:
        session = self.sessions.get(session_id)
        if session is None:
            raise Refused(404, "SESSION_DOES_NOT_EXIST")
        status = "EXPIRED" if self.now >= session.valid_until else session.status
        data = [{"uid": r, "identification_hash": k, "identification_hashes": [k]} for r, k in session.refs.items()]
        return {
            "status": status,
            "accounts": list(session.refs),
            "accounts_data": data,
            "aspsp": {"name": "Testbank", "country": "DE"},
            "psu_type": "personal",
            "psu_id_hash": "x",
            "access": {"valid_until": session.valid_until.isoformat()},
            "created": "2026-03-01T08:00:00+00:00",
        }

    def _close(self, session_id: str) -> Any:
        if session_id not in self.sessions:
            raise Refused(404, "SESSION_DOES_NOT_EXIST")
        self.sessions[session_id].status = "CLOSED"
        return {"message": "OK"}

    def _read(self, ref: str, asked: Asked, scope: str) -> Account:
        """The account, if it may be read now; a further page of a list counts as no further read."""
        session = next((each for each in self.sessions.values() if ref in each.refs), None)
        if session is None:
            raise Refused(404, "ACCOUNT_DOES_NOT_EXIST")
        if self.now >= session.valid_until:
            raise Refused(401, "EXPIRED_SESSION")
        if session.status != "AUTHORIZED":
            raise Refused(401, f"{session.status}_SESSION")
        account = self.accounts[session.refs[ref]]
        if account.blocked:
            raise Refused(400, "ASPSP_ACCOUNT_NOT_ACCESSIBLE")
        is_attended = "psu-ip-address" in asked.headers
        if self.demands_psu and not is_attended:
            raise Refused(422, "PSU_HEADER_NOT_PROVIDED")
        if not is_attended and "continuation_key" not in asked.query:
            self._count(f"{scope}:{session.refs[ref]}")
        return account

    def _count(self, name: str) -> None:
        recent = [at for at in self.reads.setdefault(name, []) if at > self.now - timedelta(days=1)]
        if len(recent) >= self.reads_a_day:
            raise Refused(429, "ASPSP_RATE_LIMIT_EXCEEDED")
        self.reads[name].append(self.now)

    def _transactions(self, ref: str, asked: Asked) -> Any:
        account = self._read(ref, asked, "transactions")
        since = asked.query["date_from"]
        if date.fromisoformat(since) < self.now.date() - timedelta(days=self.reaches):
            raise Refused(422, "WRONG_TRANSACTIONS_PERIOD")
        page = self._page(asked.query.get("continuation_key", ""))
        rows = sorted((row for row in account.rows if _day(row) >= since), key=_day, reverse=True)
        start = (page - 1) * self.page_rows
        found = rows[start : start + self.page_rows] if page else []
        is_last = start + self.page_rows >= len(rows)
        return {"transactions": found, "continuation_key": None if is_last and page else f"{self.salt}:{page + 1}"}

    def _page(self, key: str) -> int:
        if not key:
            return 0
        salt, _, page = key.partition(":")
        if salt != str(self.salt):
            raise Refused(422, "WRONG_CONTINUATION_KEY")
        return int(page)


def transaction(number: int, **changes: Any) -> dict[str, Any]:
    """A booked card payment, each a day later than the one before."""
    day = (date(2026, 2, 12) + timedelta(days=number)).isoformat()
    return {
        "entry_reference": f"ref-7{number:06d}",
        "transaction_amount": {"currency": "EUR", "amount": f"{10 + number}.50"},
        "creditor": {"name": f"Shop {number}"},
        "creditor_account": {"iban": "DE02120300000000202051"},
        "bank_transaction_code": {"description": "Kartenzahlung", "code": None, "sub_code": None},
        "credit_debit_indicator": "DBIT",
        "status": "BOOK",
        "booking_date": day,
        "value_date": day,
        "transaction_date": day,
        "remittance_information": [f"Purchase {number}", "Thank you"],
        **changes,
    }


def pending(number: int, **changes: Any) -> dict[str, Any]:
    return transaction(
        number, **{"status": "PDNG", "booking_date": None, "entry_reference": f"pre-9{number:05d}", **changes}
    )


def closing(day: date, amount: str) -> dict[str, Any]:
    return {
        "name": "Booked balance",
        "balance_amount": {"currency": "EUR", "amount": amount},
        "balance_type": "CLBD",
        "reference_date": day.isoformat(),
    }


def _day(row: dict[str, Any]) -> str:
    return str(row["booking_date"] or row["transaction_date"] or row["value_date"] or "9999")


def _hash(iban: str) -> str:
    return f"hash.{base64.urlsafe_b64encode(iban.encode()).decode()}"


def _uuid(*parts: object) -> str:
    return str(uuid.uuid5(_SPACE, "/".join(map(str, parts))))


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
