"""Writer: what a session may change once its person has granted that. Only tools use it; polls never do."""

from __future__ import annotations

import contextlib
import imaplib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from extractors.imap.folders import CLOSED, INBOX, sent_names
from extractors.imap.session import Session

FOLDERS_CAP = 100
"""Folders that a mail is looked for in."""
DRAFT, SEEN = "\\Draft", "\\Seen"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a mail is."""

    folder: str
    uid: int
    flags: frozenset[str]


class Writer:
    """Used by one thread at a time; raises what imaplib, ssl and the parsers do, as ``Session``."""

    def __init__(self, session: Session) -> None:
        self._client = session.client
        self._names: list[str] | None = None
        self._sent = ""

    @property
    def sent_folder(self) -> str:
        """Of sent mails; "Sent", which is made, where there is none."""
        self._list()
        return self._sent

    def folders(self) -> list[str]:
        """Those that can be opened, the inbox first."""
        return self._list()

    def _list(self) -> list[str]:
        if self._names is None:
            listed = [
                (frozenset(_text(flag).lower() for flag in flags), str(name))
                for flags, _, name in self._client.list_folders()
            ]
            sent = sent_names(listed)
            names = [name for attributes, name in listed if not attributes & CLOSED]
            self._names = sorted(names, key=lambda name: name != INBOX)[:FOLDERS_CAP]
            self._sent = next((name for name in names if name in sent), "")
            if not self._sent:
                self._client.create_folder("Sent")
                self._names.append("Sent")
                self._sent = "Sent"
        return self._names

    def find(self, message_id: str, folders: Iterable[str] = ()) -> list[Place]:
        """By Message-ID (``<...>``), in these folders, else in all; the first folder that has it ends the search."""
        for folder in folders or self.folders():
            found = self._in(folder, message_id)
            if found:
                return found
        return []

    def _in(self, folder: str, message_id: str) -> list[Place]:
        try:
            self._client.select_folder(folder, readonly=True)
        except imaplib.IMAP4.abort:
            raise
        except imaplib.IMAP4.error:  # it may not be opened
            return []
        uids = list(self._client.search(["HEADER", "Message-ID", message_id]))
        if not uids:
            return []
        fetched = self._client.fetch(uids, ["FLAGS"])
        return [
            Place(folder, uid, frozenset(_text(flag) for flag in fetched[uid][b"FLAGS"]))
            for uid in sorted(uids)
            if uid in fetched
        ]

    def read(self, place: Place) -> bytes | None:
        self._client.select_folder(place.folder, readonly=True)
        body = self._client.fetch([place.uid], ["BODY.PEEK[]"]).get(place.uid, {}).get(b"BODY[]")
        return body if isinstance(body, bytes) else None

    def append(self, folder: str, mail: bytes, flags: Sequence[str]) -> None:
        self._client.append(folder, mail, flags)

    def flag(self, place: Place, flag: str, *, on: bool) -> None:
        self._client.select_folder(place.folder)
        change = self._client.add_flags if on else self._client.remove_flags
        change([place.uid], [flag])

    def move(self, place: Place, folder: str) -> None:
        self._client.select_folder(place.folder)
        if self._client.has_capability("MOVE"):
            self._client.move([place.uid], folder)
            return
        self._client.copy([place.uid], folder)
        self.remove(place)

    def remove(self, place: Place) -> None:
        """This one mail; without UIDPLUS it stays marked, because EXPUNGE would take others along."""
        self._client.select_folder(place.folder)
        self._client.add_flags([place.uid], ["\\Deleted"])
        if self._client.has_capability("UIDPLUS"):
            with contextlib.suppress(imaplib.IMAP4.readonly):
                self._client.uid_expunge([place.uid])


def _text(flag: object) -> str:
    return flag.decode("ascii", "replace") if isinstance(flag, bytes) else str(flag)
