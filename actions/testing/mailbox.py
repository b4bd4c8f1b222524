"""MemoryMailbox: a mailbox that tools change as they would a provider's, and that can be told to lie."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from actions.tools.mailbox import KEY_HEADER, Mailbox, only, parsed
from schemas.account import Permission
from schemas.errors import StepFailed


@dataclass
class Mail:
    raw: bytes
    folder: str = "INBOX"
    labels: set[str] = field(default_factory=set)


@dataclass
class MemoryMailbox:
    """``lies``: it says yes and does nothing. ``answers``: the errors that the next sendings meet, after their effect
    where they are OutcomeUnknown."""

    address: str = "ann@example.org"
    mails: list[Mail] = field(default_factory=list)
    outgoing: list[tuple[str, bytes]] = field(default_factory=list)
    folders: tuple[str, ...] = ("INBOX", "Sent", "Archive")
    lies: bool = False

    async def send(self, letter: bytes, to: str, key: str) -> None:
        if self.lies or await self.sent(key) is not None:
            return
        self.outgoing.append((to, letter))
        self.mails.append(Mail(letter, "Sent", {"seen"}))

    async def sent(self, key: str) -> bytes | None:
        held = (mail.raw for mail in self.mails if mail.folder == "Sent")
        return next((raw for raw in held if parsed(raw)[KEY_HEADER] == key), None)

    async def read(self, message_id: str) -> bytes | None:
        found = self._find(message_id)
        return found.raw if found else None

    async def labels(self, message_id: str) -> frozenset[str] | None:
        found = self._find(message_id)
        return frozenset(found.labels) if found else None

    async def relabel(self, message_id: str, label: str, *, on: bool) -> None:
        if (found := self._find(message_id)) and not self.lies:
            (found.labels.add if on else found.labels.discard)(label)

    async def folder(self, message_id: str) -> str | None:
        found = self._find(message_id)
        return found.folder if found else None

    async def is_in(self, message_id: str, folder: str) -> bool:
        return (await self.folder(message_id) or "").lower() == folder.lower()

    async def move(self, message_id: str, folder: str) -> None:
        target = next((name for name in self.folders if name.lower() == folder.lower()), None)
        if target is None:
            raise StepFailed(f"there is no folder {folder!r}", code="not_found")
        if (found := self._find(message_id)) and not self.lies:
            found.folder = target

    def _find(self, message_id: str) -> Mail | None:
        return next((mail for mail in self.mails if str(parsed(mail.raw)["Message-ID"]).strip() == message_id), None)


@dataclass
class MemoryMailboxes:
    """One mailbox, granted everything, unless ``granted`` says otherwise."""

    box: MemoryMailbox = field(default_factory=MemoryMailbox)
    granted: tuple[Permission, ...] = ("send", "write")

    @asynccontextmanager
    async def open(self, account: str, permission: Permission) -> AsyncIterator[Mailbox]:
        only(["home"] if permission in self.granted else [], account, permission)
        yield self.box

    def address(self, account: str) -> str:
        return self.box.address
