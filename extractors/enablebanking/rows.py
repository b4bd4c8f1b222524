"""Enable Banking's transactions and balances as rows and a balance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Any

from extractors.bank.iban import iban
from extractors.bank.row import Balance, Row, name, purpose, reference
from schemas.money import Money

_PENDING = frozenset({"PDNG", "HOLD"})
_NEVER = frozenset({"CNCL", "RJCT", "SCHD"})
"""Cancelled, rejected, or planned for later: nothing moved."""
_BALANCES = ("ITBD", "CLBD", "PRCD", "XPCD", "ITAV", "CLAV", "VALU", "INFO", "OTHR")
"""Booked ones first: they are what the booked rows lead to."""
_CLOSING = frozenset({"CLBD", "PRCD"})


def row(given: Mapping[str, Any], account: str) -> Row | None:
    """None for what never moved money. ValueError (pydantic's too) or LookupError for what is no transaction.

    The indicator decides the sign: some banks write a minus as well, some do not. A status that says nothing is read
    from whether the bank gives a booking date.
    """
    status = str(given.get("status") or "OTHR")
    if status in _NEVER:
        return None
    booking = given.get("booking_date")
    is_pending = status in _PENDING or (status != "BOOK" and not booking)
    days = (booking, given.get("value_date"), given.get("transaction_date"))
    if is_pending:
        days = (given.get("transaction_date"), given.get("value_date"), booking)
    day = next((date.fromisoformat(each[:10]) for each in days if each), None)
    if day is None:
        raise ValueError("the transaction has no date")
    is_debit = _is_debit(given)
    other, side = ("creditor", -1) if is_debit else ("debtor", 1)
    return Row(
        account=account,
        booked_on=day,
        value_on=given.get("value_date") or None,
        amount=_signed(given["transaction_amount"], side),
        original=_original(given, side),
        counterparty=name(_part(given, other).get("name")),
        counterparty_iban=iban(_part(given, f"{other}_account").get("iban")),
        purpose=purpose(_purpose(given)),
        booking_text=name(_part(given, "bank_transaction_code").get("description")),
        native_id=reference(given.get("entry_reference")) or "",
        mandate_id=_mandate(given),
        pending=is_pending,
    )


def balance(given: Sequence[Any], account: str, today: date) -> tuple[Balance | None, bool]:
    """What the account holds, from the most telling of its balances, and whether that closes a day."""
    known = [each for each in given if isinstance(each, Mapping) and each.get("balance_type") in _BALANCES]
    for each in sorted(known, key=lambda one: _BALANCES.index(one["balance_type"])):
        try:
            day = str(each.get("reference_date") or each.get("last_change_date_time") or today.isoformat())
            amount = _amount(each["balance_amount"])
            as_of = min(date.fromisoformat(day[:10]), today)
            return Balance(account=account, as_of=as_of, amount=amount), each["balance_type"] in _CLOSING
        except (LookupError, TypeError, ValueError):
            continue
    return None, False


def _is_debit(given: Mapping[str, Any]) -> bool:
    indicator = given["credit_debit_indicator"]
    if indicator not in ("DBIT", "CRDT"):
        raise ValueError(f"no such direction: {indicator!r}")
    return bool(indicator == "DBIT")


def _amount(given: Mapping[str, Any]) -> Money:
    try:
        return Money.of(Decimal(str(given["amount"]).strip()), given["currency"])
    except InvalidOperation as error:
        raise ValueError(f"not an amount: {str(given['amount'])[:40]!r}") from error


def _signed(given: Mapping[str, Any], side: int) -> Money:
    amount = _amount(given)
    return Money.of(abs(amount.amount) * side, amount.currency)


def _original(given: Mapping[str, Any], side: int) -> Money | None:
    """The price in the currency of the purchase, where that is another one."""
    instructed = _part(given, "exchange_rate").get("instructed_amount")
    if not isinstance(instructed, Mapping) or instructed.get("currency") == given["transaction_amount"].get("currency"):
        return None
    return _signed(instructed, side)


def _purpose(given: Mapping[str, Any]) -> str:
    lines = given.get("remittance_information") or []
    text = " ".join(line for line in lines if isinstance(line, str)) if isinstance(lines, list) else str(lines)
    number = given.get("reference_number")
    return text if not isinstance(number, str) or number in text else f"{text} {number}"


def _mandate(given: Mapping[str, Any]) -> str | None:
    is_mandate = given.get("reference_number_schema") == "SDDM"
    return reference(given.get("reference_number")) if is_mandate else None


def _part(given: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = given.get(key)
    return found if isinstance(found, Mapping) else {}
