"""The owner's memory as the service and the command line read it: the fold, its index, and what is shown of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import structlog

from actions.journal import JournalPort
from actions.memory.embedding import AT_ONCE, Embedder, MemoryMeter, alike
from actions.memory.recall import for_model, for_person
from actions.memory.remembering import STREAM, Memories
from actions.plain import clean
from actions.proposal.book import Book
from actions.setup import Setup
from forewatch.instants import local
from forewatch.settings import Settings
from forewatch.storage.memory import MemoryIndex
from schemas.clock import Clock
from schemas.errors import TransientError
from schemas.memory import Basis, Memory
from streams.journal import read_books
from streams.work import Log

logger = structlog.get_logger(__name__)

FOLLOW_EVERY_S = 2.0
MOST_S = 10.0
"""How long a person waits for vectors before words must do."""
_BEST = 3
"""Of what means the same, before what has the words."""


async def read_book(log: Log, settings: Settings) -> Book:
    """The owner's book, folded from the log; empty where nothing happened yet."""
    return (await read_books(log)).get(settings.owner) or Book(settings.owner)


def texts(memories: Iterable[Memory]) -> dict[str, str]:
    """What the index holds of each."""
    return {memory.id: for_person(memory) for memory in memories}


def index(settings: Settings, memories: Memories) -> MemoryIndex:
    """The index of the home, brought up to what the fold says. Blocks."""
    found = MemoryIndex(settings.home)
    found.sync(texts(memories), {memory.id: for_model(memory) for memory in memories})
    return found


class Notes:
    """The port of the memory's tools: the index of the home, off the event loop."""

    def __init__(self, home: Path) -> None:
        self._index = MemoryIndex(home)

    async def recall(self, words: str, limit: int) -> list[str]:
        return await asyncio.to_thread(lambda: self._index.lines(self._index.search(words, limit)))

    async def keep(self, key: str, memory: str, text: str) -> None:
        await asyncio.to_thread(self._index.keep, key, memory, text)

    async def kept(self, key: str) -> str | None:
        return await asyncio.to_thread(self._index.kept, key)


@dataclass
class Meaning:
    """Search by meaning: vectors of the configured server where it answers, full text where it does not."""

    embedder: Embedder
    model: str
    setup: Setup
    clock: Clock
    index: MemoryIndex
    port: Callable[[], JournalPort | None]

    async def follow(self, book: Book) -> None:
        """Vectors for what has none. A server that is away, or a spent budget, leaves the rest for the next time."""
        known = self.index.vectors(self.model)
        missing = [memory for memory in book.memory if memory.id not in known]
        for start in range(0, len(missing), AT_ONCE):
            some = missing[start : start + AT_ONCE]
            vectors = await self._embed(book, [for_model(memory) for memory in some], [memory.id for memory in some])
            if vectors is None:
                return
            made = {memory.id: vector for memory, vector in zip(some, vectors, strict=True)}
            await asyncio.to_thread(self.index.keep_vectors, self.model, made)

    async def search(self, book: Book, query: str) -> list[str]:
        """What means the same first, then what has the words."""
        by_words = await asyncio.to_thread(self.index.search, query)
        known = await asyncio.to_thread(self.index.vectors, self.model)
        asked = await self._embed(book, [query], []) if known else None
        by_meaning = alike(asked[0], known) if asked else []
        return list(dict.fromkeys((*by_meaning[:_BEST], *by_words, *by_meaning[_BEST:])))

    async def _embed(self, book: Book, texts: list[str], ids: list[str]) -> list[list[float]] | None:
        port, limits = self.port(), self.setup.model
        if port is None or limits is None:
            return None
        from actions.planning.ask import Failure, Limits  # only where a model is asked

        meter = MemoryMeter(port, book, self.setup, self.clock, self.model, ids)
        found = await self.embedder.embed(self.model, texts, Limits(timeout_s=min(limits.timeout_s, MOST_S)), meter)
        if isinstance(found, Failure):
            logger.info("no vectors: full text alone", action="memory_full_text", code=found.code)
            return None
        return found


async def keep_index(settings: Settings, books: Callable[[], Iterable[Book]], meaning: Meaning | None = None) -> None:
    """For ever: the index follows what a running service learns, so that plans find it; and so do the vectors."""
    seen = -1
    while True:
        book = next((book for book in books() if book.owner == settings.owner), None)
        if book is not None and book.memory.revision != seen:
            seen = book.memory.revision
            try:
                await asyncio.to_thread(index, settings, book.memory)
                if meaning is not None:
                    await meaning.follow(book)
            except TransientError as error:
                logger.warning("the memory's index is behind", action="memory_behind", error=str(error))
                seen = -1
        await asyncio.sleep(FOLLOW_EVERY_S)


def documents(book: Book, memories: Iterable[Memory], zone: ZoneInfo) -> list[dict[str, Any]]:
    """JSON-able, each with what it rests on, in words for the person, by whose clock ``zone`` is."""
    return [{**memory.model_dump(mode="json"), "says": for_person(memory), "because": _because(book, memory, zone)}
            for memory in memories]  # fmt: skip


def lines(document: Mapping[str, Any], zone: ZoneInfo) -> Iterator[str]:
    """One memory for a person to read."""
    first, last = (local(document[name], zone) for name in ("first", "last"))
    yield document["says"]
    yield f"  {document['kind']}, {document['standing']}, by {'you' if document['by'] == 'person' else 'forewatch'}"
    yield f"  {document['support']} times, first on {first}, last on {last}"
    yield from (f"  because: {line}" for line in document["because"])
    yield f"  you can: {', '.join(verbs(document))}"
    yield f"  id {document['id']}"


def verbs(document: Mapping[str, Any]) -> Sequence[str]:
    """The commands that can be obeyed."""
    can_keep = document["code"] == "default" and document["standing"] != "confirmed"
    return (*["keep"] * can_keep, *["correct"] * (document["code"] in ("default", "note")), "forget")


def _because(book: Book, memory: Memory, zone: ZoneInfo) -> list[str]:
    return [_act(book, basis, zone) for basis in memory.basis]


def _act(book: Book, basis: Basis, zone: ZoneInfo) -> str:
    at = local(basis.at, zone)
    if basis.stream == STREAM:
        return f"{at}  you told it so"
    state = book.proposals.get(basis.stream)
    title = clean(state.title, 120) if state else "a proposal"
    return f"{at}  {basis.stream[:8]} {title}"
