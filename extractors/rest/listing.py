"""Listing: one stream read page by page, so that a poll that ends anywhere loses nothing and tells nothing twice.

Where a list is sorted by its cursor field, paging goes by that field: the next page is asked for from the last stamp
on, whatever moved meanwhile. Elsewhere the source's own positions are followed, and the bound moves after the last
page only. What a whole listing lacks is deleted when a second pass over several pages lacks it too.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime, timedelta

from extractors.connector import Context, Page
from extractors.rest import rows
from extractors.rest.changes import PAGE_ITEMS, Changes, Judge
from extractors.rest.definition import Definition, Stream
from extractors.rest.progress import Progress
from extractors.rest.request import Ask
from extractors.rest.source import Listed, Restart, Source, StreamBroken
from extractors.rest.state import Book, StreamState, Walk, after
from schemas.ids import digest

STALE = timedelta(days=1)
"""An unfinished reading that is older begins again."""


class Listing:
    """One stream's part of one poll."""

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
        self._progress = Progress(definition, stream, self._state, context)
        self._reset = False
        self._asked: set[str] = set()
        self._last_items = ""

    async def pages(self) -> AsyncIterator[Page]:
        """StreamRefused and StreamBroken concern this stream alone. A reading that an earlier poll began is ended, and
        then followed by one for what has changed since behind its back."""
        self._renew()
        walk = self._state.walk
        if walk is not None and self._progress.age(walk.started_at) <= STALE:
            walk.position = None if walk.by_field else walk.position
            async for page in self._read(walk, resumed=True):
                yield page
        self._progress.abandon()
        async for page in self._read(self._progress.begin(), resumed=False):
            yield page

    async def _read(self, walk: Walk, *, resumed: bool) -> AsyncIterator[Page]:
        restarts = 0
        self._asked.clear()
        self._last_items = ""
        while True:
            self._state.walk = walk
            try:
                listed = await self._next(walk, resumed=resumed)
            except Restart as restart:
                restarts += 1
                if restarts > 2:
                    raise StreamBroken(f"{self._stream.name}: it cannot be read from the beginning") from restart
                walk, resumed = self._again(whole=restart.whole), False
                continue
            except StreamBroken:
                self._progress.abandon()
                if walk.pages:
                    yield Page(next_cursor=self._book.to_json())
                raise
            resumed = False
            if listed.skipped:
                async for page in self._skipped(listed):
                    yield page
                return
            changes = await asyncio.to_thread(self._judge.rows, self._stream, listed.items, walk.generation)
            going_on = self._progress.advance(walk, listed, changes)
            if not going_on and self._needs_a_second_pass(walk):
                walk, going_on = self._second_pass(walk), True
                self._state.walk = walk
            if not going_on:
                self._finish(walk, changes)
            for page in changes.pages(self._book, self._size, reset=self._reset):
                yield page
            if not going_on:
                return

    async def _next(self, walk: Walk, *, resumed: bool) -> Listed:
        """StreamBroken where the source goes round in a circle or has no end."""
        name = self._stream.name
        if walk.pages >= self._stream.max_pages:
            raise StreamBroken(f"{name}: more than {self._stream.max_pages:,} pages", remedy="raise its max_pages")
        asked = json.dumps([walk.earlier, self._progress.written(walk.low), walk.position])
        if asked in self._asked:
            raise StreamBroken(f"{name}: the source leads back to a page that was read already")
        self._asked.add(asked)
        listed = await self._source.page(Ask(self._stream, walk.low, walk.position, resumed=resumed))
        content = rows.fingerprint(listed.items) if listed.items and walk.position is not None else ""
        if content and content == self._last_items:
            raise StreamBroken(f"{name}: the source gives the same page again and again")
        self._last_items = content
        return listed

    def _renew(self) -> None:
        """Under a changed definition everything is read again, and known rows are told if they look different now."""
        now = digest([self._stream.model_dump(mode="json"), self._definition.zone, self._parents_of()])
        if self._state.digest and self._state.digest != now:
            self._state.walk, self._state.bound, self._reset = None, None, True
        self._state.digest = now

    def _parents_of(self) -> list[object]:
        children = self._definition.children(self._stream.name)
        return [child.foreach.model_dump(mode="json") for child in children if child.foreach]

    def _again(self, *, whole: bool) -> Walk:
        """``whole``: the source forgot the bound too."""
        self._progress.abandon()
        if whole:
            self._state.bound, self._reset = None, True
        self._asked.clear()
        return self._progress.begin()

    def _needs_a_second_pass(self, walk: Walk) -> bool:
        """Rows that moved between two pages look as if they were gone."""
        return self._may_delete(walk) and walk.earlier is None and walk.pages > 1 and bool(self._absent(walk))

    def _second_pass(self, walk: Walk) -> Walk:
        self._state.generation = after(walk.generation)
        self._last_items = ""
        return replace(
            walk,
            generation=self._state.generation,
            earlier=walk.generation,
            low=walk.first_low,
            position=None,
            pages=0,
            rows=0,
            stuck_keys=[],
        )

    def _may_delete(self, walk: Walk) -> bool:
        return walk.full and self._stream.is_diffed and not walk.is_partial and not walk.blind

    def _absent(self, walk: Walk) -> list[str]:
        seen = {walk.generation, walk.earlier}
        known = self._state.known.items()
        return [key for key, entry in known if entry.generation not in seen and not entry.is_gone]

    def _finish(self, walk: Walk, changes: Changes) -> None:
        state = self._state
        state.read_at = self._context.now.isoformat()
        if walk.is_partial:
            self._progress.abandon()
            return
        if walk.full:
            state.full_at = walk.started_at
            if self._may_delete(walk):
                self._delete(walk, changes)
            state.settle()
        if walk.top is not None:
            self._progress.reach(walk.top)
        if walk.moved and walk.stuck is not None and state.bound is not None:
            state.bound = min(state.bound, walk.stuck)
        state.walk = None

    def _delete(self, walk: Walk, changes: Changes) -> None:
        """A list that is suddenly empty is believed the second time."""
        absent = self._absent(walk)
        if absent and not walk.rows and not self._state.emptied:
            self._state.emptied = True
            changes.warnings.append(f"{self._stream.name}: the list is suddenly empty; what was in it stays for now")
            return
        self._state.emptied = False
        self._judge.absent(self._stream, absent, walk.generation, changes)

    async def _skipped(self, listed: Listed) -> AsyncIterator[Page]:
        """Nothing here says nothing about what was here before."""
        self._progress.abandon()
        self._state.read_at = self._context.now.isoformat()
        warning = f"{self._stream.name}: {listed.note or 'the source has nothing to read here'}"
        yield Page(warnings=[warning], next_cursor=self._book.to_json(), reset=self._reset)


def is_due(stream: Stream, state: StreamState, now: datetime) -> bool:
    if stream.every is None or not state.read_at or state.walk is not None:
        return True
    return now - datetime.fromisoformat(state.read_at) >= stream.every.timedelta()
