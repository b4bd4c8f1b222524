"""Every shipped tool over one temporary folder: what an owner's desk holds."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from pathlib import Path
from zoneinfo import ZoneInfo

from actions.testing.agenda import MemoryAgendas
from actions.testing.mailbox import MemoryMailboxes
from actions.testing.notes import MemoryNotes
from actions.testing.reading import ScriptedReader
from actions.testing.web import MemoryWeb
from actions.tools.calendar import CalendarAdd, CalendarFile, CalendarMove
from actions.tools.document import DocumentWrite
from actions.tools.fields import all_extracts
from actions.tools.files import FileDiscard, FileFill, FileFind, FileRead, FileWrite
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
from schemas.clock import Clock
from schemas.model import Json

PAYER = Payer("Ann Example", "DE02 1203 0000 0000 2020 51")


@dataclass
class MemoryHistory:
    """A history that answers everything with the same rows and remembers what was asked."""

    answer: list[list[Json]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    async def rows(self, sql: str, limit: int) -> list[list[Json]]:
        self.asked.append(sql)
        return self.answer[:limit]


@dataclass(frozen=True)
class Desk:
    root: Path
    clock: Clock
    zone: ZoneInfo = field(default_factory=lambda: ZoneInfo("Europe/Berlin"))
    history: MemoryHistory = field(default_factory=MemoryHistory)
    mail: MemoryMailboxes = field(default_factory=MemoryMailboxes)
    web: MemoryWeb = field(default_factory=MemoryWeb)
    notes: MemoryNotes = field(default_factory=MemoryNotes)
    agendas: MemoryAgendas = field(default_factory=MemoryAgendas)

    @property
    def outbox(self) -> Path:
        return self.root / "outbox"

    @property
    def drafts(self) -> Path:
        return self.root / "drafts"

    @property
    def documents(self) -> Path:
        return self.root / "documents"

    @property
    def calendar(self) -> Path:
        return self.root / "calendar.ics"

    @property
    def papers(self) -> Path:
        """What the person lets tools read."""
        return self.root / "papers"

    def world(self) -> object:
        """Everything that a tool can change; equal as long as nothing did."""
        files = {str(path): path.read_bytes() for path in sorted(self.root.rglob("*")) if path.is_file()}
        provided = (self.mail.box, self.web.posted, self.agendas.calendar, self.agendas.list, self.notes.notes)
        return copy.deepcopy((files, provided))

    def registry(self) -> Registry:
        calendar = CalendarFile(self.calendar, self.zone)
        return Registry(
            [
                Notify(self.outbox, self.clock),
                MailDraft(self.drafts, "ann@example.org", self.clock),
                CalendarAdd(calendar, self.clock),
                CalendarMove(calendar, self.clock),
                DocumentWrite(self.documents),
                *self._files(),
                *self._mail(),
                *self._agenda(),
                HistoryQuery(self.history),
                MemoryRecall(self.notes),
                MemoryRemember(self.notes, "ann"),
                *all_extracts(ScriptedReader(self.clock)),
                *all_waits(),
            ]
        )

    def _files(self) -> list[Tool]:
        tree = Tree([self.papers, self.documents])
        return [
            FileFind(tree),
            FileRead(tree),
            FileFill(tree, self.documents),
            FileWrite(self.documents),
            FileDiscard(self.documents),
            PaymentQr(self.documents),
            PaymentFile(self.documents, PAYER, self.zone, self.clock),
        ]

    def _mail(self) -> list[Tool]:
        tree, kept, hosts = Tree([self.papers, self.documents]), Kept(self.root / "effects"), Hosts((".example.org",))
        return [
            MailSend(self.mail, tree, self.clock),
            MailReply(self.mail, tree, self.clock),
            MailAnswerInvitation(self.mail, tree, self.clock),
            MailLabel(self.mail, kept),
            MailMove(self.mail, kept),
            MailUnsubscribe(self.mail, self.web, kept),
            WebGet(self.web, hosts),
            WebSubmit(self.web, hosts, kept),
        ]

    def _agenda(self) -> list[Tool]:
        kept = Kept(self.root / "effects")
        return [
            MeetingCreate(self.agendas),
            MeetingCreate(self.agendas, INVITE),
            MeetingMove(self.agendas, kept),
            MeetingMove(self.agendas, kept, RESCHEDULE),
            MeetingCancel(self.agendas, kept),
            MeetingAnswer(self.agendas, kept),
            MeetingTimes(self.agendas, self.zone, self.clock),
            TaskCreate(self.agendas),
            TaskMark(self.agendas, kept),
        ]
