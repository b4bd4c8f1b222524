"""A mailbox on an IMAP server, which sends by SMTP.

SMTP knows no keys and shows nothing afterwards, so the copy among the sent mails is the account of what was done: it is
put there *before* the letter is handed over, marked as a draft, and the mark goes when the server has taken it. A mark
that stays says that nobody knows: then the person is asked.
"""

from __future__ import annotations

import imaplib
import logging
from collections.abc import Callable
from typing import Any, TypeVar

from actions.tools.mailbox import message_id
from extractors.connector import Access
from extractors.imap.config import ImapConfig
from extractors.imap.errors import translated
from extractors.imap.login import Door, in_thread, log_in
from extractors.imap.session import Session
from extractors.imap.writer import DRAFT, SEEN, Place, Writer
from forewatch.outgoing.smtp import submit
from schemas.errors import AuthError, ForewatchError, NotSent, OutcomeUnknown, StepFailed, TransientError

log = logging.getLogger(__name__)
T = TypeVar("T")
_FLAGS = {"seen": SEEN, "flagged": "\\Flagged", "answered": "\\Answered"}


def address_of(config: ImapConfig) -> str:
    """From which the account sends."""
    return next(iter(config.owners), config.username)


class ImapMailbox:
    """Logs in when it is first needed; close it."""

    def __init__(self, config: ImapConfig, access: Access, door: Door) -> None:
        self._config = config
        self._access = access
        self._door = door
        self._session: Session | None = None
        self._writer: Writer | None = None

    @property
    def address(self) -> str:
        return address_of(self._config)

    def close(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = self._writer = None

    async def send(self, letter: bytes, to: str, key: str) -> None:
        identity = message_id(key, self.address)
        found = await self._look(lambda writer: _copies(writer, identity))
        if any(DRAFT not in place.flags for place in found):
            return
        if not found:
            await self._look(lambda writer: writer.append(writer.sent_folder, letter, [SEEN, DRAFT]))
        try:
            await submit(self._config, await self._credential(), self._door, letter, self.address, to)
        except OutcomeUnknown:
            raise
        except ForewatchError:
            await self._quietly(lambda writer: _withdraw(writer, identity))
            raise
        await self._quietly(lambda writer: _confirm(writer, identity))

    async def sent(self, key: str) -> bytes | None:
        identity = message_id(key, self.address)
        found = await self._look(lambda writer: _copies(writer, identity))
        done = [place for place in found if DRAFT not in place.flags]
        if done:
            return await self._look(lambda writer: writer.read(done[0]))
        if found:
            raise OutcomeUnknown("the letter was handed over, and no answer is known")
        return None

    async def read(self, message_id: str) -> bytes | None:
        found = await self._look(lambda writer: writer.find(message_id))
        return await self._look(lambda writer: writer.read(found[0])) if found else None

    async def labels(self, message_id: str) -> frozenset[str] | None:
        found = await self._look(lambda writer: writer.find(message_id))
        if not found:
            return None
        return frozenset(flag.lower().removeprefix("\\") for flag in found[0].flags)

    async def relabel(self, message_id: str, label: str, *, on: bool) -> None:
        place = await self._place(message_id)
        await self._change(lambda writer: writer.flag(place, _FLAGS.get(label, label), on=on))

    async def folder(self, message_id: str) -> str | None:
        found = await self._look(lambda writer: writer.find(message_id))
        return found[0].folder if found else None

    async def is_in(self, message_id: str, folder: str) -> bool:
        return (await self.folder(message_id) or "").lower() == folder.lower()

    async def move(self, message_id: str, folder: str) -> None:
        place = await self._place(message_id)
        names = await self._look(lambda writer: writer.folders())
        target = next((name for name in names if name.lower() == folder.lower()), None)
        if target is None:
            raise StepFailed(f"there is no folder {folder!r}", code="not_found", remedy="make it in your mail program")
        await self._change(lambda writer: writer.move(place, target))

    async def _place(self, message_id: str) -> Place:
        found = await self._look(lambda writer: writer.find(message_id))
        if not found:
            raise StepFailed("the mail is not there", code="not_found")
        return found[0]

    async def _credential(self) -> str:
        return await self._access.token() if self._config.provider else self._access.secret("password")

    async def _look(self, work: Callable[[Writer], T]) -> T:
        """What sends nothing: whatever goes wrong, it may be tried again."""
        try:
            return await self._do(work)
        except (AuthError, StepFailed, NotSent):
            raise
        except TransientError as error:
            raise NotSent(error.message, remedy=error.remedy) from error

    async def _change(self, work: Callable[[Writer], Any]) -> None:
        try:
            await self._do(work)
        except TransientError as error:
            raise OutcomeUnknown(error.message) from error

    async def _quietly(self, work: Callable[[Writer], Any]) -> None:
        """After the letter was handed over: what is missing then shows when the copy is looked for."""
        try:
            await self._do(work)
        except ForewatchError as error:
            log.warning("the copy of a sent mail could not be marked: %s", error)

    async def _do(self, work: Callable[[Writer], T]) -> T:
        session, writer = await self._entered()

        def step() -> T:
            try:
                return work(writer)
            except imaplib.IMAP4.abort as error:
                raise translated(error, self._config.host) from error
            except imaplib.IMAP4.error as error:
                raise StepFailed(f"{self._config.host} refuses: {str(error)[:200]}", code="invalid") from error
            except Exception as error:
                raise translated(error, self._config.host) from error

        return await in_thread(step, session.hang_up, lambda nothing: None)

    async def _entered(self) -> tuple[Session, Writer]:
        if self._session is None or self._writer is None:
            try:
                self._session = await log_in(self._config, self._access, self._door)
            except TransientError as error:
                raise NotSent(error.message, remedy=error.remedy) from error
            self._writer = Writer(self._session)
        return self._session, self._writer


def _copies(writer: Writer, identity: str) -> list[Place]:
    return writer.find(identity, [writer.sent_folder])


def _withdraw(writer: Writer, identity: str) -> None:
    """The server did not take it."""
    for place in _copies(writer, identity):
        if DRAFT in place.flags:
            writer.remove(place)


def _confirm(writer: Writer, identity: str) -> None:
    """Some servers keep a copy of their own: then ours goes, else its mark."""
    ours = [place for place in _copies(writer, identity) if DRAFT in place.flags]
    others = [place for place in _copies(writer, identity) if DRAFT not in place.flags]
    for place in ours:
        if others:
            writer.remove(place)
        else:
            writer.flag(place, DRAFT, on=False)
