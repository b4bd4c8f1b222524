"""The tools of this installation, each in the place that the settings give it.

What is not set up is not offered: no folders, no file tools; no account of yours, no payments.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from actions.tools.calendar import CalendarAdd, CalendarFile, CalendarMove
from actions.tools.document import DocumentWrite
from actions.tools.fields import all_extracts
from actions.tools.files import FileDiscard, FileFill, FileFind, FileRead, FileWrite
from actions.tools.history import MANIFEST as HISTORY_QUERY
from actions.tools.history import HistoryQuery
from actions.tools.invitation import MailAnswerInvitation
from actions.tools.kept import Kept
from actions.tools.mail import MailDraft
from actions.tools.meetings import INVITE, RESCHEDULE, MeetingAnswer, MeetingCancel, MeetingCreate, MeetingMove
from actions.tools.memory import MemoryRecall, MemoryRemember
from actions.tools.notify import Notify
from actions.tools.payments import Payer, PaymentFile, PaymentQr
from actions.tools.send import MailReply, MailSend
from actions.tools.sort import MailLabel, MailMove
from actions.tools.tasks import TaskCreate, TaskMark
from actions.tools.times import MeetingTimes
from actions.tools.tool import Registry, Tool
from actions.tools.tree import Tree
from actions.tools.unsubscribe import MailUnsubscribe
from actions.tools.wait import all_waits
from actions.tools.web import Hosts, WebGet, WebSubmit
from actions.tools.wire import Reply
from forewatch.memories import Notes
from forewatch.outgoing.accounts import Outgoing
from forewatch.plugins.house import House
from forewatch.reading import Reading, host_of
from forewatch.settings import Settings
from forewatch.storage.query import HistoryQuery as Query
from forewatch.storage.query import Limits
from schemas.clock import Clock
from schemas.errors import ConfigError, Refused, StepFailed, TransientError
from schemas.model import Json


class _History:
    """The history port of the tool: user SQL in its own process, off the event loop. Nobody sits and waits for it, so
    it may take as long as the tool has."""

    def __init__(self, settings: Settings, deadline_s: float = HISTORY_QUERY.timeout_s * 0.9) -> None:
        self._query = Query(settings.history, settings.timezone, Limits(deadline_s=deadline_s))

    async def rows(self, sql: str, limit: int) -> list[list[Json]]:
        try:
            table = await asyncio.to_thread(self._query.page, sql, limit)
        except Refused as error:
            if error.code == "too_slow":  # the machine was busy, and may be less so next time
                raise TransientError(error.message, remedy=error.remedy) from error
            raise
        return table.rows


class _Busy:
    """By the newest version of each entry that the history holds, of all calendars."""

    def __init__(self, history: _History) -> None:
        self._history = history

    async def busy(self, start: datetime, end: datetime) -> Sequence[tuple[datetime, datetime]]:
        try:
            rows = await self._history.rows(_TAKEN.format(start=start.isoformat(), end=end.isoformat()), 1000)
        except (Refused, ConfigError) as error:
            raise StepFailed(error.message, code="invalid") from error
        return [(datetime.fromisoformat(str(began)), datetime.fromisoformat(str(ended))) for began, ended in rows]


_TAKEN = """SELECT starts_at, ends_at FROM calendar WHERE kind <> 'calendar.cancelled' AND NOT all_day
AND NOT coalesce(transparent, false) AND starts_at < TIMESTAMPTZ '{end}' AND ends_at > TIMESTAMPTZ '{start}'"""


class _PublicWeb:
    """The ``Web`` of tools; the HTTP client is loaded when something is asked for the first time."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    async def send(
        self, method: str, url: str, *, headers: Mapping[str, str] | None = None, content: bytes | None = None
    ) -> Reply:
        from extractors.http import Http, Limits
        from forewatch.outgoing.http import PublicWeb

        limits = Limits(body_bytes=2_000_000, redirects=0, total_s=40)
        web = PublicWeb(self._clock.now, lambda: Http(self._clock.now, limits=limits))
        return await web.send(method, url, headers=headers, content=content)


def toolbox(
    settings: Settings,
    clock: Clock,
    outgoing: Outgoing | None = None,
    house: House | None = None,
    reading: Reading | None = None,
) -> Registry:
    """``outgoing``: the accounts that a running service knows; without it no tool needs one. ``house``: that of a
    running service, which ends its plugins with it. ``reading``: who reads what no pattern decides."""
    more = (house or House(settings, clock)).tools
    host = host_of(settings.planner_url) if settings.planner_url else ""
    calendar = CalendarFile(settings.place("calendar"), settings.zone)
    tools: list[Tool] = [
        Notify(settings.place("outbox"), clock),
        MailDraft(settings.place("drafts"), settings.sender, clock),
        CalendarAdd(calendar, clock),
        CalendarMove(calendar, clock),
        DocumentWrite(settings.place("documents")),
        FileDiscard(settings.place("documents")),
        HistoryQuery(_History(settings)),
        MemoryRecall(Notes(settings.home)),
        MemoryRemember(Notes(settings.home), settings.owner),
        *all_extracts(reading, host),
        *all_waits(),
        *_files(settings),
        *_payments(settings, clock),
        *_web(settings, clock),
        *_trusted(settings),
    ]
    if outgoing is None:
        return Registry(tools, more=more)
    tools += [*_mail(settings, clock, outgoing), *_calendar(settings, clock, outgoing)]
    return Registry(tools, is_offered=outgoing.offers, more=more)


def _trusted(settings: Settings) -> Iterator[Tool]:
    if settings.trusted_plugins:
        from forewatch.plugins.installed import trusted_tools

        for tools in trusted_tools(settings.trusted_plugins).values():
            yield from tools


def _tree(settings: Settings) -> Tree:
    named = [(settings.home / folder).expanduser().absolute() for folder in settings.folders]
    return Tree([*named, settings.place("documents")])


def _kept(settings: Settings) -> Kept:
    return Kept(settings.effects)


def _mail(settings: Settings, clock: Clock, outgoing: Outgoing) -> Iterator[Tool]:
    tree, kept = _tree(settings), _kept(settings)
    yield from (MailSend(outgoing, tree, clock), MailReply(outgoing, tree, clock))
    yield MailAnswerInvitation(outgoing, tree, clock)
    yield from (MailLabel(outgoing, kept), MailMove(outgoing, kept))
    yield MailUnsubscribe(outgoing, _PublicWeb(clock), kept)


def _calendar(settings: Settings, clock: Clock, outgoing: Outgoing) -> Iterator[Tool]:
    kept = _kept(settings)
    yield from (MeetingCreate(outgoing), MeetingCreate(outgoing, INVITE))
    yield from (MeetingMove(outgoing, kept), MeetingMove(outgoing, kept, RESCHEDULE))
    yield from (MeetingCancel(outgoing, kept), MeetingAnswer(outgoing, kept))
    yield MeetingTimes(_Busy(_History(settings)), settings.zone, clock)
    yield from (TaskCreate(outgoing), TaskMark(outgoing, kept))


def _web(settings: Settings, clock: Clock) -> Iterator[Tool]:
    if settings.web_hosts:
        web, hosts = _PublicWeb(clock), Hosts(settings.web_hosts)
        yield from (WebGet(web, hosts), WebSubmit(web, hosts, _kept(settings)))


def _files(settings: Settings) -> Iterator[Tool]:
    if not settings.folders:
        return
    documents, tree = settings.place("documents"), _tree(settings)
    yield from (FileFind(tree), FileRead(tree), FileFill(tree, documents), FileWrite(documents))


def _payments(settings: Settings, clock: Clock) -> Iterator[Tool]:
    if not settings.payer_iban or not settings.payer:
        return
    documents = settings.place("documents")
    payer = Payer(settings.payer, settings.payer_iban, settings.payer_bic)
    yield from (PaymentQr(documents), PaymentFile(documents, payer, settings.zone, clock))
