"""The cursor of a bankfile account: which files were read, and the passbook of their rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from extractors.bank.passbook import Passbook
from extractors.bankfile.folder import Found
from schemas.errors import CursorExpired
from schemas.model import Json

VERSION = 1
FILES_LIMIT = 1_000
_HASH = 24

FileState = Literal["read", "waiting"]


@dataclass(frozen=True, slots=True)
class Seen:
    """A file as it was when it was read, or when it was found with an end that may not be its last."""

    size: int
    mtime_ns: int
    sha256: str
    state: FileState

    def is_unchanged(self, found: Found) -> bool:
        return (self.size, self.mtime_ns) == (found.size, found.mtime_ns)


@dataclass(slots=True)
class Cursor:
    """``files`` by name; those that are gone stay, for a folder that is empty today may be back tomorrow."""

    files: dict[str, Seen] = field(default_factory=dict)
    orders: dict[str, str] = field(default_factory=dict)
    book: Passbook = field(default_factory=Passbook)

    def was_read(self, sha256: str) -> bool:
        """Whether a file with this content was read, under whatever name."""
        return any(seen.state == "read" and seen.sha256 == sha256[:_HASH] for seen in self.files.values())

    def note(self, found: Found, sha256: str, state: FileState) -> None:
        self.files.pop(found.name, None)
        self.files[found.name] = Seen(found.size, found.mtime_ns, sha256[:_HASH], state)
        while len(self.files) > FILES_LIMIT:
            del self.files[next(iter(self.files))]

    def is_waiting(self, found: Found, sha256: str) -> bool:
        """Whether the file was found open-ended before, with this very content."""
        seen = self.files.get(found.name)
        return seen is not None and seen.state == "waiting" and seen.sha256 == sha256[:_HASH]

    def dump(self) -> Json:
        return {
            "v": VERSION,
            "files": {name: [seen.size, seen.mtime_ns, seen.sha256, seen.state] for name, seen in self.files.items()},
            "orders": dict(self.orders),
            "book": self.book.dump(),
        }


def load(stored: Any) -> Cursor:
    """CursorExpired for what this version did not write."""
    if stored is None:
        return Cursor()
    if not isinstance(stored, dict) or stored.get("v") != VERSION:
        raise CursorExpired("the cursor of a bankfile account is of another version")
    try:
        files = {str(name): Seen(*entry) for name, entry in stored["files"].items()}
        return Cursor(files, dict(stored["orders"]), Passbook.load(stored["book"]))
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise CursorExpired("the cursor of a bankfile account is not readable") from error
