"""Substream: one reading for each row of another stream, a few at a time, each taken as a whole or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from extractors.connector import Context, Page
from extractors.rest import rows
from extractors.rest.changes import PAGE_ITEMS, Changes, Judge, bind
from extractors.rest.definition import Definition, Stream
from extractors.rest.request import Ask
from extractors.rest.source import Restart, Source, StreamBroken, StreamRefused
from extractors.rest.state import Book
from schemas.errors import RateLimited, TransientError
from schemas.ids import digest
from schemas.model import Json

ITEMS_CAP = 20_000
"""Rows read for one parent."""
HOPELESS = 5
"""So many parents that cannot be read, and none that can: it is not they who are at fault."""
_GONE = (404, 410)


@dataclass(frozen=True, slots=True)
class _Reading:
    """``pages`` is 0 where nothing could be read; ``error`` says why, if it is one."""

    items: Sequence[Json] = ()
    pages: int = 0
    notes: tuple[str, ...] = ()
    error: StreamRefused | TransientError | None = None


class Substream:
    """One foreach stream's part of one poll. Its cursor names the parent that was read last."""

    def __init__(
        self, definition: Definition, stream: Stream, book: Book, source: Source, context: Context, page_items: int
    ) -> None:
        self._definition = definition
        self._stream = stream
        self._book = book
        self._source = source
        self._context = context
        self._judge = Judge(definition, book, context.zone)
        self._size = page_items or PAGE_ITEMS
        self._state = book.stream(stream.name)

    async def pages(self) -> AsyncIterator[Page]:
        state = self._state
        now = digest([self._stream.model_dump(mode="json"), self._definition.zone])
        reset = bool(state.digest) and state.digest != now
        state.digest = now
        waiting = sorted(parent for parent in state.parents if parent > state.after)
        step = self._definition.http.concurrency
        failures, has_succeeded = 0, False
        for at in range(0, len(waiting), step):
            some = waiting[at : at + step]
            changes = Changes()
            for parent, reading in zip(some, await self._together(some), strict=True):
                if reading.error is None:
                    has_succeeded = True
                    await self._take(parent, reading, changes)
                    continue
                failures += 1
                changes.warnings.append(str(reading.error))
                if not has_succeeded and failures >= min(HOPELESS, len(waiting)):
                    raise reading.error
            state.after = some[-1]
            if at + step >= len(waiting):
                self._finish()
            for page in changes.pages(self._book, self._size, reset=reset):
                yield page
        if not waiting:
            self._finish()

    def _finish(self) -> None:
        self._state.after = ""
        self._state.read_at = self._context.now.isoformat()

    async def _together(self, parents: Sequence[str]) -> Sequence[_Reading]:
        """Nothing is left running when one of them ends the poll."""
        ended = await asyncio.gather(*map(self._tried, parents), return_exceptions=True)
        readings = [each for each in ended if isinstance(each, _Reading)]
        if len(readings) < len(ended):
            raise next(each for each in ended if isinstance(each, BaseException))
        return readings

    async def _tried(self, parent: str) -> _Reading:
        """One parent that cannot be read must not keep us from the others."""
        try:
            return await self._read(parent)
        except RateLimited:
            raise
        except (StreamRefused, TransientError) as error:
            return _Reading(error=error)

    async def _read(self, parent: str) -> _Reading:
        """All pages of one parent. A parent that the source does not know any more leaves everything as it was: it is
        its own stream that says whether it is gone."""
        values = bind(self._stream, self._state.parents[parent])
        items: list[Json] = []
        notes: list[str] = []
        position: Json = None
        seen: set[str] = set()
        for number in range(1, self._stream.max_pages + 1):
            try:
                listed = await self._source.page(Ask(self._stream, position=position, bind=values))
            except Restart as restart:
                raise StreamBroken(f"{self._stream.name}: the pages for {parent} cannot be followed") from restart
            except StreamRefused as refused:
                if refused.status in _GONE:
                    return _Reading()
                raise
            if listed.skipped:
                return _Reading()
            items += listed.items
            notes += [listed.note] if listed.note else []
            if listed.next is None:
                return _Reading(items, number, tuple(notes))
            key = rows.fingerprint([listed.next])
            if key in seen or len(items) > ITEMS_CAP:
                break
            seen.add(key)
            position = listed.next
        raise StreamBroken(f"{self._stream.name}: the pages for {parent} have no end")

    async def _take(self, parent: str, reading: _Reading, changes: Changes) -> None:
        """What is absent from a whole reading is gone; from several pages, if another reading lacks it too."""
        if not reading.pages:
            self._leave(parent)
            return
        before = len(changes.keys)
        blind, changes.blind = changes.blind, False
        self._judge.rows(self._stream, reading.items, self._state.generation, parent=parent, into=changes)
        changes.warnings += [f"{self._stream.name}: {note}" for note in reading.notes]
        is_whole = self._stream.is_diffed and not changes.blind and not reading.notes
        changes.blind = blind
        if is_whole:
            absent = self._absent(parent, changes.keys[before:])
            if absent and reading.pages > 1:
                again = await self._tried(parent)
                keys = [key for item in again.items if (key := rows.key_of(self._stream, item, parent))]
                absent = [key for key in absent if key not in keys] if again.pages and not again.notes else []
            self._judge.absent(self._stream, absent, self._state.generation, changes)
        self._leave(parent)

    def _absent(self, parent: str, seen: Sequence[str]) -> list[str]:
        present = set(seen)
        known = self._state.known.items()
        return [
            key
            for key, entry in known
            if key.startswith(f"{parent}/") and key not in present and not entry.is_gone and self._is_own(parent, key)
        ]

    def _is_own(self, parent: str, key: str) -> bool:
        return "/" not in key[len(parent) + 1 :]

    def _leave(self, parent: str) -> None:
        """A parent that no longer qualifies was read for the last time."""
        if self._state.parents[parent][-1]:
            del self._state.parents[parent]
