"""The SimpleFIN connector: windows of at most 90 days, read again from two weeks back with each poll."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import date, timedelta

from pydantic import BaseModel

from extractors.bank.events import normalise
from extractors.bank.ledger import PAGE_ROWS, Told
from extractors.bank.listing import Listed, Listing
from extractors.connector import (
    Context,
    Login,
    Page,
    Rejected,
    SecretField,
)
from extractors.simplefin import api
from extractors.simplefin.answer import Account, AccountSet
from extractors.simplefin.config import SimpleFinConfig
from extractors.simplefin.rows import is_money, read
from extractors.simplefin.state import Seen, State, load, may_weigh, note_history, reached_by, windows
from schemas.clock import local_day
from schemas.errors import AuthError, RateLimited, TransientError
from schemas.event import Event
from schemas.model import Json
from schemas.record import Record

PAUSE = timedelta(minutes=65)
"""Between polls of an account that nobody asks for: 22 a day."""
_SAYS = "the SimpleFIN server says: "


class SimpleFin:
    name = "simplefin"
    config: type[BaseModel] = SimpleFinConfig
    login = Login(
        reads="balances and transactions of the accounts that you chose at your SimpleFIN server; nothing can be paid",
        secrets=[
            SecretField(
                api.SETUP_TOKEN,
                "SimpleFIN setup token",
                "https://bridge.simplefin.org/simplefin/create makes one; it works once",
            )
        ],
    )

    def __init__(self, page_rows: int = PAGE_ROWS, pause: timedelta = PAUSE) -> None:
        self._page_rows = page_rows
        self._pause = pause

    async def pull(self, config: BaseModel, cursor: Json, context: Context) -> AsyncIterator[Page]:
        settings = SimpleFinConfig.model_validate(config.model_dump())
        state = load(cursor)
        if await self._is_early(state, context):
            yield Page(complete=True, spoke=False)
            return
        today = local_day(context.now, context.zone)
        is_sound = True
        warnings: list[str] = []
        seen = Seen()
        for since, until in windows(state, settings, today):
            answer = await api.accounts(context.access, since, until, pending=settings.pending)
            warnings += [_SAYS + fault.text for fault in answer.faults if _SAYS + fault.text not in warnings]
            _refuse_hopeless(answer)
            seen.note(answer)
            if not answer.accounts:
                warnings.append("the SimpleFIN server lists no account; what was read stays")
                is_sound = False
                continue
            in_doubt = False
            for listing, rejected in self._listings(answer, settings, state, today, since, until, warnings):
                fresh = state.refusals.fresh(rejected)
                async for told in _threaded(state.ledger.take(context.account, listing, self._page_rows)):
                    warnings += told.warnings
                    in_doubt = in_doubt or told.in_doubt
                    if told.upserts or told.deletes:
                        yield Page(upserts=told.upserts, deletes=told.deletes, next_cursor=state.dump())
                if fresh:
                    yield Page(rejected=fresh, next_cursor=state.dump())
            state.read_to = reached_by(state.read_to, until, today, is_whole=not (answer.faults or in_doubt))
            is_sound = is_sound and not in_doubt
        note_history(state, seen)
        if is_sound:
            state.asked_at = context.now
        after = state.dump()
        yield Page(warnings=warnings, next_cursor=None if after == cursor else after, complete=True)

    async def _is_early(self, state: State, context: Context) -> bool:
        """The server allows few requests and has news once a day, so those are spread over the day."""
        if state.asked_at is None or context.now - state.asked_at >= self._pause:
            return False
        try:
            await context.access.spend(api.EARLY)
        except RateLimited:
            return True
        return False

    def _listings(
        self,
        answer: AccountSet,
        settings: SimpleFinConfig,
        state: State,
        today: date,
        since: date,
        until: date | None,
        warnings: list[str],
    ) -> Iterator[tuple[Listing, list[Rejected]]]:
        for account in answer.accounts:
            if account.label in settings.ignored:
                continue
            if not is_money(account):
                warnings.append(f"{account.name} holds no money but points: it is passed over")
                continue
            found = read(account, today, state.ledger.day_of, is_turned=account.label in settings.turned)
            yield (
                Listing(
                    account.label,
                    today,
                    [Listed(row) for row in found.rows if until is None or not row.pending],
                    since=since,
                    until=None if until is None else until - timedelta(days=1),
                    is_whole=account.is_whole,
                    has_pending=settings.pending and until is None,
                    unreadable=found.unreadable,
                    balance=found.balance if until is None and may_weigh(account, state) else None,
                ),
                found.rejected,
            )

    def normalise(self, record: Record, context: Context) -> Sequence[Event]:
        return normalise(record, context)

    async def discover(self, hint: str, context: Context) -> dict[str, Json]:
        """There is nothing to find out: the setup token holds the server's address."""
        return {}

    async def check(self, config: BaseModel, context: Context) -> Sequence[str]:
        """Trades a setup token that was not used yet for the lasting access URL, then lists the accounts."""
        access = context.access
        if token := _secret(context, api.SETUP_TOKEN):
            await access.remember({api.ACCESS_URL: await api.claim(token, access), api.SETUP_TOKEN: ""})
        answer = await api.accounts(access)
        _refuse_hopeless(answer)
        lines = [_line(account) for account in answer.accounts]
        return [*(lines or ["no account yet"]), *(_SAYS + fault.text for fault in answer.faults)]


def _secret(context: Context, name: str) -> str:
    try:
        return context.access.secret(name).strip()
    except AuthError:
        return ""


def _line(account: Account) -> str:
    balance, currency = (str(account.raw.get(name, ""))[:40] for name in ("balance", "currency"))
    return f"{account.name} ({account.label}): {balance} {currency}"


def _refuse_hopeless(answer: AccountSet) -> None:
    """AuthError where a person must log in and no account is whole; TransientError where nothing came for another
    reason."""
    if any(account.is_whole for account in answer.accounts) or not answer.faults:
        return
    said = answer.faults[0].text
    if any(fault.needs_login for fault in answer.faults):
        raise AuthError(_SAYS + said, remedy="log in at your SimpleFIN server and mend the connection there")
    if not answer.accounts:
        raise TransientError(_SAYS + said)


async def _threaded(parts: Iterator[Told]) -> AsyncIterator[Told]:
    while (told := await asyncio.to_thread(next, parts, None)) is not None:
        yield told
