"""The event feed: shows one partition's events to the runs that wait for one, from where the oldest of them began.

It keeps no place of its own: after a restart it reads from the cursors that the journal has, and finds again what is
still waited for. While nobody waits it reads nothing.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

from actions.proposal.book import Book
from schemas.event import Event
from streams import topics
from streams.codec import decode_event
from streams.work import Log, read_entries


class EventFeed:
    def __init__(self, log: Log, partition: int) -> None:
        self._log = log
        self._partition = partition
        self._next = 0

    async def arrivals(self, books: Mapping[str, Book]) -> AsyncIterator[tuple[Book, str, str, Event]]:
        """(book, proposal, step uid, event) for each wait that an event ends; up to the end as of now."""
        waiting = {owner: book for owner, book in books.items() if book.waits.waits}
        if not waiting:
            return
        shown = {owner: set(book.waits.fresh) for owner, book in waiting.items()}
        start = self._start(waiting)
        needles = {f'"kind":"{kind}"'.encode() for book in waiting.values() for kind in book.waits.kinds()}
        async for entry in read_entries(self._log, topics.EVENTS, self._partition, start):
            self._next = max(self._next, entry.offset + 1)
            if entry.value is None or not any(needle in entry.value for needle in needles):
                continue
            event = decode_event(entry.value)
            book = waiting.get(event.owner)
            for proposal, uid in book.waits.found_by(event, entry.offset) if book else ():
                yield waiting[event.owner], proposal, uid, event
        for owner, book in waiting.items():
            book.waits.fresh -= shown[owner]

    def _start(self, waiting: Mapping[str, Book]) -> int:
        """Waits that are new here may have begun before what was read last."""
        cursors: list[int] = []
        for book in waiting.values():
            cursors += [book.waits.waits[place].cursor or 0 for place in book.waits.fresh]
            cursors += [self._next] if len(book.waits.fresh) < len(book.waits.waits) else []
        return min(cursors)
