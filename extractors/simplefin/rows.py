"""Accounts and transactions of SimpleFIN as listings of bank rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any

from pydantic import ValidationError

from extractors.bank.amounts import money
from extractors.bank.row import Balance, Row, name, purpose
from extractors.connector import Rejected
from extractors.simplefin.answer import Account

DayOf = Callable[[str, str], date | None]
"""Account and id to the day under which a pending row without any day is known."""


@dataclass(slots=True)
class Read:
    rows: list[Row] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    balance: Balance | None = None


def is_money(account: Account) -> bool:
    """False for miles and points, whose currency is a web address."""
    currency = account.raw.get("currency")
    return isinstance(currency, str) and len(currency.strip()) == 3


def read(account: Account, today: date, day_of: DayOf, *, is_turned: bool) -> Read:
    """``today`` stands in for the day of a pending row that has none and is not known."""
    found = Read()
    listed = account.raw.get("transactions")
    for raw in listed if isinstance(listed, list) else []:
        key = raw.get("id") if isinstance(raw, dict) else None
        try:
            found.rows.append(_row(raw, account, today, day_of, is_turned=is_turned))
        except (ValueError, TypeError, OverflowError, OSError) as error:
            where = f"{account.name}: transaction {str(key)[:80]}"
            found.rejected.append(Rejected(where, "malformed", _why(error), json.dumps(raw).encode()[:500]))
            if isinstance(key, str):
                found.unreadable.append(name(key))
    try:
        found.balance = _balance(account, is_turned=is_turned)
    except (ValueError, TypeError, OverflowError, OSError) as error:
        raw_balance = json.dumps([account.raw.get("balance"), account.raw.get("balance-date")]).encode()[:500]
        found.rejected.append(Rejected(f"{account.name}: balance", "malformed", _why(error), raw_balance))
    return found


def _row(raw: Any, account: Account, today: date, day_of: DayOf, *, is_turned: bool) -> Row:
    if not isinstance(raw, dict):
        raise ValueError("a transaction is no object")
    key = raw.get("id")
    if not isinstance(key, str | int) or isinstance(key, bool) or not str(key).strip():
        raise ValueError("a transaction has no id")
    native_id = name(str(key))
    posted, transacted = _day(raw.get("posted")), _day(raw.get("transacted_at"))
    pending = raw.get("pending") is True or posted is None
    day = (transacted or posted or day_of(account.label, native_id) or today) if pending else posted
    amount = money(raw.get("amount", ""), str(account.raw.get("currency", "")))
    payee, description, memo = (name(_text(raw, each)) for each in ("payee", "description", "memo"))
    return Row.model_validate(
        {
            "account": account.label,
            "booked_on": day,
            "amount": -amount if is_turned else amount,
            "counterparty": payee or description,
            "purpose": purpose(" ".join(_apart(payee or description, description, memo))),
            "native_id": native_id,
            "pending": pending,
        }
    )


def _apart(taken: str, *texts: str) -> Sequence[str]:
    """What says something beside the name."""
    return list(dict.fromkeys(text for text in texts if text and text != taken))


def _day(stamp: Any) -> date | None:
    """Banks name days, and servers put them at midnight or noon UTC. 0 means that there is none."""
    if stamp is None or stamp == 0:
        return None
    if isinstance(stamp, bool) or not isinstance(stamp, int | float):
        raise ValueError(f"not a time: {str(stamp)[:40]!r}")
    return datetime.fromtimestamp(stamp, UTC).date()


def _balance(account: Account, *, is_turned: bool) -> Balance | None:
    day = _day(account.raw.get("balance-date"))
    if day is None or "balance" not in account.raw:
        return None
    amount = money(account.raw["balance"], str(account.raw.get("currency", "")))
    return Balance(account=account.label, as_of=day, amount=-amount if is_turned else amount)


def _text(raw: Mapping[str, Any], key: str) -> str:
    found = raw.get(key)
    return found if isinstance(found, str) else ""


def _why(error: Exception) -> str:
    if isinstance(error, ValidationError):
        fault = error.errors()[0]
        return f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}"[:200]
    return str(error)[:200] or type(error).__name__
