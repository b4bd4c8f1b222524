"""The check that opening balance and booked rows give the closing balance, and what it can decide."""

from __future__ import annotations

from dataclasses import replace

from extractors.bank.row import Balance, Row, Statement, total

INCONSISTENT = "opening balance and rows do not add up to the closing balance"
FLIPPED = "reversals are written with the sign of what they reverse; the balances prove it"


def checked(statement: Statement) -> Statement:
    """The statement with ``consistent`` and ``balance`` set, and its reversals in the dialect that makes it so.

    By ISO 20022 and SWIFT a reversal already has its own direction; some banks keep the direction of what is reversed.
    Where only the second reading fits the balances, the reversals change their sign. Without both balances nothing is
    decided, and rows in another currency than the balances' make the sum meaningless.
    """
    consistent = _is_consistent(statement, statement.rows)
    if consistent is False and any(row.reversal for row in statement.booked):
        flipped = tuple(_flip(row) if row.reversal else row for row in statement.rows)
        if _is_consistent(statement, flipped):
            return _with(replace(statement, rows=flipped), True, FLIPPED)
    return _with(statement, consistent, *([INCONSISTENT] if consistent is False else []))


def _with(statement: Statement, consistent: bool | None, *warnings: str) -> Statement:
    balance = statement.balance
    if balance is None and statement.closing is not None and statement.closing_on is not None:
        balance = Balance(
            account=statement.account,
            as_of=statement.closing_on,
            amount=statement.closing,
            opening=statement.opening,
            consistent=consistent,
        )
    warnings = (*statement.warnings, *warnings)
    return replace(statement, consistent=consistent, balance=balance, warnings=warnings)


def turned(statement: Statement) -> Statement:
    """Every amount with the other sign, for banks that write what a loan or card costs as positive. Where the balances
    prove the signs as they are, nothing changes."""
    if statement.consistent:
        return statement
    return checked(replace(statement, rows=tuple(map(_flip, statement.rows)), warnings=(), balance=statement.balance))


def _is_consistent(statement: Statement, rows: tuple[Row, ...]) -> bool | None:
    opening, closing = statement.opening, statement.closing
    booked = [row for row in rows if not row.pending]
    if opening is None or closing is None or opening.currency != closing.currency:
        return None
    if any(row.amount.currency != closing.currency for row in booked):
        return None
    return opening.amount + total(booked) == closing.amount


def _flip(row: Row) -> Row:
    return row.model_copy(update={"amount": -row.amount})
