"""The caldav connector."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from pydantic import BaseModel

from extractors.caldav import discover
from extractors.caldav.client import Dav
from extractors.caldav.config import CaldavConfig
from extractors.caldav.home import chosen, find_calendars, find_homes
from extractors.caldav.memory import remembered
from extractors.caldav.normalize import normalise
from extractors.caldav.poll import Round, Sizes
from extractors.connector import Context, Login, Page, SecretField
from schemas.event import Event
from schemas.model import Json
from schemas.record import Record


class Caldav:
    """Stateless."""

    name = "caldav"
    config: type[BaseModel] = CaldavConfig
    login = Login(
        reads="the calendars of one person on a CalDAV server: events and to-dos, from one month back to a year ahead",
        secrets=(
            SecretField("username", "User name", "often your mail address; empty: the one in the settings"),
            SecretField(
                "password",
                "App password",
                "a password made for this one program; iCloud, Fastmail, Nextcloud and others let you make one under "
                "security, and take no other",
            ),
        ),
        scopes={"fastmail": ("https://www.fastmail.com/dev/protocol-caldav",)},
        allows={"write": {}},
    )

    def __init__(self, sizes: Sizes | None = None) -> None:
        self._sizes = sizes or Sizes()

    async def pull(self, config: BaseModel, cursor: Json, context: Context) -> AsyncIterator[Page]:
        settings = CaldavConfig.model_validate(config)
        dav = Dav(settings, context.access)
        async for page in Round(dav, settings, context, remembered(cursor), self._sizes).pages():
            yield page

    def normalise(self, record: Record, context: Context) -> Sequence[Event]:
        return normalise(record, context)

    async def discover(self, hint: str, context: Context) -> dict[str, Json]:
        return await discover.discover(hint, context)

    async def check(self, config: BaseModel, context: Context) -> Sequence[str]:
        settings = CaldavConfig.model_validate(config)
        dav = Dav(settings, context.access)
        calendars = chosen(await find_calendars(dav, await find_homes(dav, settings.url)), settings.calendars)
        shared = {True: "", False: ", of somebody else"}
        return [f"{one.title}: {' and '.join(one.holds)}{shared[one.is_own]}" for one in calendars]
