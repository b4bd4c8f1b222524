"""News: whether a Microsoft calendar changed since the last look, and where its changes go on.

The delta of a calendar view gives the dates of a series without their words, and not always all of them. It is
therefore asked *whether* something changed; what is there is then read from the view itself, which is whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from extractors.calendar.series import Window
from extractors.graph import Forgotten, Graph, NotUnderstood, removed
from extractors.graph_calendar.calendars import Calendar
from extractors.graph_calendar.memory import Memory

PREFER = 'outlook.timezone="UTC", odata.maxpagesize=200'


@dataclass(slots=True)
class News:
    """``links`` by calendar, good from before the view is read. ``removed``: how many entries each calendar says it
    lost; a calendar that is listed anew (``fresh``) does not say. ``spoke``: the account has news, and not only the
    window moved on. ``is_reset``: the service had forgotten our place."""

    links: dict[str, str] = field(default_factory=dict)
    removed: dict[str, int] = field(default_factory=dict)
    fresh: set[str] = field(default_factory=set)
    spoke: bool = False
    is_reset: bool = False


async def news(graph: Graph, calendars: Sequence[Calendar], memory: Memory, window: Window, *, moved: bool) -> News:
    """``moved``: the window is another one than that of the stored links, which then only tell whether to speak."""
    found = News(spoke=set(memory.links) != {calendar.id for calendar in calendars})
    for calendar in calendars:
        link = memory.links.get(calendar.id, "")
        is_known = bool(link) and await _changes(graph, calendar, link, found)
        if not is_known or moved:
            await _everything(graph, calendar, window, found)
    return found


async def _changes(graph: Graph, calendar: Calendar, link: str, found: News) -> bool:
    """Whether the service still knew the link."""
    try:
        delta = await graph.delta(link, prefer=PREFER)
    except (Forgotten, NotUnderstood):  # or it is no link to it any more
        found.is_reset = found.spoke = True
        return False
    found.links[calendar.id] = delta.link
    found.removed[calendar.id] = sum(map(removed, delta.items))
    found.spoke = found.spoke or bool(delta.items)
    return True


async def _everything(graph: Graph, calendar: Calendar, window: Window, found: News) -> None:
    """A calendar that does not tell its changes (others' ones, some of them) has an empty link: it is always read."""
    first = graph.url("me", "calendars", calendar.id, "calendarView", "delta")
    found.fresh.add(calendar.id)
    try:
        try:
            delta = await graph.delta(first, bounds(window), prefer=PREFER)
        except Forgotten:  # in mid-paging
            delta = await graph.delta(first, bounds(window), prefer=PREFER)
    except NotUnderstood:
        found.links[calendar.id] = ""
        found.spoke = True
    else:
        found.links[calendar.id] = delta.link


def bounds(window: Window) -> dict[str, str | int]:
    return {"startDateTime": f"{window.low:%Y-%m-%dT%H:%M:%SZ}", "endDateTime": f"{window.high:%Y-%m-%dT%H:%M:%SZ}"}
