"""The Plaid connector: /transactions/sync from the place where the last whole loop ended."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from pydantic import BaseModel

from extractors.bank.events import normalise
from extractors.bank.ledger import PAGE_ROWS, Told
from extractors.bank.listing import Listed, Listing
from extractors.bank.row import ITEM, Row
from extractors.connector import Context, Login, Page, Rejected, SecretField, Upsert
from extractors.consent import Consent
from extractors.pace import Pace
from extractors.plaid import api, link
from extractors.plaid.api import CALLS_PER_MINUTE, Client, LostCursor, NotReady
from extractors.plaid.config import PlaidConfig
from extractors.plaid.rows import balance, listed, rejected
from extractors.plaid.state import State, load
from extractors.plaid.sync import Changes, changes
from schemas.clock import local_day
from schemas.errors import AuthError, TransientError
from schemas.event import Event
from schemas.model import Json
from schemas.record import Record

_ENDING = frozenset(["PENDING_DISCONNECT", "PENDING_EXPIRATION"])
_NOTICE = timedelta(days=7)
"""How long before the end Plaid says so."""
_NOT_READY = "Plaid is still fetching the first rows; the next poll looks again"


class Plaid:
    name = "plaid"
    config: type[BaseModel] = PlaidConfig
    login = Login(
        reads="balances and transactions of the accounts that you choose on Plaid's page; nothing can be paid",
        secrets=[
            SecretField(api.CLIENT_ID, "Plaid client_id", "dashboard.plaid.com, Developers, Keys"),
            SecretField(api.SECRET, "Plaid secret", "the one of the environment: production or sandbox"),
        ],
    )

    def __init__(self, page_rows: int = PAGE_ROWS, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self._page_rows = page_rows
        self._sleep = sleep

    async def pull(self, config: BaseModel, cursor: Json, context: Context) -> AsyncIterator[Page]:
        """Nothing is handed out before the loop is through: what it starts again for never happened."""
        settings = PlaidConfig.model_validate(config.model_dump())
        state = load(cursor)
        client = _client(settings, context)
        today = local_day(context.now, context.zone)
        consent = await _consent(client, state, today)
        try:
            found = await self._changes(client, state)
        except NotReady:
            yield Page(warnings=[_NOT_READY], complete=True, consent_expires_at=consent.expires_at)
            return
        warnings = [*consent.warnings]
        is_reset = not state.at and bool(state.labels.by_id)
        state.labels.note(found.accounts, is_new_link=is_reset)
        listings, refused = _listings(found, state, settings, today)
        for listing in listings:
            async for told in _threaded(state.ledger.take(context.account, listing, self._page_rows)):
                warnings += told.warnings
                _note_told(state, told)
                if told.upserts or told.deletes:
                    yield Page(upserts=told.upserts, deletes=told.deletes, next_cursor=state.dump(), reset=is_reset)
        state.at, state.loose, state.asked_on = found.cursor, {}, today.isoformat()
        fresh = state.refusals.fresh(refused)
        after = state.dump()
        yield Page(
            rejected=fresh,
            warnings=warnings,
            next_cursor=None if after == cursor else after,
            complete=True,
            reset=is_reset,
            consent_expires_at=consent.expires_at,
        )

    async def _changes(self, client: Client, state: State) -> Changes:
        """Where Plaid has lost our place, everything is read again; the ledger knows what is known."""
        try:
            return await changes(client, state.at, self._page_rows)
        except LostCursor as error:
            if not state.at:
                raise TransientError("Plaid refuses to begin at the beginning") from error
        state.at, state.loose = "", {}
        found = await changes(client, "", self._page_rows)
        if not any(found.rows.values()):
            raise TransientError("Plaid has lost our place and lists nothing; what was read stays")
        return found

    def normalise(self, record: Record, context: Context) -> Sequence[Event]:
        return normalise(record, context)

    async def discover(self, hint: str, context: Context) -> dict[str, Json]:
        """``hint`` may be the country of the bank, as two letters."""
        countries: list[Json] = [hint.strip().upper()]
        return {"countries": countries} if len(hint.strip()) == 2 and hint.strip().isalpha() else {}

    async def check(self, config: BaseModel, context: Context) -> Sequence[str]:
        """Lists the bank accounts."""
        client = _client(PlaidConfig.model_validate(config.model_dump()), context)
        answer = await client.call("/accounts/get", {"access_token": context.access.secret(api.ACCESS_TOKEN)})
        accounts = answer.get("accounts")
        return [_line(each) for each in accounts if isinstance(each, dict)] if isinstance(accounts, list) else []

    async def begin(self, config: BaseModel, context: Context, *, redirect: str, state: str) -> Consent:
        settings = PlaidConfig.model_validate(config.model_dump())
        return await link.begin(_client(settings, context), settings, context, redirect, state)

    async def finish(self, config: BaseModel, context: Context, *, answer: str) -> Sequence[str]:
        """``answer`` is of no use: what came of the page, Plaid tells us itself."""
        settings = PlaidConfig.model_validate(config.model_dump())
        await link.finish(_client(settings, context), context, self._sleep)
        return await self.check(config, context)

    async def withdraw(self, config: BaseModel, context: Context) -> None:
        """Plaid then deletes the bank's login and what it has fetched."""
        client = _client(PlaidConfig.model_validate(config.model_dump()), context)
        if token := link.held(context, api.ACCESS_TOKEN):
            with suppress(AuthError):
                await client.call("/item/remove", {"access_token": token})


def _client(settings: PlaidConfig, context: Context) -> Client:
    return Client(context.access, settings.url, context.now, Pace(CALLS_PER_MINUTE, 60))


def _line(account: Mapping[str, Any]) -> str:
    mask = account.get("mask")
    digits = f", ends in {mask}" if mask else ""
    return f"{account.get('name', 'account')} ({account.get('subtype') or account.get('type')}{digits})"[:120]


@dataclass(frozen=True, slots=True)
class _Consent:
    expires_at: datetime | None = None
    warnings: tuple[str, ...] = ()


async def _consent(client: Client, state: State, today: date) -> _Consent:
    """When the bank will want a new login. Asked once a day; AuthError where it wants one already."""
    if state.asked_on == today.isoformat():
        return _Consent()
    answer = await client.item()
    item = answer.get("item")
    if not isinstance(item, dict):
        raise TransientError("Plaid's answer holds no Item")
    fault = item.get("error")
    if isinstance(fault, dict) and (error := api.problem(fault)) is not None:
        raise error
    expires_at = _instant(item.get("consent_expiration_time"))
    status = answer.get("status")
    last = status.get("last_webhook") if isinstance(status, dict) else None
    if isinstance(last, dict) and last.get("code_sent") in _ENDING:
        sent_at = _instant(last.get("sent_at"))
        expires_at = expires_at or (sent_at + _NOTICE if sent_at else None)
        return _Consent(expires_at, ("the bank will end this connection soon: connect the account again",))
    return _Consent(expires_at)


def _instant(text: Any) -> datetime | None:
    try:
        found = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return found if found is not None and found.tzinfo is not None else None


def _listings(found: Changes, state: State, settings: PlaidConfig, today: date) -> tuple[list[Listing], list[Rejected]]:
    """One for each account. From the beginning it lists everything since its first day (what is older than that may
    have been forgotten by Plaid, and stays); otherwise what changed."""
    rows: dict[str, list[Listed]] = {}
    removed: dict[str, list[str]] = {}
    unreadable: dict[str, list[str]] = {}
    refused = [rejected(raw) for raw in found.unreadable]
    for (account_id, key), raw in found.rows.items():
        if account_id in settings.ignored:
            continue
        label = state.labels.of(account_id)
        if raw is None:
            removed.setdefault(label, []).append(key)
            continue
        try:
            rows.setdefault(label, []).append(listed(raw, label, is_turned=account_id in settings.turned))
        except (ValueError, TypeError) as error:
            refused.append(rejected(raw, error))
            unreadable.setdefault(label, []).append(key)
    told = {(label, each.row.native_id) for label, listing in rows.items() for each in listing}
    for label, key in state.loose:
        if (label, key) not in told:
            removed.setdefault(label, []).append(key)
    balances = {}
    for account_id, account in found.accounts.items():
        if account_id not in settings.ignored and found.is_whole:
            label = state.labels.of(account_id)
            try:
                balances[label] = balance(account, label, today, is_turned=account_id in settings.turned)
            except (ValueError, TypeError) as error:
                refused.append(rejected({"transaction_id": f"balance of {account_id}"}, error))
    return [
        Listing(
            label,
            today,
            rows.get(label, []),
            removed.get(label, []),
            since=_first_day(rows.get(label, [])) if not state.at else None,
            is_whole=found.is_whole,
            is_final=not state.at,
            unreadable=unreadable.get(label, []),
            balance=balances.get(label),
        )
        for label in dict.fromkeys([*rows, *removed, *unreadable, *balances])
    ], refused


def _first_day(rows: Sequence[Listed]) -> date | None:
    return min((each.row.booked_on for each in rows), default=None)


def _note_told(state: State, told: Told) -> None:
    for upsert in told.upserts:
        if upsert.is_new and isinstance(row := _row(upsert), Row):
            state.tell(row.account, row.native_id)


def _row(upsert: Upsert) -> object:
    return ITEM.validate_json(upsert.raw)


async def _threaded(parts: Iterator[Told]) -> AsyncIterator[Told]:
    while (told := await asyncio.to_thread(next, parts, None)) is not None:
        yield told
