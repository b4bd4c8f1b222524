"""One poll: which calendars there are, what changed in each, and what that means; as bounded pages.

A calendar tells what changed since its sync token. Where that touches a repeating event, where the token is lost and
where a new month enters the horizon, all of it is listed. What a list lacks counts as removed only when Google says so
of one such entry itself.

Every page carries a cursor with what was told so far and the old token; the new one comes when a calendar is all told.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace

from extractors.calendar.horizon import label, months
from extractors.calendar.ledger import in_parts
from extractors.calendar.told import untold
from extractors.connector import Context, Page, Rejected
from extractors.google_calendar.config import GoogleCalendarConfig
from extractors.google_calendar.look import Seen, Whose, look, touches_series
from extractors.google_calendar.memory import Memory, State, event_of
from extractors.google_calendar.source import Calendar, Listing, Source
from schemas.errors import AuthError, TransientError

WARNINGS_CAP = 50


class Poll:
    """``memory`` is changed while the poll goes on."""

    def __init__(
        self, source: Source, memory: Memory, config: GoogleCalendarConfig, context: Context, page_items: int
    ) -> None:
        self._source = source
        self._memory = memory
        self._config = config
        self._context = context
        self._items = page_items
        self._window = months(config.horizon_past_days, config.horizon_future_days, context)
        self._has_turned = memory.look != label(self._window)
        self._addresses = frozenset(address.strip().lower() for address in config.addresses)
        self._rejected: list[Rejected] = []
        self._warnings: list[str] = []
        self._spoke = False
        self._has_news = False
        self._listed: set[str] = set()

    async def pages(self) -> AsyncIterator[Page]:
        wanted = await self._wanted()
        self._addresses |= {calendar.id.lower() for calendar in wanted if calendar.is_primary}
        for name in [name for name in self._memory.calendars if name not in {one.id for one in wanted}]:
            async for page in self._withdraw(name):
                yield page
        for calendar in wanted:
            async for page in self._calendar(calendar):
                yield page
        today = self._context.now.date().isoformat()
        memory = self._memory
        if not (self._has_news or self._has_turned) and memory.day == today:
            yield Page(complete=True, warnings=self._warned())  # nothing to store either
            return
        memory.look, memory.day = label(self._window), today
        yield self._page(complete=True)

    async def _wanted(self) -> list[Calendar]:
        found = await self._source.calendars()
        self._listed = {calendar.id for calendar in found}
        if not self._config.calendars:
            return [one for one in found if one.is_primary or (one.role == "owner" and not one.is_hidden)]
        names = {name.strip().casefold() for name in self._config.calendars}
        wanted = [one for one in found if {one.id.casefold(), one.title.casefold()} & names]
        if not wanted:
            titles = ", ".join(one.title for one in found[:20])
            raise AuthError("none of the calendars in the settings is there", remedy=f"there are: {titles}")
        for name in sorted(names - {word.casefold() for one in wanted for word in (one.id, one.title)}):
            self._warnings.append(f"{name}: no calendar is called that; what was in it is withdrawn")
        return wanted

    async def _withdraw(self, name: str) -> AsyncIterator[Page]:
        """A calendar that is no longer wanted, or no longer there."""
        if name not in self._listed and await self._source.has(name):
            raise TransientError("Google's list of calendars lacks one that is there")
        state = self._memory.calendars[name]
        gone = Calendar(name, name, "", "owner", state.is_primary)
        seen = look(gone, [], state, self._window, self._context, Whose(frozenset(), 0), is_full=True)
        self._has_news = self._spoke = True
        for page in self._told(state, seen, reset=False):
            yield page
        del self._memory.calendars[name]

    async def _calendar(self, calendar: Calendar) -> AsyncIterator[Page]:
        state = self._memory.calendars.setdefault(calendar.id, State())
        state.is_primary = calendar.is_primary
        listing, is_full, reset = await self._listing(calendar, state)
        if listing.is_missing:
            self._warnings.append(f"{calendar.title}: cannot be read at the moment; what was in it stays")
            return
        if not is_full and not listing.events:
            if self._memory.day != self._context.now.date().isoformat():
                state.token = listing.token
            return
        self._has_news = True
        seen = await asyncio.to_thread(
            look, calendar, listing.events, state, self._window, self._context, self._whose(calendar), is_full=is_full
        )
        if seen.missing and await self._source.is_there(calendar.id, event_of(state, seen.missing[0])):
            raise TransientError(f"{calendar.title}: the list of entries lacks some that are there")
        self._rejected += seen.rejected
        self._warnings += seen.warnings
        for page in self._told(state, seen, reset=reset):
            yield page
        state.token, state.ledger = listing.token, seen.changes.ledger
        state.tidy()

    async def _listing(self, calendar: Calendar, state: State) -> tuple[Listing, bool, bool]:
        """The events; whether these are all of them; whether the token was lost."""
        reset = False
        if state.token:
            listing = await self._source.events(calendar.id, state.token)
            reset = listing is None
            self._spoke = self._spoke or listing is None or bool(listing.events)
            if listing is not None and not self._has_turned and not touches_series(listing.events):
                return listing, False, False
        else:
            self._spoke = True
        listing = await self._source.events(calendar.id, "")
        assert listing is not None
        return listing, True, reset

    def _whose(self, calendar: Calendar) -> Whose:
        """A calendar may use the room that the others leave, at least a little."""
        state = self._memory.calendars[calendar.id]
        others = self._memory.size() - sum(map(len, state.ledger.known.values()))
        limit = self._config.max_occurrences
        return Whose(self._addresses, max(limit - others, limit // 20, 1))

    def _told(self, state: State, seen: Seen, *, reset: bool) -> Iterator[Page]:
        """What changed, as pages; each with what is known after it."""
        state.uids = dict(seen.uids)
        for part in in_parts(seen.changes, state.ledger, self._items):
            state.ledger = part.ledger
            page = self._page(complete=False)
            yield replace(page, upserts=part.upserts, deletes=part.deletes, reset=reset)

    def _page(self, *, complete: bool) -> Page:
        rejected, self._memory.told = untold(self._rejected, self._memory.told)
        self._rejected = []
        cursor = self._memory.to_json()
        return Page(
            rejected=rejected, warnings=self._warned(), next_cursor=cursor, complete=complete, spoke=self._spoke
        )

    def _warned(self) -> list[str]:
        given, self._warnings = list(dict.fromkeys(self._warnings))[:WARNINGS_CAP], []
        return given
