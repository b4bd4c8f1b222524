"""The Google Calendar connector: the calendars of a Google account, by its API."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from pydantic import BaseModel

from extractors.connector import Context, Login, Page
from extractors.google import Google, Service
from extractors.google_calendar.config import SCOPES, GoogleCalendarConfig
from extractors.google_calendar.memory import remembered
from extractors.google_calendar.normalize import normalise
from extractors.google_calendar.poll import Poll
from extractors.google_calendar.source import Source
from extractors.pace import Pace
from schemas.errors import AuthError
from schemas.event import Event
from schemas.model import Json
from schemas.record import Record

PAGE_ITEMS = 200
CALLS_PER_S = 8
"""Google allows 600 calls a minute and user."""


class GoogleCalendarConnector:
    """Stateless. ``page_items`` bounds a page: what is lost when the process dies."""

    name = "google_calendar"
    config: type[BaseModel] = GoogleCalendarConfig
    login = Login(
        reads="the titles of the account's calendars, and every entry of those that are its own",
        scopes={"google": SCOPES},
        allows={"write": {"google": ("https://www.googleapis.com/auth/calendar.events",)}},
    )

    def __init__(self, *, page_items: int = PAGE_ITEMS, calls_per_s: int = CALLS_PER_S) -> None:
        self._page_items = page_items
        self._calls_per_s = calls_per_s

    async def pull(self, config: BaseModel, cursor: Json, context: Context) -> AsyncIterator[Page]:
        assert isinstance(config, GoogleCalendarConfig)
        poll = Poll(self._source(config, context), remembered(cursor), config, context, self._page_items)
        async for page in poll.pages():
            yield page

    def _source(self, config: GoogleCalendarConfig, context: Context) -> Source:
        service = Service("Google Calendar", config.base_url, " and ".join(SCOPES))
        return Source(Google(service, context, Pace(self._calls_per_s, 1.0)))

    async def discover(self, hint: str, context: Context) -> dict[str, Json]:
        """A mail address, or nothing: Google asks which account it is."""
        address = hint.strip().lower()
        if address and (address.count("@") != 1 or " " in address):
            raise AuthError(f"{hint!r} is no mail address", remedy="type the address of the Google account, or nothing")
        return {"provider": "google"}

    async def check(self, config: BaseModel, context: Context) -> Sequence[str]:
        assert isinstance(config, GoogleCalendarConfig)
        found = await self._source(config, context).calendars()
        return [f"{calendar.title} ({calendar.role}, {calendar.zone or 'no time zone'})" for calendar in found]

    def normalise(self, record: Record, context: Context) -> Sequence[Event]:
        return normalise(record, context)
