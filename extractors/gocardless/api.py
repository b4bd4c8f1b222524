"""Reading one account through GoCardless: its booked and pending transactions, and its balance."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Any

from extractors.bank.row import Row
from extractors.connector import Context, Rejected
from extractors.gocardless.client import Client
from extractors.gocardless.requisition import UNREADABLE
from extractors.gocardless.rows import balance, row
from extractors.http import Answer, wished
from extractors.openbanking.account import BankAccount
from extractors.openbanking.errors import AccountUnreadable, PeriodTooLong
from extractors.openbanking.reading import REJECTED_CAP, ROWS_CAP, Reading, items, refused
from schemas.clock import local_day
from schemas.errors import RateLimited, TransientError

ALWAYS_ALLOWED = timedelta(days=89)
_REMAINING = "http_x_ratelimit_account_success_remaining"


class GoCardlessApi:
    """For one poll."""

    def __init__(self, client: Client, context: Context) -> None:
        self._client = client
        self._now = context.now
        self._today = local_day(context.now, context.zone)

    async def problem(self, account: BankAccount) -> str:
        """From the account's metadata, which no bank is asked for: a read of a suspended account fails, and counts."""
        try:
            answer = (await self._client.get(f"/accounts/{account.ref}/")).object()
        except AccountUnreadable as error:
            return str(error)
        return UNREADABLE.get(str(answer.get("status") or "").upper(), "")

    async def read(self, account: BankAccount, since: date) -> Reading:
        path = f"/accounts/{account.ref}/transactions/"
        try:
            answer = await self._client.get(path, {"date_from": since.isoformat()})
            reading = Reading()
        except PeriodTooLong:
            later = max(since, self._today - ALWAYS_ALLOWED)
            answer = await self._again(path, later)
            reading = Reading(since=later, warnings=(f"the bank gives nothing before {later}",))
        rows, rejected = _rows(answer.object(), account)
        reading = replace(reading, rows=rows, rejected=rejected, wait_until=_wait(answer, self._now))
        return await self._with_balance(account, reading)

    async def _again(self, path: str, since: date) -> Answer:
        try:
            return await self._client.get(path, {"date_from": since.isoformat()})
        except PeriodTooLong as error:
            raise TransientError(str(error)) from error

    async def _with_balance(self, account: BankAccount, reading: Reading) -> Reading:
        """Rows without a balance are better than none."""
        try:
            answer = (await self._client.get(f"/accounts/{account.ref}/balances/")).object()
        except (AccountUnreadable, RateLimited, TransientError) as error:
            return replace(reading, warnings=(*reading.warnings, f"no balance: {error}"))
        found, is_closing = balance(items(answer.get("balances")), account.name, self._today)
        return replace(reading, balance=found, is_closing=is_closing)


def _rows(answer: dict[str, Any], account: BankAccount) -> tuple[tuple[Row, ...], tuple[Rejected, ...]]:
    """TransientError for an answer without the lists: it says nothing about the account."""
    listed = answer.get("transactions")
    if not isinstance(listed, dict) or not isinstance(listed.get("booked"), list):
        raise TransientError("GoCardless answers with something that is no list of transactions")
    rows: list[Row] = []
    rejected: list[Rejected] = []
    for name, is_pending in (("booked", False), ("pending", True)):
        for item in items(listed.get(name))[:ROWS_CAP]:
            try:
                rows.append(row(item, account.name, pending=is_pending))
            except (LookupError, TypeError, AttributeError, ValueError) as error:
                rejected.append(refused(item, account.name, str(error)))
    return tuple(rows), tuple(rejected[:REJECTED_CAP])


def _wait(answer: Answer, now: datetime) -> datetime | None:
    """GoCardless counts successful reads by account; with none left, when the next one is."""
    return wished(answer.headers, now) if answer.headers.get(_REMAINING) == "0" else None
