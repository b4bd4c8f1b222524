"""Polling a connector in a test, and keeping what it gave as the service would."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from pydantic import BaseModel

from extractors.connector import Connector, Context, Delete, Page, Rejected, Upsert
from extractors.testing.access import Key
from schemas.errors import AuthError, CursorExpired, ForewatchError, PoisonError, TransientError
from schemas.event import Event
from schemas.ids import record_id
from schemas.model import Json
from schemas.record import Record

START = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)
"""``now`` of every first poll in the suite."""


@dataclass(slots=True)
class Poll:
    """What one poll gave. ``cursor`` is what the service would have stored when the poll ended."""

    pages: list[Page] = field(default_factory=list)
    cursor: Json = None
    error: ForewatchError | None = None

    @property
    def upserts(self) -> list[Upsert]:
        return [upsert for page in self.pages for upsert in page.upserts]

    @property
    def deletes(self) -> list[Delete]:
        return [delete for page in self.pages for delete in page.deletes]

    @property
    def rejected(self) -> list[Rejected]:
        return [rejected for page in self.pages for rejected in page.rejected]

    @property
    def warnings(self) -> list[str]:
        return [warning for page in self.pages for warning in page.warnings]


def context_for(now: datetime = START) -> Context:
    return Context(owner="nora", account="test", zone=ZoneInfo("Europe/Berlin"), now=now)


def poll(
    connector: Connector,
    config: BaseModel,
    cursor: Json,
    context: Context,
    *,
    kill_after: int | None = None,
    key: Key | None = None,
) -> Poll:
    """One poll to its end, or killed after that many pages. The errors that ``pull`` may raise are kept, not raised."""

    async def run() -> Poll:
        result = Poll(cursor=cursor)
        async with (key or Key()).open(context.now) as access:
            try:
                await _keep(result, connector.pull(config, cursor, replace(context, access=access)), kill_after)
            except CursorExpired:
                result.cursor = None
                await _keep(result, connector.pull(config, None, replace(context, access=access)), kill_after)
            except (TransientError, AuthError) as error:
                result.error = error
        return result

    return asyncio.run(run())


async def _keep(result: Poll, pages: AsyncIterator[Page], kill_after: int | None) -> None:
    async with aclosing(pages) as open_pages:  # type: ignore[type-var]  # every pull is an async generator
        async for page in open_pages:
            result.pages.append(page)
            if page.next_cursor is not None:
                result.cursor = page.next_cursor
            if len(result.pages) == kill_after:
                return


def record_of(connector: Connector, change: Upsert | Delete, context: Context) -> Record:
    """The record that the service would store for this change."""
    envelope: dict[str, Any] = {
        "id": record_id(context.account, change.native_id, change.version),
        "account": context.account,
        "owner": context.owner,
        "source": connector.name,
        "native_id": change.native_id,
        "version": change.version,
        "fetched_at": context.now,
        "meta": dict(change.meta),
    }
    if isinstance(change, Delete):
        return Record(**envelope, op="delete", is_new=False)
    return Record(**envelope, is_new=change.is_new, content_type=change.content_type, raw=change.raw)


def records_of(connector: Connector, changes: Iterable[Upsert | Delete], context: Context) -> list[Record]:
    return [record_of(connector, change, context) for change in changes]


def events_of(connector: Connector, records: Sequence[Record], context: Context) -> tuple[list[Event], list[str]]:
    """The events of these records, and the reasons of those that are poison."""
    events: list[Event] = []
    poison: list[str] = []
    for record in records:
        try:
            events.extend(connector.normalise(record, context))
        except PoisonError as error:
            poison.append(str(error))
    return events, poison
