"""Reading one account through Enable Banking: all pages of its transactions, and its balance."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from typing import Any

from extractors.bank.row import Row
from extractors.connector import Context, Rejected
from extractors.enablebanking.client import Client
from extractors.enablebanking.rows import balance, row
from extractors.openbanking.account import BankAccount
from extractors.openbanking.errors import AccountUnreadable, PeriodTooLong, PlaceLost
from extractors.openbanking.reading import PAGES_CAP, REJECTED_CAP, ROWS_CAP, Reading, items, refused
from schemas.clock import local_day
from schemas.errors import RateLimited, TransientError

ALWAYS_ALLOWED = timedelta(days=89)
"""How far back a bank goes without asking the person again (RTS to PSD2, article 10)."""


class EnableBankingApi:
    """For one poll."""

    def __init__(self, client: Client, context: Context) -> None:
        self._client = client
        self._today = local_day(context.now, context.zone)

    async def problem(self, account: BankAccount) -> str:
        """Enable Banking knows of no problem before it asks the bank."""
        return ""

    async def read(self, account: BankAccount, since: date) -> Reading:
        """A bank that does not go back that far is asked for what it must give."""
        try:
            reading = await self._listed(account, since)
        except PeriodTooLong as error:
            later = max(since, self._today - ALWAYS_ALLOWED)
            if later == since:
                raise TransientError(f"{error}, although that was not asked for") from error
            reading = replace(await self._again(account, later), since=later)
            reading = replace(reading, warnings=(*reading.warnings, f"the bank gives nothing before {later}"))
        return await self._with_balance(account, reading)

    async def _again(self, account: BankAccount, since: date) -> Reading:
        try:
            return await self._listed(account, since)
        except PeriodTooLong as error:
            raise TransientError(str(error)) from error

    async def _listed(self, account: BankAccount, since: date) -> Reading:
        """Every page: rows that nothing tells apart are counted within their day, so a day must not be cut."""
        path = f"/accounts/{account.ref}/transactions"
        found: list[Any] = []
        key, seen = "", set[str]()
        for _ in range(PAGES_CAP):
            params = {"date_from": since.isoformat(), **({"continuation_key": key} if key else {})}
            try:
                answer = await self._client.get(path, params, psu=True)
            except PlaceLost as error:
                raise TransientError(str(error)) from error
            found += items(_list(answer))
            key = answer.get("continuation_key") or ""
            if not key:
                return _reading(found, account)
            if not isinstance(key, str) or key in seen or len(found) > ROWS_CAP:
                break
            seen.add(key)
        raise TransientError("the bank's list of transactions does not end")

    async def _with_balance(self, account: BankAccount, reading: Reading) -> Reading:
        """Rows without a balance are better than none."""
        try:
            answer = await self._client.get(f"/accounts/{account.ref}/balances", psu=True)
        except (AccountUnreadable, RateLimited, TransientError) as error:
            return replace(reading, warnings=(*reading.warnings, f"no balance: {error}"))
        found, is_closing = balance(items(answer.get("balances")), account.name, self._today)
        return replace(reading, balance=found, is_closing=is_closing)


def _list(answer: dict[str, Any]) -> Any:
    """TransientError for an answer without a list: it says nothing about the account."""
    found = answer.get("transactions")
    if not isinstance(found, list):
        raise TransientError("Enable Banking answers with something that is no list of transactions")
    return found


def _reading(found: list[Any], account: BankAccount) -> Reading:
    rows: list[Row] = []
    rejected: list[Rejected] = []
    for item in found:
        try:
            read = row(item, account.name)
        except (LookupError, TypeError, AttributeError, ValueError) as error:
            rejected.append(refused(item, account.name, str(error)))
        else:
            rows += [read] if read is not None else []
    return Reading(tuple(rows), tuple(rejected[:REJECTED_CAP]))
