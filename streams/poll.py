"""The poll agent: pulls what is new from an account's source into the topic ``records``.

Records and the cursor behind them become durable together (one ``Log.append``: one transaction on the embedded log,
records before the cursor on Kafka), so a kill between any two lines repeats a page and loses none.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import structlog
from pydantic import ValidationError

from extractors.connector import Access, Connector, Context, Delete, NoAccess, Page, Rejected, Upsert
from schemas import ids
from schemas.account import AccountState, CursorState
from schemas.clock import Clock, local_day
from schemas.errors import AuthError, ConfigError, CursorExpired, PoisonError, TransientError
from schemas.event import Event
from schemas.payloads import AccountPayload
from schemas.record import PollDue, Record
from streams import topics
from streams.accounts import Fold
from streams.codec import decode, encode
from streams.deadletter import dead_letter
from streams.silence import is_silent, note_arrival
from streams.work import Batch, Log, Output, Result

log = structlog.get_logger(__name__)

FIRST_BACKOFF_S = 30.0
LONGEST_BACKOFF_S = 3600.0
CONSENT_NOTICE = timedelta(days=14)
"""How long before a consent ends the person hears of it."""

OpenAccess = Callable[[AccountState, bool], AbstractAsyncContextManager[Access]]
"""How one poll of an account is let in; True when a person asked for it."""


def no_access(account: AccountState, asked: bool) -> AbstractAsyncContextManager[Access]:
    """For files and public addresses."""
    return nullcontext(NoAccess())


def backoff(failures: int, rng: random.Random) -> timedelta:
    """Full jitter over an exponential cap: 30 s, 60 s, ... one hour."""
    cap = min(LONGEST_BACKOFF_S, FIRST_BACKOFF_S * 2 ** min(failures, 10))
    return timedelta(seconds=rng.uniform(cap / 2, cap))


@dataclass(frozen=True, slots=True)
class PollDeps:
    """What the poll agent is given: concrete connectors, clocks and logs are chosen in ``forewatch/wiring.py``."""

    log: Log
    accounts: Fold[AccountState]
    cursors: Fold[CursorState]
    connectors: Mapping[str, Connector]
    zone: ZoneInfo
    clock: Clock
    rng: random.Random
    concurrency: int = 4
    access: OpenAccess = no_access


class PollAgent:
    """Handler of topic ``polls``."""

    def __init__(self, deps: PollDeps) -> None:
        self._deps = deps

    async def assigned(self, partition: int) -> None:
        await self._deps.accounts.refresh()
        await self._deps.cursors.refresh()

    async def revoked(self, partition: int) -> None:
        """Nothing is kept in memory that the log does not have."""

    async def handle(self, batch: Batch) -> Result:
        due: dict[str, bool] = {}
        for value in batch.values:
            if value is not None:
                poll = decode(PollDue, value)
                due[poll.account] = due.get(poll.account, False) or poll.reason == "asked"
        await self._deps.accounts.refresh()
        await self._deps.cursors.refresh()
        slots = asyncio.Semaphore(self._deps.concurrency)

        async def poll_one(account: str, asked: bool) -> None:
            async with slots:
                await self.poll(account, asked=asked)

        await asyncio.gather(*(poll_one(account, asked) for account, asked in due.items()))
        return Result()

    async def delivered(self, batch: Batch) -> None:
        """The pages were delivered one by one."""

    async def poll(self, account_id: str, *, asked: bool = False) -> None:
        """One poll of one account, to its end. What goes wrong at the source is written into the account's state.

        ``asked``: by a person, who may spend the last call of a quota.
        """
        account = self._deps.accounts.get(account_id)
        if account is None or account.status in ("paused", "removed"):
            return
        try:
            async with self._deps.access(account, asked) as access:
                state = await self._pull(account, self._stored(account_id), access)
        except TransientError as error:
            await self._failed(account, self._stored(account_id), error)
        except (AuthError, ConfigError) as error:
            await self._needs_person(account, self._stored(account_id), error)
        else:
            await self._succeeded(self._deps.accounts.get(account_id) or account, state)

    def _stored(self, account_id: str) -> CursorState:
        """As the last delivered page left it."""
        return self._deps.cursors.get(account_id) or CursorState(account=account_id)

    async def _pull(self, account: AccountState, state: CursorState, access: Access) -> CursorState:
        connector = self._deps.connectors.get(account.connector)
        if connector is None:
            raise ConfigError(f"account {account.id!r}: there is no connector {account.connector!r}")
        try:
            config = connector.config.model_validate(account.config)
        except ValidationError as error:
            raise ConfigError(f"account {account.id!r}: {_first_fault(error)}") from error
        context = Context(account.owner, account.id, self._deps.zone, self._deps.clock.now(), access)
        try:
            return await self._pages(account, state, connector.pull(config, state.cursor, context), context.now)
        except CursorExpired:
            log.info("cursor expired", action="cursor_expired", account=account.id)
            return await self._pages(account, state, connector.pull(config, None, context), context.now)

    async def _pages(
        self, account: AccountState, state: CursorState, pages: AsyncIterator[Page], now: datetime
    ) -> CursorState:
        questions: list[dict[str, object]] = []
        warnings: list[str] = []
        async for page in pages:
            questions += [
                {"code": q.code, "text": q.text, "where": q.where, "choices": dict(q.choices)} for q in page.questions
            ]
            warnings += page.warnings
            state = self._after(state, page, now)
            await self._deliver(account, state, page, now)
            if page.consent_expires_at is not None:
                account = await self._consent(account, page.consent_expires_at)
        return state.model_copy(update={"questions": tuple(questions), "warnings": tuple(warnings[:20])})

    async def _consent(self, account: AccountState, expires_at: datetime) -> AccountState:
        if account.consent_expires_at == expires_at:
            return account
        account = account.model_copy(update={"consent_expires_at": expires_at})
        await self._set_account(account)
        return account

    def _after(self, state: CursorState, page: Page, now: datetime) -> CursorState:
        update: dict[str, object] = {}
        if page.next_cursor is not None:
            update["cursor"] = page.next_cursor
        if page.spoke and (page.upserts or page.deletes):
            update["arrivals"] = note_arrival(state.arrivals, now, self._deps.zone)
        return state.model_copy(update=update)

    async def _deliver(self, account: AccountState, state: CursorState, page: Page, now: datetime) -> None:
        outputs = [_record(account, upsert, now) for upsert in page.upserts]
        outputs += [_record(account, delete, now) for delete in page.deletes]
        outputs += [_rejection(account, item, now) for item in page.rejected]
        if not outputs and page.next_cursor is None:
            return
        await self._deps.log.append(outputs, then=[self._deps.cursors.output(state)])
        self._deps.cursors.set(state)

    async def _succeeded(self, account: AccountState, state: CursorState) -> None:
        now = self._deps.clock.now()
        outputs: list[Output] = []
        silent = is_silent(state, now)
        if silent and not state.silent:
            outputs.append(self._event(account, "account.silent", now, "nothing new came", state))
        expiry, announced = account.consent_expires_at, state.consent_announced
        renewed = announced is not None and expiry is not None and expiry > announced
        recovered = (state.silent and not silent) or state.barred or renewed
        if recovered:
            outputs.append(self._event(account, "account.recovered", now, "the source answers again", state))
        if state.succeeded_at is None:
            outputs.append(self._event(account, "account.connected", now, "first successful poll", state))
        ends_soon = expiry is not None and expiry - CONSENT_NOTICE <= now and expiry != announced
        if ends_soon:
            outputs.append(self._event(account, "account.consent_expiring", now, "the consent ends soon", state))
        await self._store(
            state.model_copy(
                update={"silent": silent, "barred": False, "failures": 0, "error": "", "retry_at": None}
                | {"polled_at": now, "succeeded_at": now}
                | ({"consent_announced": expiry if ends_soon else None} if ends_soon or renewed else {})
            ),
            outputs,
        )
        if account.status == "needs_reauth":
            await self._set_account(account.model_copy(update={"status": "active", "reason": ""}))

    async def _failed(self, account: AccountState, state: CursorState, error: TransientError) -> None:
        now = self._deps.clock.now()
        if state.failures == 0:  # once when it goes away, once when it returns
            log.warning("source failed", action="poll_failed", account=account.id, error=str(error))
        retry_at = error.retry_at or now + backoff(state.failures, self._deps.rng)
        outputs = []
        if not state.silent and is_silent(state, now):
            outputs.append(self._event(account, "account.silent", now, "the source does not answer", state))
        await self._store(
            state.model_copy(
                update={"failures": state.failures + 1, "error": str(error), "retry_at": retry_at}
                | {"polled_at": now, "silent": state.silent or bool(outputs)}
            ),
            outputs,
        )

    async def _needs_person(self, account: AccountState, state: CursorState, error: AuthError | ConfigError) -> None:
        now = self._deps.clock.now()
        outputs = []
        if not state.barred:
            log.warning("account needs a person", action="needs_reauth", account=account.id, error=str(error))
            outputs.append(self._event(account, "account.needs_reauth", now, str(error), state))
        if account.status != "needs_reauth":
            await self._set_account(account.model_copy(update={"status": "needs_reauth", "reason": str(error)}))
        retry_at = now + backoff(state.failures, self._deps.rng)
        await self._store(
            state.model_copy(
                update={"failures": state.failures + 1, "error": str(error), "retry_at": retry_at, "polled_at": now}
                | {"barred": True}
            ),
            outputs,
        )

    def _event(self, account: AccountState, kind: str, now: datetime, reason: str, state: CursorState) -> Output:
        return _account_event(account, kind, now, reason, state, self._deps.zone)

    async def _store(self, state: CursorState, outputs: Sequence[Output]) -> None:
        await self._deps.log.append(outputs, then=[self._deps.cursors.output(state)])
        self._deps.cursors.set(state)

    async def _set_account(self, account: AccountState) -> None:
        await self._deps.log.append([self._deps.accounts.output(account)])
        self._deps.accounts.set(account)


def _first_fault(error: ValidationError) -> str:
    fault = error.errors()[0]
    return f"setting {'.'.join(map(str, fault['loc']))!r}: {fault['msg']}"


def _record(account: AccountState, change: Upsert | Delete, now: datetime) -> Output:
    upsert = isinstance(change, Upsert)
    record = Record(
        id=ids.record_id(account.id, change.native_id, change.version),
        account=account.id,
        owner=account.owner,
        source=account.connector,
        native_id=change.native_id,
        version=change.version,
        op="upsert" if upsert else "delete",
        is_new=change.is_new if isinstance(change, Upsert) else False,
        fetched_at=now,
        content_type=change.content_type if isinstance(change, Upsert) else "",
        raw=change.raw if isinstance(change, Upsert) else b"",
        meta=dict(change.meta),
    )
    return Output(topics.RECORDS, account.id.encode(), encode(record))


def _rejection(account: AccountState, item: Rejected, now: datetime) -> Output:
    error = PoisonError(item.reason, code=item.code)
    return dead_letter(f"source:{account.id}", item.where, error, item.raw, now, account=account.id)


def _account_event(
    account: AccountState, kind: str, now: datetime, reason: str, state: CursorState, zone: ZoneInfo
) -> Output:
    """An event about the account itself; one per kind and local moment of change."""
    version = (state.arrivals[-1] if state.arrivals else account.created_at).isoformat()
    if kind in ("account.needs_reauth", "account.recovered"):
        version = f"{version}/{state.failures}/{now.isoformat()}"
    expiry = account.consent_expires_at
    if kind == "account.consent_expiring":  # one for each consent, however often it is seen
        version = expiry.isoformat() if expiry else ""
    event = Event(
        id=ids.event_id(account.id, kind, account.id, version),
        owner=account.owner,
        account=account.id,
        source=account.connector,
        kind=kind,
        subject=f"account:{account.id}",
        version=version,
        occurred_at=now,
        observed_at=now,
        title=account.title or account.id,
        text=reason[:2000],
        matter=f"account:{account.id}",
        trust="service",
        due_at=expiry if kind == "account.consent_expiring" else None,
        payload=AccountPayload(
            connector=account.connector,
            reason=reason[:500],
            consent_expires_on=local_day(expiry, zone) if expiry else None,
            last_event_at=state.arrivals[-1] if state.arrivals else None,
        ),
    )
    return Output(topics.EVENTS, account.owner.encode(), encode(event))
