"""Plans: which objects of which calendars a poll has to fetch, and which are gone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from extractors.caldav.changes import Listing, list_changes
from extractors.caldav.client import Dav
from extractors.caldav.home import Calendar, chosen, find_calendars, find_homes, is_gone
from extractors.caldav.memory import PENDING_CAP, Memory, State, source_of, tag_of
from extractors.caldav.xml import plain_path
from schemas.errors import AuthError, TransientError


@dataclass(frozen=True, slots=True)
class Wanted:
    """An object to fetch."""

    source: str
    href: str
    etag: str


@dataclass(slots=True)
class Plan:
    """What is to be done in one calendar. ``was_pending``: sources that could not be had before; ``pending``: hrefs
    that could not be had now. ``holds``: an empty list is not believed yet."""

    calendar: Calendar
    listing: Listing
    wanted: dict[str, Wanted] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    was_pending: set[str] = field(default_factory=set)
    pending: list[str] = field(default_factory=list)
    holds: bool = False

    def want(self, path: str, href: str, etag: str) -> None:
        source = source_of(self.calendar.path, path)
        self.wanted.setdefault(source, Wanted(source, href, etag))

    def settle(self, state: State) -> None:
        """All of it was told. The mark was read before the list: it counts only if it means the same state, else what
        happened in between could be undone again without our noticing."""
        state.mark = ""
        if self.holds or len(self.pending) > PENDING_CAP:
            return
        token = self.listing.token
        if not (self.wanted or self.gone) or (token and token == self.calendar.token):
            state.mark = self.calendar.mark
        state.token, state.pending = token, tuple(self.pending)


async def calendars_of(dav: Dav, memory: Memory, url: str) -> list[Calendar]:
    """All that there are; where they are is looked for again when they are no longer where they were."""
    if memory.begun == url and memory.homes:
        try:
            return await find_calendars(dav, memory.homes)
        except AuthError:
            homes = await find_homes(dav, url)
            if homes == memory.homes:
                raise
    else:
        homes = await find_homes(dav, url)
    memory.homes, memory.begun = homes, url
    return await find_calendars(dav, homes)


async def watched(
    dav: Dav, memory: Memory, everything: Sequence[Calendar], names: Sequence[str], warnings: list[str]
) -> tuple[list[Calendar], list[str]]:
    """The calendars to look at, and the paths of those that are gone.

    A calendar is gone when the server, asked for it alone, says so, and others are still there.
    """
    calendars = chosen(everything, names)
    if not everything:
        if memory.calendars:
            raise TransientError("the server lists no calendar any more; what was in them stays")
        warnings.append("there are no calendars")
    elif not calendars:
        raise AuthError("none of the account's calendars is there", remedy="correct the setting calendars")
    listed, there = {one.path for one in calendars}, {one.path for one in everything}
    dropped: list[str] = []
    for path in [path for path in memory.calendars if path not in listed]:
        if path in there or await is_gone(dav, path, memory.homes):
            dropped.append(path)
        else:
            warnings.append(f"{path} is not listed, but not gone; what was in it stays")
    return calendars, dropped


async def planned(dav: Dav, calendar: Calendar, memory: Memory, warnings: list[str]) -> Plan | None:
    """None where nothing can have changed, or nothing can be said."""
    state = memory.calendars.setdefault(calendar.path, State())
    if state.is_settled(calendar.mark):
        return None
    listing = await list_changes(dav, calendar, state.token)
    warnings += listing.warnings
    if listing.is_missing:
        warnings.append(f"{calendar.title}: not there at the moment; what was in it stays")
        return None
    plan = Plan(calendar, listing)
    if listing.is_full and not listing.items and not state.emptied and memory.is_live(calendar.path):
        state.emptied = plan.holds = True
        warnings.append(f"{calendar.title}: suddenly empty; believed if the next poll agrees")
        return plan
    state.emptied = False
    known = memory.sources(calendar.path)
    listed = {source_of(calendar.path, path) for path in listing.items}
    gone = {source_of(calendar.path, path) for path in listing.gone}
    plan.gone = known - listed if listing.is_full else known & gone
    for path, (href, etag) in listing.items.items():
        if state.tags.get(source_of(calendar.path, path)) != tag_of(etag) or not tag_of(etag):
            plan.want(path, href, etag)
    for href in state.pending:
        path = plain_path(href)
        if path not in listing.gone and (path in listing.items or not listing.is_full):
            plan.want(path, href, "")
            plan.was_pending.add(source_of(calendar.path, path))
    return plan


async def completed(dav: Dav, plan: Plan, sources: set[str]) -> None:
    """Add objects of which only the names are known: their addresses are in a list of everything."""
    if sources <= plan.wanted.keys():
        return
    listing = await list_changes(dav, plan.calendar, "")
    for path, (href, etag) in listing.items.items():
        if source_of(plan.calendar.path, path) in sources:
            plan.want(path, href, etag)
