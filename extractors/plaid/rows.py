"""Plaid's transactions and balances as bank rows: Plaid writes what goes out as positive, we as negative."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any

from pydantic import ValidationError

from extractors.bank.amounts import money
from extractors.bank.listing import Listed
from extractors.bank.row import Balance, Row, name, purpose
from extractors.connector import Rejected

_OWED = frozenset(["credit", "loan"])
"""Accounts whose balance is what the person owes."""


def listed(raw: Mapping[str, Any], label: str, *, is_turned: bool = False) -> Listed:
    """ValueError or its kin for a transaction that cannot be read. ``label`` is the account's."""
    amount = money(raw.get("amount", ""), _currency(raw))
    pending = raw.get("pending") is True
    who = name(_text(raw, "merchant_name") or _text(raw, "name"))
    said = dict.fromkeys(name(_text(raw, each)) for each in ("original_description", "name"))
    day = (_text(raw, "authorized_date") or _text(raw, "date")) if pending else _text(raw, "date")
    meta = raw.get("payment_meta")
    row = Row(
        account=label,
        booked_on=date.fromisoformat(day),
        amount=amount if is_turned else -amount,
        counterparty=who,
        purpose=purpose(" ".join(text for text in said if text and text != who)),
        end_to_end_id=(name(_text(meta, "reference_number")) or None) if isinstance(meta, dict) else None,
        native_id=name(_text(raw, "transaction_id")),
        pending=pending,
    )
    return Listed(row, "" if pending else _text(raw, "pending_transaction_id"))


def balance(account: Mapping[str, Any], label: str, today: date, *, is_turned: bool = False) -> Balance | None:
    """What the account holds, negative for what is owed; None where the bank does not say."""
    balances = account.get("balances")
    if not isinstance(balances, dict) or balances.get("current") is None:
        return None
    amount = money(balances["current"], _currency(balances))
    is_owed = (account.get("type") in _OWED) != is_turned
    updated = _text(balances, "last_updated_datetime")
    as_of = datetime.fromisoformat(updated).astimezone(UTC).date() if updated else today
    return Balance(account=label, as_of=as_of, amount=-amount if is_owed else amount)


def rejected(raw: Any, error: Exception | None = None) -> Rejected:
    key = raw.get("transaction_id") if isinstance(raw, dict) else None
    reason = "no transaction that can be named"
    if isinstance(error, ValidationError):
        fault = error.errors()[0]
        reason = f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}"
    elif error is not None:
        reason = str(error) or type(error).__name__
    return Rejected(f"transaction {str(key)[:80]}", "malformed", reason[:200], json.dumps(raw).encode()[:500])


def _currency(raw: Mapping[str, Any]) -> str:
    return _text(raw, "iso_currency_code") or _text(raw, "unofficial_currency_code")


def _text(raw: Mapping[str, Any], key: str) -> str:
    found = raw.get(key)
    return found if isinstance(found, str) else ""
