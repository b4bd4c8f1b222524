"""One poll of a bankfile account: which files are worth reading now, and the pages that they become."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from hashlib import sha256

from extractors.bank.passbook import Taken
from extractors.bankfile.cursor import Cursor
from extractors.bankfile.folder import Found, content
from extractors.bankfile.parsed import MAX_BYTES, Given, Parsed, Refuse
from extractors.bankfile.reader import read
from extractors.connector import Delete, Page, Question, Rejected, Upsert
from schemas.model import Json

BATCH_BYTES = 64 * 1024 * 1024
"""Files that are held in memory at once, to be handed out oldest first."""


@dataclass(frozen=True, slots=True)
class _Ready:
    """A file that was read whole; ``parsed`` None: it was refused, or is a copy of a known one."""

    found: Found
    sha256: str
    parsed: Parsed | None = None
    refused: Rejected | None = None

    @property
    def begins_on(self) -> date:
        statements = self.parsed.statements if self.parsed else []
        return min((row.booked_on for each in statements for row in each.rows), default=date.min)


@dataclass(slots=True)
class Poll:
    """Blocking: runs in a thread. Each page's cursor knows everything up to and including that page's file."""

    account: str
    cursor: Cursor
    stored: Json
    """The cursor as it came; None at first."""
    given: Given
    page_rows: int
    questions: list[Question] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    open_ended: list[tuple[Found, str]] = field(default_factory=list)

    def pages(self, files: Sequence[Found]) -> Iterator[Page]:
        """The last page is complete; it tells what waits and what is asked."""
        if self.cursor.files and not files:
            self.warnings.append("the folder is empty; what was read from it stays")
        for batch in self._batches(files):
            for ready in sorted(batch, key=lambda ready: (ready.begins_on, ready.found.name)):
                yield from self._hand_out(ready)
        for found, digest in self.open_ended:  # only now: a poll that dies was no look at them
            self.cursor.note(found, digest, "waiting")
        after = self.cursor.dump()
        yield Page(
            questions=tuple(self.questions),
            warnings=tuple(self.warnings),
            next_cursor=None if after == self.stored else after,
            complete=True,
        )

    def _batches(self, files: Sequence[Found]) -> Iterator[list[_Ready]]:
        batch: list[_Ready] = []
        size = 0
        for found in files:
            seen = self.cursor.files.get(found.name)
            if seen is not None and seen.state == "read" and seen.is_unchanged(found):
                continue
            ready = self._ready(found)
            if ready is not None:
                batch.append(ready)
                size += found.size
            if size > BATCH_BYTES:
                yield batch
                batch, size = [], 0
        yield batch

    def _ready(self, found: Found) -> _Ready | None:
        """None for a file that must wait: it says why, and the cursor keeps no trace but of an open end."""
        if found.size > MAX_BYTES:
            digest = sha256(f"{found.size}:{found.mtime_ns}".encode()).hexdigest()
            reason = f"larger than {MAX_BYTES // 2**20} MB"
            return _Ready(found, digest, refused=Rejected(found.name, "too_large", reason))
        raw = self._content(found)
        if raw is None:
            return None
        digest = sha256(raw).hexdigest()
        if self.cursor.was_read(digest):
            return _Ready(found, digest)
        try:
            parsed = read(raw, found.name, self.given)
        except Refuse as error:
            if self._has_shrunk(found):
                self.warnings.append(f"{found.name} is damaged ({error.reason}); it waits until it is whole")
                return None
            refused = Rejected(found.name, error.code, error.reason, raw[:500])
            return _Ready(found, digest, refused=refused)
        return None if self._must_wait(found, digest, parsed) else _Ready(found, digest, parsed)

    def _content(self, found: Found) -> bytes | None:
        try:
            raw = content(found)
        except OSError as error:
            self.warnings.append(f"{found.name}: {error.strerror or error}; it is tried again")
            return None
        if raw is None:
            self.warnings.append(f"{found.name} is still being written; it waits for the next poll")
        elif not raw:
            self.warnings.append(f"{found.name} is empty; it waits for the next poll")
        return raw or None

    def _must_wait(self, found: Found, digest: str, parsed: Parsed) -> bool:
        """A file that ends in the middle, or in a way that may not be its last, is not read yet.

        An open end is believed when nothing has changed since the last poll, unless the file has lost a part that it
        had before.
        """
        if parsed.is_cut or (parsed.is_open and self._has_shrunk(found)):
            self.warnings.append(f"{found.name} ends in the middle; it waits until it is whole")
            return True
        if parsed.questions:
            self.questions += parsed.questions
            return True
        if parsed.is_open and not self.cursor.is_waiting(found, digest):
            self.open_ended.append((found, digest))
            self.warnings.append(f"{found.name} may still be growing; it waits for the next poll")
            return True
        return False

    def _has_shrunk(self, found: Found) -> bool:
        seen = self.cursor.files.get(found.name)
        return seen is not None and seen.state == "read" and found.size < seen.size

    def _hand_out(self, ready: _Ready) -> Iterator[Page]:
        """The file's changes in pages; only the last moves the cursor, so a poll that dies repeats the file."""
        taken = Taken()
        rejected = [ready.refused] if ready.refused else []
        if ready.parsed is not None:
            taken = self.cursor.book.take(self.account, ready.parsed.statements)
            self.cursor.orders |= ready.parsed.orders
            rejected += ready.parsed.all_rejected(ready.found.name)
            self.warnings += [f"{ready.found.name}: {warning}" for warning in ready.parsed.warnings]
        self.cursor.note(ready.found, ready.sha256, "read")
        *first, (upserts, deletes) = _chunks(taken, self.page_rows)
        for earlier_upserts, earlier_deletes in first:
            yield Page(upserts=earlier_upserts, deletes=earlier_deletes)
        if upserts or deletes or rejected:
            yield Page(upserts=upserts, deletes=deletes, rejected=tuple(rejected), next_cursor=self.cursor.dump())


def _chunks(taken: Taken, size: int) -> list[tuple[Sequence[Upsert], Sequence[Delete]]]:
    """At least one, of at most ``size`` upserts and as many deletes."""
    starts = range(0, max(len(taken.upserts), len(taken.deletes), 1), size)
    return [(tuple(taken.upserts[i : i + size]), tuple(taken.deletes[i : i + size])) for i in starts]
