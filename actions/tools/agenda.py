"""The ports of the meeting and task tools: a person's calendar at a provider, opened with what was granted."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Meeting:
    """``uid`` as invitations and the history name it. ``guests``: addresses of the others. ``answer``: the owner's own
    (accepted, declined, tentative, needs-action), "" where they are not invited. ``is_own``: the owner called it."""

    uid: str
    title: str
    start: datetime
    end: datetime
    guests: tuple[str, ...] = ()
    answer: str = ""
    is_own: bool = True
    repeats: bool = False


@dataclass(frozen=True, slots=True)
class Draft:
    """What is to be put into the calendar."""

    title: str
    start: datetime
    end: datetime
    note: str = ""
    place: str = ""
    guests: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Task:
    """``status``: needs-action, in-process, completed or cancelled."""

    uid: str
    title: str
    status: str


class Agenda(Protocol):
    """Errors of all: NotSent, RateLimited, StepFailed, AuthError, OutcomeUnknown. All may be repeated: what is so
    already is left alone."""

    async def made(self, key: str) -> Meeting | None:
        """What was created under this key."""
        ...

    async def create(self, draft: Draft, key: str) -> None:
        """Guests are invited by the provider, where it does that."""
        ...

    async def find(self, uid: str) -> Meeting | None: ...

    async def move(self, uid: str, start: datetime, end: datetime) -> None: ...

    async def cancel(self, uid: str) -> None:
        """Gone, and its guests are told where the provider does that. Nothing happens where it is gone already."""
        ...

    async def answer(self, uid: str, answer: str) -> None: ...


class TaskList(Protocol):
    async def made(self, key: str) -> Task | None: ...

    async def create(self, title: str, note: str, due: str, key: str) -> None:
        """``due``: an ISO date, or ""."""
        ...

    async def find(self, uid: str) -> Task | None: ...

    async def mark(self, uid: str, status: str) -> None: ...


class Agendas(Protocol):
    """The calendars that were granted ``write``. ``account`` "" is the only one, as with ``Mailboxes``."""

    def agenda(self, account: str) -> AbstractAsyncContextManager[Agenda]: ...

    def tasks(self, account: str) -> AbstractAsyncContextManager[TaskList]: ...


class Busy(Protocol):
    async def busy(self, start: datetime, end: datetime) -> Sequence[tuple[datetime, datetime]]:
        """When the owner has something on, by all that is known of their calendars."""
        ...
