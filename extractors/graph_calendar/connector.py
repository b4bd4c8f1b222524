"""The graph_calendar connector: calendars of a Microsoft account, watched with delta queries."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from pydantic import BaseModel

from extractors.calendar.horizon import label, months
from extractors.calendar.ledger import in_parts
from extractors.connector import Context, Login, Page
from extractors.graph import Graph, discovered
from extractors.graph_calendar.calendars import watched_calendars
from extractors.graph_calendar.config import GraphCalendarConfig
from extractors.graph_calendar.look import Reader, Seen, views
from extractors.graph_calendar.memory import Memory, remembered
from extractors.graph_calendar.news import news
from extractors.graph_calendar.normalize import normalise
from schemas.event import Event
from schemas.model import Json
from schemas.record import Record

PAGE_ITEMS = 200
_KEPT = timedelta(hours=12)
"""A link to the changes stays good for days: where nothing changed, the stored cursor is as good as a new one."""


class GraphCalendar:
    """Stateless. A poll is one page or several, each with a cursor."""

    name = "graph_calendar"
    config: type[BaseModel] = GraphCalendarConfig
    login = Login(
        reads="your calendars and the events in them; nothing is changed or answered",
        scopes={"microsoft": ("https://graph.microsoft.com/Calendars.Read",)},
        allows={"write": {"microsoft": ("https://graph.microsoft.com/Calendars.ReadWrite",)}},
    )

    def __init__(self, page_items: int = PAGE_ITEMS) -> None:
        self._page_items = page_items

    async def pull(self, config: BaseModel, cursor: Json, context: Context) -> AsyncIterator[Page]:
        settings = GraphCalendarConfig.model_validate(config)
        graph, memory = _graph(settings, context), remembered(cursor)
        window = months(settings.horizon_past_days, settings.horizon_future_days, context)
        moved = memory.look != label(window)
        calendars, owners = await watched_calendars(graph, settings.calendars, frozenset(settings.addresses))
        found = await news(graph, calendars, memory, window, moved=moved)
        if not found.spoke and not moved:
            yield self._quiet(memory, found.links, context)
            return
        shown = await views(graph, calendars, window)
        seen = Reader(settings, context, window, owners).read(calendars, shown, memory, found)
        for page in _pages(seen, memory, self._page_items, context.now):
            yield replace(page, spoke=found.spoke, reset=found.is_reset)

    def _quiet(self, memory: Memory, links: dict[str, str], context: Context) -> Page:
        if memory.kept_at is not None and context.now - memory.kept_at < _KEPT:
            return Page(complete=True)
        memory.links = links
        return Page(next_cursor=memory.to_json(context.now), complete=True)

    def normalise(self, record: Record, context: Context) -> Sequence[Event]:
        return normalise(record, context)

    async def discover(self, hint: str, context: Context) -> dict[str, Json]:
        """A mail address, or nothing: Microsoft asks which account it is."""
        return discovered(hint)

    async def check(self, config: BaseModel, context: Context) -> Sequence[str]:
        settings = GraphCalendarConfig.model_validate(config)
        calendars, _ = await watched_calendars(
            _graph(settings, context), settings.calendars, frozenset(settings.addresses)
        )
        return [f"{calendar.name}" + ("" if calendar.is_own else " (of others)") for calendar in calendars]


def _graph(settings: GraphCalendarConfig, context: Context) -> Graph:
    return Graph(context.access, settings.base_url, context.now, wants="Calendars.Read")


def _pages(seen: Seen, memory: Memory, size: int, now: datetime) -> Iterator[Page]:
    """Until the last, a page's cursor makes the next poll ask for the same news again."""
    pages = [
        Page(part.upserts, part.deletes, next_cursor=replace(memory, ledger=part.ledger).to_json(now))
        for part in in_parts(seen.changes, memory.ledger, size)
    ] or [Page()]
    pages[0] = replace(pages[0], rejected=seen.rejected, warnings=seen.warnings)
    pages[-1] = replace(pages[-1], next_cursor=seen.memory.to_json(now), complete=True)
    yield from pages
