"""MemoryAgenda: a calendar and a list of to-dos that tools change as they would a provider's, and that can lie."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime

from actions.tools.agenda import Agenda, Draft, Meeting, Task, TaskList
from actions.tools.mailbox import only
from schemas.account import Permission
from schemas.errors import StepFailed


@dataclass
class MemoryAgenda:
    """``told``: whom the provider wrote to, and what about. ``lies``: it says yes and does nothing."""

    meetings: dict[str, Meeting] = field(default_factory=dict)
    told: list[tuple[str, str]] = field(default_factory=list)
    lies: bool = False

    async def made(self, key: str) -> Meeting | None:
        return self.meetings.get(f"{key}@forewatch")

    async def create(self, draft: Draft, key: str) -> None:
        uid = f"{key}@forewatch"
        if uid not in self.meetings and not self.lies:
            self.meetings[uid] = Meeting(uid, draft.title, draft.start, draft.end, draft.guests)
            self.told += [(guest, "invited") for guest in draft.guests]

    async def find(self, uid: str) -> Meeting | None:
        return self.meetings.get(uid)

    async def move(self, uid: str, start: datetime, end: datetime) -> None:
        if not self.lies:
            found = self.meetings[uid] = replace(self.meetings[uid], start=start, end=end)
            self.told += [(guest, "moved") for guest in found.guests]

    async def cancel(self, uid: str) -> None:
        found = None if self.lies else self.meetings.pop(uid, None)
        if found is not None:
            self.told += [(guest, "cancelled") for guest in found.guests]

    async def answer(self, uid: str, answer: str) -> None:
        if not self.lies:
            self.meetings[uid] = replace(self.meetings[uid], answer=answer)
            self.told.append(("organiser", answer))


@dataclass
class MemoryTasks:
    held: dict[str, Task] = field(default_factory=dict)
    lies: bool = False

    async def made(self, key: str) -> Task | None:
        return self.held.get(f"{key}@forewatch")

    async def create(self, title: str, note: str, due: str, key: str) -> None:
        if not self.lies:
            self.held.setdefault(f"{key}@forewatch", Task(f"{key}@forewatch", title, "needs-action"))

    async def find(self, uid: str) -> Task | None:
        return self.held.get(uid)

    async def mark(self, uid: str, status: str) -> None:
        if uid not in self.held:
            raise StepFailed("the to-do is not there", code="not_found")
        if not self.lies:
            self.held[uid] = replace(self.held[uid], status=status)


@dataclass
class MemoryAgendas:
    """One account, granted ``write`` unless ``granted`` says otherwise. Also the ``Busy`` of ``meeting.times``."""

    calendar: MemoryAgenda = field(default_factory=MemoryAgenda)
    list: MemoryTasks = field(default_factory=MemoryTasks)
    granted: tuple[Permission, ...] = ("write",)

    @asynccontextmanager
    async def agenda(self, account: str) -> AsyncIterator[Agenda]:
        only(["home"] if "write" in self.granted else [], account, "write")
        yield self.calendar

    @asynccontextmanager
    async def tasks(self, account: str) -> AsyncIterator[TaskList]:
        only(["home"] if "write" in self.granted else [], account, "write")
        yield self.list

    async def busy(self, start: datetime, end: datetime) -> Sequence[tuple[datetime, datetime]]:
        held = ((each.start, each.end) for each in self.calendar.meetings.values())
        return [(began, ended) for began, ended in held if began < end and ended > start]
