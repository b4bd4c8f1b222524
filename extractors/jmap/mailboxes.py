"""The mailboxes of a JMAP account: which of them count, and where a mail in several of them is said to be."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from extractors.text import one_line
from schemas.errors import AuthError, TransientError

_NEVER = frozenset({"drafts", "trash", "junk", "templates", "scheduled", "memos"})
_DEPTH_CAP = 20
_ID = re.compile(r"[A-Za-z0-9_-]{1,255}")


@dataclass(frozen=True, slots=True)
class Mailbox:
    """``place`` is a byte of its id."""

    id: str
    path: str
    role: str
    total: int
    place: int

    @property
    def rank(self) -> tuple[bool, bool, str]:
        """Of several mailboxes of one mail, the lowest is where it is."""
        return self.role != "sent", self.role != "inbox", self.path


@dataclass(frozen=True, slots=True)
class Mailboxes:
    """The watched ones, by id. ``never``: those in which a mail counts for gone wherever else it is."""

    watched: Mapping[str, Mailbox]
    never: frozenset[str]

    @property
    def total(self) -> int:
        return sum(mailbox.total for mailbox in self.watched.values())

    def of(self, ids: Iterable[str]) -> Mailbox | None:
        """Where a mail is that is in these; None where it is in none that counts."""
        found = set(ids)
        if found & self.never:
            return None
        return min((self.watched[id] for id in found if id in self.watched), key=lambda box: box.rank, default=None)


def read_mailboxes(items: Any, only: Sequence[str]) -> Mailboxes:
    """TransientError for a list that holds none. AuthError for a name in ``only`` that is not there."""
    listed = {item["id"]: item for item in items if _is_mailbox(item)} if isinstance(items, list) else {}
    if not listed:
        raise TransientError("the mail server lists no mailbox at all")
    never = frozenset(id for id in listed if _is_never(id, listed))
    found = {id: _mailbox(id, listed) for id in listed if id not in never}
    if only:
        wanted = {path.casefold() for path in only}
        if missing := wanted - {mailbox.path.casefold() for mailbox in found.values()}:
            raise AuthError(f"there is no mailbox {min(missing)!r}", remedy="correct the account's mailboxes")
        found = {id: mailbox for id, mailbox in found.items() if mailbox.path.casefold() in wanted}
    return Mailboxes(found, never)


def _is_mailbox(item: Any) -> bool:
    return isinstance(item, dict) and is_id(item.get("id"))


def is_id(value: Any) -> bool:
    """RFC 8620, section 1.2."""
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def _mailbox(id: str, listed: Mapping[str, Any]) -> Mailbox:
    item = listed[id]
    line = _line(id, listed)
    path = "/".join(_name(listed[each]) for each in reversed(line))
    roles = [_role(listed[each]) for each in line]
    role = "sent" if "sent" in roles else roles[0]
    total = item.get("totalEmails")
    place = hashlib.sha256(id.encode()).digest()[0]
    return Mailbox(id, path[:500], role, total if isinstance(total, int) else 0, place)


def _is_never(id: str, listed: Mapping[str, Any]) -> bool:
    return any(_role(listed[each]) in _NEVER for each in _line(id, listed))


def _name(item: Mapping[str, Any]) -> str:
    name = item.get("name")
    return one_line(name.encode("utf-8", "replace").decode(), 200) if isinstance(name, str) else str(item["id"])


def _role(item: Mapping[str, Any]) -> str:
    role = item.get("role")
    return role if isinstance(role, str) else ""


def _line(id: str, listed: Mapping[str, Any]) -> list[str]:
    """The mailbox and those that it is in, from the inside out."""
    line: list[str] = []
    next_id: Any = id
    while isinstance(next_id, str) and next_id in listed and next_id not in line and len(line) < _DEPTH_CAP:
        line.append(next_id)
        next_id = listed[next_id].get("parentId")
    return line
