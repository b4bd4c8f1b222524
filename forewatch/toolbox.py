"""The tools of this installation, each in the place that the settings give it."""

from __future__ import annotations

import asyncio

from actions.tools.calendar import CalendarAdd, CalendarFile, CalendarMove
from actions.tools.document import DocumentWrite
from actions.tools.history import HistoryQuery
from actions.tools.mail import MailDraft
from actions.tools.notify import Notify
from actions.tools.tool import Registry
from actions.tools.wait import WaitUntil
from forewatch.settings import Settings
from forewatch.storage.query import HistoryQuery as Query
from schemas.clock import Clock
from schemas.model import Json


class _History:
    """The history port of the tool: user SQL in its own process, off the event loop."""

    def __init__(self, settings: Settings) -> None:
        self._query = Query(settings.history, settings.timezone)

    async def rows(self, sql: str, limit: int) -> list[list[Json]]:
        table = await asyncio.to_thread(self._query.page, sql, limit)
        return table.rows


def toolbox(settings: Settings, clock: Clock) -> Registry:
    calendar = CalendarFile(settings.place("calendar"), settings.zone)
    return Registry(
        [
            Notify(settings.place("outbox"), clock),
            MailDraft(settings.place("drafts"), settings.sender, clock),
            CalendarAdd(calendar, clock),
            CalendarMove(calendar, clock),
            DocumentWrite(settings.place("documents")),
            HistoryQuery(_History(settings)),
            WaitUntil(),
        ]
    )
