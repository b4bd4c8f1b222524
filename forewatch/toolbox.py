"""The tools of this installation, each in the place that the settings give it.

What is not set up is not offered: no folders, no file tools; no account of yours, no payments.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from actions.tools.calendar import CalendarAdd, CalendarFile, CalendarMove
from actions.tools.document import DocumentWrite
from actions.tools.files import FileDiscard, FileFill, FileFind, FileRead, FileWrite
from actions.tools.history import HistoryQuery
from actions.tools.mail import MailDraft
from actions.tools.notify import Notify
from actions.tools.payments import Payer, PaymentFile, PaymentQr
from actions.tools.tool import Registry, Tool
from actions.tools.tree import Tree
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
            FileDiscard(settings.place("documents")),
            HistoryQuery(_History(settings)),
            WaitUntil(),
            *_files(settings),
            *_payments(settings, clock),
        ]
    )


def _files(settings: Settings) -> Iterator[Tool]:
    if not settings.folders:
        return
    documents = settings.place("documents")
    tree = Tree([*((settings.home / folder).expanduser().absolute() for folder in settings.folders), documents])
    yield from (FileFind(tree), FileRead(tree), FileFill(tree, documents), FileWrite(documents))


def _payments(settings: Settings, clock: Clock) -> Iterator[Tool]:
    if not settings.payer_iban or not settings.payer:
        return
    documents = settings.place("documents")
    payer = Payer(settings.payer, settings.payer_iban, settings.payer_bic)
    yield from (PaymentQr(documents), PaymentFile(documents, payer, settings.zone, clock))
