"""An account set as the SimpleFIN server sends it: accounts, and what it says went wrong, of versions 1 and 2."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from extractors.text import one_line
from schemas.errors import TransientError

MAX_ACCOUNTS = 200
MAX_ROWS = 50_000
_SAID = 200
_LOGIN = re.compile(r"re-?auth|log ?in|sign ?in|credential|password|authenticat", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Fault:
    """What the server says went wrong, for people, with the place that it concerns (empty: everything)."""

    text: str
    code: str = ""
    account: str = ""
    connection: str = ""

    @property
    def needs_login(self) -> bool:
        return self.code.endswith(".auth") or (not self.code and bool(_LOGIN.search(self.text)))


@dataclass(frozen=True, slots=True)
class Account:
    """``label`` is the server's id; where two accounts share one, together with the bank's."""

    label: str
    name: str
    raw: Mapping[str, Any]
    is_whole: bool = True


@dataclass(frozen=True, slots=True)
class AccountSet:
    accounts: Sequence[Account]
    faults: Sequence[Fault]


def account_set(document: Mapping[str, Any]) -> AccountSet:
    """TransientError for what is no account set: it says nothing about the accounts."""
    listed = document.get("accounts")
    if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
        raise TransientError("the SimpleFIN server does not answer with a list of accounts")
    if len(listed) > MAX_ACCOUNTS or sum(len(_rows(each)) for each in listed) > MAX_ROWS:
        raise TransientError(f"the SimpleFIN server lists more than {MAX_ACCOUNTS} accounts or {MAX_ROWS} rows")
    faults = _faults(document)
    ids = Counter(_text(each, "id") for each in listed)
    return AccountSet([_account(each, faults, ids) for each in listed], faults)


def _account(raw: Mapping[str, Any], faults: Sequence[Fault], ids: Counter[str]) -> Account:
    key = _text(raw, "id")
    org = raw.get("org") if isinstance(raw.get("org"), dict) else {}
    bank = _text(raw, "conn_id") or _text(org or {}, "id") or _text(org or {}, "domain") or _text(org or {}, "name")
    concerned = [f for f in faults if not (f.account or f.connection) or key == f.account or bank == f.connection]
    name = one_line(_text(raw, "name") or key, 80)
    return Account(f"{bank}/{key}" if ids[key] > 1 else key, name, raw, is_whole=not concerned)


def _faults(document: Mapping[str, Any]) -> list[Fault]:
    """Version 2 lists objects with codes, version 1 texts only; a server may send both for one fault."""
    listed = document.get("errlist")
    if isinstance(listed, list) and listed:
        return [_fault(each) for each in listed[:MAX_ACCOUNTS]]
    texts = document.get("errors")
    return [Fault(one_line(str(each), _SAID)) for each in texts[:MAX_ACCOUNTS]] if isinstance(texts, list) else []


def _fault(raw: Any) -> Fault:
    if not isinstance(raw, dict):
        return Fault(one_line(str(raw), _SAID))
    said = _text(raw, "msg") or _text(raw, "message") or _text(raw, "code")
    return Fault(one_line(said, _SAID), _text(raw, "code"), _text(raw, "account_id"), _text(raw, "conn_id"))


def _rows(account: Mapping[str, Any]) -> list[Any]:
    rows = account.get("transactions")
    return rows if isinstance(rows, list) else []


def _text(raw: Mapping[str, Any], name: str) -> str:
    found = raw.get(name)
    return str(found)[:300] if isinstance(found, str | int) and not isinstance(found, bool) else ""
