"""Every shipped tool over one temporary folder: what an owner's desk holds."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from zoneinfo import ZoneInfo

from actions.tools.calendar import CalendarAdd, CalendarFile, CalendarMove
from actions.tools.document import DocumentWrite
from actions.tools.history import HistoryQuery
from actions.tools.mail import MailDraft
from actions.tools.notify import Notify
from actions.tools.tool import Registry
from actions.tools.wait import WaitUntil
from schemas.clock import Clock
from schemas.model import Json


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

    def registry(self) -> Registry:
        calendar = CalendarFile(self.calendar, self.zone)
        return Registry(
            [
                Notify(self.outbox, self.clock),
                MailDraft(self.drafts, "ann@example.org", self.clock),
                CalendarAdd(calendar, self.clock),
                CalendarMove(calendar, self.clock),
                DocumentWrite(self.documents),
                HistoryQuery(self.history),
                WaitUntil(),
            ]
        )
