"""The owner's memory as the service and the command line read it: the fold, its index, and what is shown of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from actions.book import Book
from actions.plain import clean
from actions.recall import for_person
from actions.remembering import STREAM, Memories
from forewatch.settings import Settings
from forewatch.storage.memory import MemoryIndex
from schemas.memory import Basis, Memory
from streams.journal import read_books
from streams.work import Log


async def read_book(log: Log, settings: Settings) -> Book:
    """The owner's book, folded from the log; empty where nothing happened yet."""
    return (await read_books(log)).get(settings.owner) or Book(settings.owner)


def texts(memories: Iterable[Memory]) -> dict[str, str]:
    """What the index holds of each."""
    return {memory.id: for_person(memory) for memory in memories}


def index(settings: Settings, memories: Memories) -> MemoryIndex:
    """The index of the home, brought up to what the fold says. Blocks."""
    found = MemoryIndex(settings.home)
    found.sync(texts(memories))
    return found


def documents(book: Book, memories: Iterable[Memory]) -> list[dict[str, Any]]:
    """JSON-able, each with what it rests on."""
    return [{**memory.model_dump(mode="json"), "says": for_person(memory), "because": _because(book, memory)}
            for memory in memories]  # fmt: skip


def lines(document: Mapping[str, Any]) -> Iterator[str]:
    """One memory for a person to read."""
    yield document["says"]
    yield f"  {document['kind']}, {document['standing']}, by {'you' if document['by'] == 'person' else 'forewatch'}"
    yield f"  {document['support']} times, first on {document['first'][:10]}, last on {document['last'][:10]}"
    yield from (f"  because: {line}" for line in document["because"])
    yield f"  you can: {', '.join(verbs(document))}"
    yield f"  id {document['id']}"


def verbs(document: Mapping[str, Any]) -> Sequence[str]:
    """The commands that can be obeyed."""
    can_keep = document["code"] == "default" and document["standing"] != "confirmed"
    return (*["keep"] * can_keep, *["correct"] * (document["code"] in ("default", "note")), "forget")


def _because(book: Book, memory: Memory) -> list[str]:
    return [_act(book, basis) for basis in memory.basis]


def _act(book: Book, basis: Basis) -> str:
    at = f"{basis.at:%Y-%m-%d %H:%M} UTC"
    if basis.stream == STREAM:
        return f"{at}  you told it so"
    state = book.proposals.get(basis.stream)
    title = clean(state.title, 120) if state else "a proposal"
    return f"{at}  {basis.stream[:8]} {title}"
