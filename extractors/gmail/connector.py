"""The Gmail connector: the mail of a Google account, by its API."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from pydantic import BaseModel

from extractors.connector import Context, Login, Page
from extractors.gmail.config import SCOPE, GmailConfig
from extractors.gmail.draft import Sizes
from extractors.gmail.known import remembered
from extractors.gmail.poll import Poll
from extractors.gmail.source import Source
from extractors.google import Google, Service, word
from extractors.pace import Pace
from schemas.errors import AuthError
from schemas.event import Event
from schemas.model import Json
from schemas.record import Record

CALLS_PER_S = 40
"""Of 5 units each: below Google's 15,000 units a minute and user."""


class GmailConnector:
    """Stateless. ``sizes`` bound a page: what is lost when the process dies, and what memory holds."""

    name = "gmail"
    config: type[BaseModel] = GmailConfig
    login = Login(
        reads="every mail of the account but drafts, spam and bin: headers, text and names of attachments",
        scopes={"google": (SCOPE,)},
        allows={
            "send": {"google": ("https://www.googleapis.com/auth/gmail.send",)},
            "write": {"google": ("https://www.googleapis.com/auth/gmail.modify",)},
        },
    )

    def __init__(self, *, sizes: Sizes | None = None, calls_per_s: int = CALLS_PER_S) -> None:
        self._sizes = sizes or Sizes()
        self._calls_per_s = calls_per_s

    async def pull(self, config: BaseModel, cursor: Json, context: Context) -> AsyncIterator[Page]:
        assert isinstance(config, GmailConfig)
        poll = Poll(self._source(config, context), remembered(cursor), config, context.now, self._sizes)
        async for page in poll.pages():
            yield page

    def _source(self, config: GmailConfig, context: Context) -> Source:
        return Source(Google(Service("Gmail", config.base_url, SCOPE), context, Pace(self._calls_per_s, 1.0)))

    async def discover(self, hint: str, context: Context) -> dict[str, Json]:
        """A mail address, or nothing: Google asks which account it is."""
        address = hint.strip().lower()
        if address and (address.count("@") != 1 or " " in address):
            raise AuthError(f"{hint!r} is no mail address", remedy="type the address of the Google account, or nothing")
        return {"provider": "google"}

    async def check(self, config: BaseModel, context: Context) -> Sequence[str]:
        assert isinstance(config, GmailConfig)
        profile = await self._source(config, context).profile()
        return [f"{word(profile, 'emailAddress')}: {profile.get('messagesTotal', 'no')} mails"]

    def normalise(self, record: Record, context: Context) -> Sequence[Event]:
        from extractors.gmail import normalize  # reading mail takes long to load, and a poll needs none of it

        return normalize.normalise(record, context)
