"""Reading mails of a folder, a page at a time, while the server looks up the next page."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from extractors.imap.answers import Envelope
from extractors.imap.look import Look
from extractors.imap.session import Asked, Session
from extractors.mail import limits
from schemas.errors import TransientError


@dataclass(frozen=True, slots=True)
class PageSize:
    """``mails`` and ``size`` (bytes) bound a page: what is lost when the process dies, and what memory holds."""

    mails: int = 500
    size: int = 8 * 1024 * 1024


class Reader:
    """``oldest``: what came before it is not read. ``unanswered``: UIDs that the server was asked for in vain."""

    def __init__(self, session: Session, page: PageSize, oldest: datetime | None) -> None:
        self._session = session
        self._page = page
        self._oldest = oldest
        self.unanswered: list[int] = []

    def read(self, each: Look, wanted: Sequence[int]) -> Iterator[tuple[list[Envelope], dict[int, bytes]]]:
        """Mails with their bodies, a page at a time. The next page is on its way while one is worked on."""
        self.unanswered = []
        if not wanted:
            return
        self._enter(each)
        session, under_way = self._session, deque[tuple[list[Envelope], Asked | None]]()
        batches = [wanted[start : start + self._page.mails] for start in range(0, len(wanted), self._page.mails)]
        asked = session.ask_envelopes(batches[0])
        for batch, following in zip(batches, [*batches[1:], []], strict=True):
            found = session.envelopes(asked)
            self.unanswered += [uid for uid in batch if uid not in found]
            if following:
                asked = session.ask_envelopes(following)
            for part in _parts([found[uid] for uid in batch if uid in found], self._page.size):
                readable = [mail.uid for mail in part if self._is_readable(mail)]
                under_way.append((part, session.ask_bodies(readable) if readable else None))
                if len(under_way) > 1:
                    yield self._read_part(*under_way.popleft())
        for last in under_way:
            yield self._read_part(*last)

    def _read_part(self, part: list[Envelope], asked: Asked | None) -> tuple[list[Envelope], dict[int, bytes]]:
        if asked is None:
            return part, {}
        bodies = self._session.bodies(asked)
        self.unanswered += [uid for uid in sorted(asked.uids) if uid not in bodies]
        return part, bodies

    def _is_readable(self, mail: Envelope) -> bool:
        is_old = self._oldest is not None and mail.at is not None and mail.at < self._oldest
        return mail.size <= limits.MESSAGE_BYTES and not is_old

    def _enter(self, each: Look) -> None:
        """Open the folder again, unless it is open. TransientError when it is not the one that was looked at."""
        if self._session.opened == each.folder.name:
            return
        opened = self._session.open(each.folder.name)
        if opened is None or opened.standing.validity != each.standing.validity:
            raise TransientError(f"the folder {each.folder.name} changes while it is read")


def _parts(mails: Sequence[Envelope], size: int) -> Iterator[list[Envelope]]:
    """In order, each part below this many bytes or of one mail."""
    part: list[Envelope] = []
    total = 0
    for mail in mails:
        counted = 0 if mail.size > limits.MESSAGE_BYTES else mail.size
        if part and total + counted > size:
            yield part
            part, total = [], 0
        part.append(mail)
        total += counted
    if part:
        yield part
