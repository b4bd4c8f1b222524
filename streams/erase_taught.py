"""What was learnt only from what is to be erased: memories that the rest of the journal would not teach (law L10)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from actions.proposal.book import Book
from schemas.journal import JournalEntry
from streams.journal import EpochFilter


def only_taught_by(entries: Sequence[JournalEntry], goes: Callable[[JournalEntry], bool]) -> set[str]:
    """Ids of memories, forgotten ones too, that without the entries that go there would never have been."""
    return _taught(entries) - _taught([_erased(entry) if goes(entry) else entry for entry in entries])


def valid(entries: Iterable[JournalEntry]) -> Iterator[JournalEntry]:
    """Without claims and what was fenced off; partition by partition, each of which begins with a claim of its own."""
    epochs: dict[str, EpochFilter] = {}
    current = EpochFilter()
    for entry in entries:
        if entry.type == "epoch.claimed":
            current = epochs.setdefault(entry.stream, EpochFilter())
        if current.admits(entry) and entry.type != "epoch.claimed":
            yield entry


def _erased(entry: JournalEntry) -> JournalEntry:
    return entry.model_copy(update={"type": "erased", "body": {}})


def _taught(entries: Iterable[JournalEntry]) -> set[str]:
    books: dict[str, Book] = {}
    for entry in entries:
        books.setdefault(entry.owner, Book(entry.owner)).apply(entry)
    return {memory for book in books.values() for memory in book.memory.ever}
