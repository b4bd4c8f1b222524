"""The summary of a preview: plain JSON for people and scripts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from extractors.bank.row import Row, Statement, total
from extractors.bankfile.parsed import Parsed
from extractors.bankfile.questions import DATE_ORDER
from extractors.connector import Question
from schemas.money import Money


def summary(
    parsed: Sequence[Parsed],
    questions: Sequence[Question],
    warnings: Sequence[str],
    *,
    is_rejected: bool,
    adds: Sequence[int],
) -> dict[str, Any]:
    """Amounts are text in the digits of their currency. ``opening``, ``closing``, ``balance`` and ``sum`` only where
    all is one account in one currency; each account's own are in ``accounts``.

    ``sum`` is that of the booked rows. ``reimport_adds``: what reading the same again would add.
    """
    statements = [statement for each in parsed for statement in each.statements or each.drafts]
    rows = [row for statement in statements for row in statement.rows]
    accounts = _accounts(statements)
    only = accounts[0] if len(accounts) == 1 else {}
    return {
        "result": _result(questions, bool(statements), is_rejected),
        "question": questions[0].code if questions else None,
        "transactions_if": _transactions_if(questions),
        "formats": sorted({each.format for each in parsed}),
        "statements": len(statements),
        "accounts": accounts,
        "transactions": [transaction(row) for row in rows],
        "transactions_count": len(rows),
        "sum": only.get("sum"),
        "opening": only.get("opening"),
        "closing": only.get("closing"),
        "balance": only.get("balance"),
        "consistent": _consistent(statements),
        "reimport_adds": sum(adds),
        "warnings": list(warnings),
    }


def _result(questions: Sequence[Question], has_statements: bool, is_rejected: bool) -> str:
    if questions:
        return "needs_input"
    return "rejected" if is_rejected and not has_statements else "ok"


def _transactions_if(questions: Sequence[Question]) -> dict[str, Any] | None:
    return next((dict(question.choices) for question in questions if question.code == DATE_ORDER), None)


def _accounts(statements: Sequence[Statement]) -> list[dict[str, Any]]:
    grouped: dict[tuple[str, str], list[Statement]] = {}
    for statement in statements:
        grouped.setdefault((statement.account, statement.currency), []).append(statement)
    return [_account(*key, group) for key, group in grouped.items()]


def _account(account: str, currency: str, statements: Sequence[Statement]) -> dict[str, Any]:
    """First opening and last closing of the account's statements, which files hold oldest first."""
    booked = [row for statement in statements for row in statement.booked]
    balances = [statement.balance for statement in statements if statement.balance is not None]
    newest = max(balances, key=lambda balance: balance.as_of, default=None)
    one_currency = all(row.amount.currency == currency for row in booked)
    return {
        "account": account,
        "currency": currency,
        "transactions_count": sum(len(statement.rows) for statement in statements),
        "sum": _text(Money.of(total(booked), currency)) if currency and one_currency else None,
        "opening": _text(statements[0].opening),
        "closing": _text(statements[-1].closing),
        "balance": {"amount": _text(newest.amount), "as_of": newest.as_of.isoformat()} if newest else None,
        "consistent": _consistent(statements),
    }


def _consistent(statements: Sequence[Statement]) -> bool | None:
    """False if any statement is not, None if any cannot tell."""
    told = [statement.consistent for statement in statements]
    if False in told:
        return False
    return True if told and None not in told else None


def transaction(row: Row) -> dict[str, Any]:
    """``name`` and ``memo`` are what OFX calls counterparty and purpose."""
    return {
        "amount": _text(row.amount),
        "currency": None if row.amount.currency == "XXX" else row.amount.currency,
        "booked": row.booked_on.isoformat(),
        "value": row.value_on.isoformat() if row.value_on else None,
        "id": row.native_id,
        "name": row.counterparty,
        "memo": row.purpose,
        "counterparty": row.counterparty,
        "counterparty_iban": row.counterparty_iban,
        "purpose": row.purpose,
        "end_to_end_id": row.end_to_end_id,
        "mandate_id": row.mandate_id,
        "reversal": row.reversal,
        "pending": row.pending,
        "original_amount": _text(row.original),
        "original_currency": row.original.currency if row.original else None,
        "account": row.account,
    }


def _text(money: Money | None) -> str | None:
    return None if money is None else f"{money.amount:f}"
