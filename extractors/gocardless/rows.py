"""Transactions and balances in the Berlin Group's form, as GoCardless hands them on, as rows and a balance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Any

from extractors.bank.iban import iban
from extractors.bank.row import Balance, Row, name, purpose, reference
from schemas.money import Money

_BALANCES = (
    "interimBooked", "closingBooked", "expected", "interimAvailable", "forwardAvailable", "openingBooked",
    "nonInvoiced", "authorised", "information",
)  # fmt: skip
_CLOSING = frozenset({"closingBooked"})


def row(given: Mapping[str, Any], account: str, *, pending: bool) -> Row:
    """ValueError (pydantic's too) or LookupError for what is no transaction. Amounts are signed as ours are."""
    amount = _amount(given["transactionAmount"])
    booking, value = _day(given, "bookingDate"), _day(given, "valueDate")
    day = (value or booking) if pending else (booking or value)
    if day is None:
        raise ValueError("the transaction has no date")
    other = "creditor" if amount.amount < 0 else "debtor"
    return Row(
        account=account,
        booked_on=day,
        value_on=value,
        amount=amount,
        original=_original(given, amount),
        counterparty=name(_text(given, f"{other}Name")),
        counterparty_iban=iban(_part(given.get(f"{other}Account")).get("iban")),
        purpose=purpose(_purpose(given)),
        booking_text=name(_text(given, "proprietaryBankTransactionCode")),
        native_id=next((found for each in _IDS if (found := reference(_text(given, each)))), ""),
        end_to_end_id=reference(_text(given, "endToEndId")),
        mandate_id=reference(_text(given, "mandateId")),
        creditor_id=reference(_text(given, "creditorId")),
        pending=pending,
    )


_IDS = ("transactionId", "entryReference", "internalTransactionId")
"""The bank's own before the one that GoCardless makes."""


def balance(given: Sequence[Any], account: str, today: date) -> tuple[Balance | None, bool]:
    """What the account holds, from the most telling of its balances, and whether that closes a day."""
    known = [each for each in given if isinstance(each, Mapping) and each.get("balanceType") in _BALANCES]
    for each in sorted(known, key=lambda one: _BALANCES.index(one["balanceType"])):
        try:
            day = str(each.get("referenceDate") or each.get("lastChangeDateTime") or today.isoformat())
            as_of = min(date.fromisoformat(day[:10]), today)
            amount = _amount(each["balanceAmount"])
            return Balance(account=account, as_of=as_of, amount=amount), each["balanceType"] in _CLOSING
        except (LookupError, TypeError, ValueError):
            continue
    return None, False


def _amount(given: Mapping[str, Any]) -> Money:
    try:
        return Money.of(Decimal(str(given["amount"]).strip()), given["currency"])
    except InvalidOperation as error:
        raise ValueError(f"not an amount: {str(given['amount'])[:40]!r}") from error


def _original(given: Mapping[str, Any], amount: Money) -> Money | None:
    """The price in the currency of the purchase; banks give one exchange or a list of them."""
    exchange = given.get("currencyExchange")
    first = exchange[0] if isinstance(exchange, list) and exchange else exchange
    instructed = _part(_part(first).get("instructedAmount"))
    try:
        found = _amount(instructed)
    except (LookupError, TypeError, ValueError):
        return None
    if found.currency == amount.currency:
        return None
    return Money.of(abs(found.amount) * (-1 if amount.amount < 0 else 1), found.currency)


def _purpose(given: Mapping[str, Any]) -> str:
    """The free text; where there is none the structured reference, else what else the bank says."""
    free = (_joined(given, f"remittanceInformationUnstructured{each}") for each in ("Array", ""))
    structured = (_joined(given, f"remittanceInformationStructured{each}") for each in ("", "Array"))
    return max(free, key=len) or next(filter(None, structured), "") or _text(given, "additionalInformation")


def _joined(given: Mapping[str, Any], field: str) -> str:
    """A text, a reference with its kind beside, or a list of either: versions of the standard differ."""
    found = given.get(field)
    parts = found if isinstance(found, list) else [found]
    texts = (each.get("reference") if isinstance(each, Mapping) else each for each in parts[:50])
    return " ".join(text for text in texts if isinstance(text, str))


def _day(given: Mapping[str, Any], field: str) -> date | None:
    text = given.get(field) or given.get(f"{field}Time")
    return date.fromisoformat(str(text)[:10]) if text else None


def _text(given: Mapping[str, Any], field: str) -> str:
    found = given.get(field)
    return found if isinstance(found, str) else ""


def _part(found: Any) -> Mapping[str, Any]:
    return found if isinstance(found, Mapping) else {}
