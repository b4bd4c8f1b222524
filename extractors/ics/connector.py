"""The ics connector: calendars as .ics files, folders of them, or web addresses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import BaseModel

from extractors.calendar.horizon import label, months
from extractors.calendar.ledger import in_parts
from extractors.calendar.series import Window
from extractors.connector import Context, Page, Preview, PreviewOptions
from extractors.fetch import Fetcher, Stamp
from extractors.ics import preview
from extractors.ics.config import IcsConfig
from extractors.ics.look import Seen, digest, look
from extractors.ics.memory import Memory, remembered
from extractors.ics.normalize import normalise
from extractors.ics.source import File, has_calendar, read_path, read_url
from schemas.errors import TransientError
from schemas.event import Event
from schemas.model import Json
from schemas.record import Record

PAGE_ITEMS = 200


class Ics:
    """Stateless. A poll is one page or several, each with a cursor."""

    name = "ics"
    config: type[BaseModel] = IcsConfig

    def __init__(self, page_items: int = PAGE_ITEMS, fetcher: Fetcher | None = None) -> None:
        self._page_items = page_items
        self._fetcher = fetcher

    async def pull(self, config: BaseModel, cursor: Json, context: Context) -> AsyncIterator[Page]:
        settings = IcsConfig.model_validate(config)
        memory = remembered(cursor)
        window = months(settings.horizon_past_days, settings.horizon_future_days, context)
        files = await self._files(settings, memory, window, context)
        if files is None or _is_old(files, memory, window):
            yield Page(complete=True)
            return
        seen = await asyncio.to_thread(look, files, memory, settings, context, window)
        if settings.url and seen.faults:
            raise TransientError(seen.faults[0], remedy="open the address in a browser to see what it gives")
        spoke = memory.digest != digest(files)
        for page in _pages(seen, memory, self._page_items):
            yield replace(page, spoke=spoke)

    async def _files(
        self, settings: IcsConfig, memory: Memory, window: Window, context: Context
    ) -> Sequence[File] | None:
        """None where the server says that nothing changed."""
        if settings.url is None:
            return await asyncio.to_thread(read_path, settings.path or Path())
        fetcher = self._fetcher or Fetcher(allow_private=settings.allow_private)
        stamp = memory.stamp if _is_settled(memory, window) else None
        file = await read_url(settings.url, fetcher, stamp, context.now)
        return None if file is None else [file]

    def normalise(self, record: Record, context: Context) -> Sequence[Event]:
        return normalise(record, context)

    def sniff(self, path: Path) -> bool:
        return has_calendar(path)

    def preview(self, path: Path, context: Context, options: PreviewOptions) -> Preview:
        return preview.show(path, context, options)


def _is_settled(memory: Memory, window: Window) -> bool:
    """Whether the same bytes as last time would say nothing new."""
    return memory.look == label(window) and not memory.emptied


def _is_old(files: Sequence[File], memory: Memory, window: Window) -> bool:
    return _is_settled(memory, window) and memory.digest == digest(files)


def _pages(seen: Seen, memory: Memory, size: int) -> Iterator[Page]:
    """Until the last, a page's cursor makes the next poll look at everything again."""
    begun = replace(memory, digest="", stamp=Stamp(), marks={})
    pages = [
        Page(part.upserts, part.deletes, next_cursor=replace(begun, ledger=part.ledger).to_json())
        for part in in_parts(seen.changes, memory.ledger, size)
    ] or [Page()]
    pages[0] = replace(pages[0], rejected=seen.rejected, warnings=seen.warnings)
    pages[-1] = replace(pages[-1], next_cursor=seen.memory.to_json(), complete=True)
    yield from pages
