"""One poll: which calendars there are, what changed in each, and what that means; as bounded pages.

Calendars are listed first and what is gone is told last, so that an entry that moved from one to another is neither
withdrawn nor new. A page's cursor keeps the old sync tokens and the new ETags: a poll that is killed lists the same
again and fetches only what it has not told. The new tokens come with the last page.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace

from extractors.caldav.changes import Listing
from extractors.caldav.client import Dav
from extractors.caldav.config import CaldavConfig
from extractors.caldav.home import Calendar
from extractors.caldav.look import Object, Seen, look
from extractors.caldav.memory import Memory, calendar_id, source_of, tag_of
from extractors.caldav.objects import Fetch
from extractors.caldav.plan import Plan, Wanted, calendars_of, completed, planned, watched
from extractors.calendar.agenda import Ownership
from extractors.calendar.horizon import label, months
from extractors.calendar.series import Window
from extractors.calendar.told import untold
from extractors.connector import Context, Page, Rejected
from schemas.ids import digest

WARNINGS_CAP = 50
_CURSORS = 20
"""About so many pages of a poll carry a cursor, at most: it may be half a megabyte."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """``objects`` of one request, ``items`` of one page."""

    objects: int = 100
    items: int = 200


@dataclass(slots=True)
class Round:
    """``memory`` is changed while the poll goes on."""

    dav: Dav
    config: CaldavConfig
    context: Context
    memory: Memory
    sizes: Sizes
    fetch: Fetch = field(init=False)
    calendars: dict[str, Calendar] = field(default_factory=dict)
    plans: dict[str, Plan] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    rejected: list[Rejected] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.fetch = Fetch(self.dav, self.sizes.objects)

    async def pages(self) -> AsyncIterator[Page]:
        marks = {path: state.mark for path, state in self.memory.calendars.items()}
        homes = self.memory.homes
        everything = await calendars_of(self.dav, self.memory, self.config.url)
        wanted, dropped = await watched(self.dav, self.memory, everything, self.config.calendars, self.warnings)
        self.calendars = {one.path: one for one in wanted}
        self.gone.update(*map(self.memory.sources, dropped))
        window = months(self.config.horizon_past_days, self.config.horizon_future_days, self.context)
        has_turned = self.memory.turn(f"{label(window)} {self._settings()}")
        spoke = not has_turned or any(marks.get(one.path) not in ("", one.mark) for one in wanted)
        for calendar in wanted:
            if plan := await planned(self.dav, calendar, self.memory, self.warnings):
                self.plans[calendar.path] = plan
                self.gone |= plan.gone
        if not (self.plans or dropped):
            moved = self.memory.homes != homes
            yield Page(complete=True, warnings=self._warned(), next_cursor=self.memory.to_json() if moved else None)
            return
        reset = any(plan.listing.lost for plan in self.plans.values())
        async for page in self._work(window):
            yield replace(page, spoke=spoke, reset=reset)
        for path, plan in self.plans.items():
            plan.settle(self.memory.calendars[path])
        for path in dropped:
            del self.memory.calendars[path]
        last = Page(rejected=self._untold(), warnings=self._warned(), next_cursor=self.memory.to_json(), complete=True)
        yield replace(last, spoke=spoke, reset=reset)

    def _settings(self) -> str:
        """What else decides what an object means."""
        return digest([sorted(self.config.addresses), self.config.max_occurrences])[:8]

    async def _work(self, window: Window) -> AsyncIterator[Page]:
        together = self._together()
        batches = [one for plan in self.plans.values() for one in self._batches(plan, together)]
        every = max(1, len(batches) // _CURSORS)
        for number, (plan, batch) in enumerate(batches, 1):
            objects, tags = await self._fetched(plan, batch)
            seen = await self._look(objects, set(), window)
            together |= seen.postponed
            self._keep(plan, {source: tag for source, tag in tags.items() if source not in seen.postponed})
            for page in self._pages(seen, with_cursor=number % every == 0):
                yield page
        if together or self.gone:
            for page in self._pages(await self._rest(together, window), with_cursor=False):
                yield page

    def _together(self) -> set[str]:
        """Of what is wanted, what is known to share its UID with other objects."""
        twins = {source for group in self.memory.twins for source in group}
        return {source for plan in self.plans.values() for source in plan.wanted if source in twins} - self.gone

    def _batches(self, plan: Plan, together: Set[str]) -> Iterator[tuple[Plan, Sequence[Wanted]]]:
        """Troublesome objects come alone, lest they spoil the request of others."""
        calm = [one for one in plan.wanted.values() if one.source not in together | plan.was_pending]
        size = self.sizes.objects
        yield from ((plan, calm[at : at + size]) for at in range(0, len(calm), size))
        yield from ((plan, [plan.wanted[source]]) for source in sorted(plan.was_pending - together))

    async def _rest(self, together: set[str], window: Window) -> Seen:
        """What shares its UID with other objects, all at once, and what is gone."""
        shared = (together | self.memory.partners(together | self.gone)) - self.gone
        objects: list[Object] = []
        kept: list[tuple[Plan, dict[str, str]]] = []
        for path, calendar in self.calendars.items():
            sources = {source for source in shared if source.startswith(calendar_id(path))}
            if not sources:
                continue
            plan = self.plans.get(path) or Plan(calendar, Listing())
            await completed(self.dav, plan, sources)
            more, tags = await self._fetched(plan, [plan.wanted[one] for one in sorted(sources & plan.wanted.keys())])
            objects += more
            kept.append((plan, tags))
        seen = await self._look(objects, self.gone, window, together=True)
        for plan, tags in kept:
            self._keep(plan, tags)
        self.memory.forget(self.gone)
        return seen

    async def _fetched(self, plan: Plan, batch: Sequence[Wanted]) -> tuple[list[Object], dict[str, str]]:
        """What can be looked at, with its tags; what cannot be had is asked for again by the next poll."""
        calendar = plan.calendar
        ownership = Ownership(frozenset(map(str.lower, self.config.addresses)), calendar.is_own, calendar.transparent)
        listed = {one.source: one for one in batch}
        objects: list[Object] = []
        tags: dict[str, str] = {}
        for one in await self.fetch.all(calendar.url, [one.href for one in batch]):
            source = source_of(calendar.path, one.path)
            name = f"{calendar.title}/{one.path.rpartition('/')[2][:100]}"
            if one.raw is not None:
                objects.append(Object(source, name, one.raw, calendar.title, ownership))
                tags[source] = tag_of(one.etag or listed[source].etag)
            elif one.code == "too_large":
                self.rejected.append(Rejected(name, one.code, one.fault))
                tags[source] = tag_of(listed[source].etag)
            elif one.fault:
                plan.pending.append(one.href)
                if source in plan.was_pending:
                    self.rejected.append(Rejected(name, one.code, one.fault))
                else:
                    self.warnings.append(f"{name}: {one.fault}; tried again later")
        return objects, tags

    async def _look(self, objects: Sequence[Object], gone: Set[str], window: Window, *, together: bool = False) -> Seen:
        memory = self.memory
        if memory.low is not None and memory.high is not None:
            window = Window(memory.low, memory.high, window.owner)
        limit = self.config.max_occurrences
        seen = await asyncio.to_thread(
            look, objects, gone, memory.ledger, limit, window, self.context, moving=self.gone, together=together
        )
        memory.ledger = seen.changes.ledger
        if seen.window != window:
            memory.low, memory.high = seen.window.low, seen.window.high
        memory.pair(seen.twins)
        self.rejected += seen.rejected
        self.warnings += seen.warnings
        return seen

    def _keep(self, plan: Plan, tags: dict[str, str]) -> None:
        state = self.memory.calendars[plan.calendar.path]
        for source, tag in tags.items():
            state.tags.pop(source, None)
            if tag:
                state.tags[source] = tag

    def _pages(self, seen: Seen, *, with_cursor: bool) -> Iterator[Page]:
        upserts, deletes, size = seen.changes.upserts, seen.changes.deletes, self.sizes.items
        pages = [Page(upserts=upserts[at : at + size]) for at in range(0, len(upserts), size)]
        pages += [Page(deletes=deletes[at : at + size]) for at in range(0, len(deletes), size)]
        if pages:
            pages[0] = replace(pages[0], rejected=self._untold(), warnings=self._warned())
        if with_cursor:
            pages = pages or [Page()]
            pages[-1] = replace(pages[-1], next_cursor=self.memory.to_json())
        yield from pages

    def _untold(self) -> list[Rejected]:
        new, self.memory.told = untold(self.rejected, self.memory.told)
        self.rejected = []
        return new

    def _warned(self) -> list[str]:
        given, self.warnings = list(dict.fromkeys(self.warnings))[:WARNINGS_CAP], []
        return given
