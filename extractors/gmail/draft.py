"""Draft: a page in the making, and the records of mails."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from extractors.connector import Delete, Page, Rejected, Upsert
from extractors.gmail.known import Seen
from extractors.gmail.labels import flags_of, folder_of
from extractors.gmail.source import Mail
from schemas.model import Json

CONTENT_TYPE = "message/rfc822"


@dataclass(frozen=True, slots=True)
class Sizes:
    """``items`` and ``bytes`` bound a page; ``at_once``: questions that are under way together."""

    items: int = 200
    bytes: int = 8 * 1024 * 1024
    at_once: int = 6


@dataclass(slots=True)
class Draft:
    upserts: list[Upsert] = field(default_factory=list)
    deletes: list[Delete] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    size: int = 0

    def __len__(self) -> int:
        return len(self.upserts) + len(self.deletes) + len(self.rejected) + len(self.warnings)

    def is_full(self, sizes: Sizes) -> bool:
        return len(self) >= sizes.items or self.size >= sizes.bytes

    def upsert(self, mail: Mail, seen: Seen, owners: Iterable[str], *, is_new: bool) -> None:
        """``meta`` is what a mail folder's record has: ``extractors.mail.event.place_of`` reads it."""
        addresses: list[Json] = [*dict.fromkeys(filter(None, owners))]
        flags: list[Json] = [*flags_of(seen.bits)]
        meta: dict[str, Json] = {
            "name": mail.id,
            "folder": folder_of(seen.bits),
            "flags": flags,
            "role": "sent" if "SENT" in mail.labels else "inbox",
            "owners": addresses,
            "file_time": mail.at.isoformat(),
        }
        if mail.content_key:
            meta["content_key"] = mail.content_key
            meta["left_out"] = {path: list(what) for path, what in mail.body.left_out.items()}
        self.upserts.append(Upsert(mail.id, seen.version, mail.body.raw, CONTENT_TYPE, is_new, meta))
        self.size += len(mail.body.raw)

    def reject(self, name: str, code: str, reason: str) -> None:
        self.rejected.append(Rejected(f"mail {name}", code, reason))

    def page(self, cursor: Json, *, complete: bool, reset: bool) -> Page:
        return Page(
            upserts=self.upserts,
            deletes=self.deletes,
            rejected=self.rejected,
            warnings=self.warnings,
            next_cursor=cursor,
            complete=complete,
            reset=reset,
        )
