"""Which accounts a person granted to tools, and the way into them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ValidationError

from actions.tools.agenda import Agenda, TaskList
from actions.tools.mailbox import Mailbox, only
from actions.tools.tool import Manifest
from extractors.connector import Access
from schemas.account import AccountState, Permission
from schemas.clock import Clock
from schemas.errors import AuthError, StepFailed

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from extractors.imap.login import Door

FAMILIES = {
    "mail": ("imap", "gmail", "graph_mail"),
    "calendar": ("caldav", "google_calendar", "graph_calendar"),
    "tasks": ("caldav",),
}
"""The connectors whose accounts can give what a tool's scope names: ``mail:send`` is given by one of the mail ones."""


class Entry(Protocol):
    """``Credentials.open``."""

    def __call__(self, account: AccountState, asked: bool) -> AbstractAsyncContextManager[Access]: ...


class Outgoing:
    """The ``Mailboxes`` and calendars of tools. ``accounts`` is set once the log is open; until then there are none.

    ``refresh`` reads what was granted or taken back since, before each way in: a permission that is gone is gone at
    the next call, and an approval that rests on it does nothing.
    """

    def __init__(self, enter: Entry, clock: Clock, zone: ZoneInfo, door: Door | None = None) -> None:
        self._enter = enter
        self._clock = clock
        self._zone = zone
        self._door = door
        self.accounts: Callable[[], Iterable[AccountState]] = tuple
        self.refresh: Callable[[], Awaitable[None]] = _nothing
        self._addresses: dict[str, str] = {}
        """By account, since its mailbox was open."""

    def offers(self, manifest: Manifest) -> bool:
        """Whether some account gives each scope that the tool needs."""
        return all(self._that_give(*scope.split(":")) for scope in manifest.permissions.get("scopes", ()))

    def _that_give(self, family: str, permission: str) -> dict[str, AccountState]:
        return {
            each.id: each
            for each in self.accounts()
            if each.connector in FAMILIES[family] and permission in each.allow and each.status in ("active", "silent")
        }

    @asynccontextmanager
    async def open(self, account: str, permission: Permission) -> AsyncIterator[Mailbox]:
        """A ``Mailboxes.open``."""
        chosen = await self.chosen("mail", account, permission)
        async with self._enter(chosen, True) as access, mailbox(chosen, access, self._clock.now, self._door) as box:
            self._addresses[chosen.id] = box.address
            yield box

    def address(self, account: str) -> str:
        """A ``Mailboxes.address``."""
        there = self._that_give("mail", "send")
        try:
            chosen = there[only(there, account, "send")]
            return self._addresses.get(chosen.id) or _own_address(chosen)
        except (AuthError, StepFailed):
            return ""

    @asynccontextmanager
    async def agenda(self, account: str) -> AsyncIterator[Agenda]:
        """An ``Agendas.agenda``."""
        chosen = await self.chosen("calendar", account, "write")
        async with self._enter(chosen, True) as access:
            yield agenda(chosen, access, self._clock, self._zone)

    @asynccontextmanager
    async def tasks(self, account: str) -> AsyncIterator[TaskList]:
        """An ``Agendas.tasks``."""
        chosen = await self.chosen("tasks", account, "write")
        async with self._enter(chosen, True) as access:
            yield tasks(chosen, access, self._clock)

    async def chosen(self, family: str, account: str, permission: Permission) -> AccountState:
        """StepFailed, with what to do, where none or several may be meant."""
        await self.refresh()
        there = self._that_give(family, permission)
        return there[only(there, account, permission)]

    def enter(self, account: AccountState) -> AbstractAsyncContextManager[Access]:
        return self._enter(account, True)


def _own_address(account: AccountState) -> str:
    """Of the settings, where they have it."""
    if account.connector != "imap":
        told = account.config.get("addresses")
        return str(told[0]) if isinstance(told, list) and told else ""
    from extractors.imap.config import ImapConfig
    from forewatch.outgoing.imap import address_of

    return address_of(settings_of(ImapConfig, account))


async def _nothing() -> None:
    """There is no log yet."""


@asynccontextmanager
async def mailbox(
    account: AccountState, access: Access, now: Callable[[], datetime], door: Door | None = None
) -> AsyncIterator[Mailbox]:
    """The mailbox of one account, as its connector's provider has it."""
    if account.connector == "imap":
        from extractors.imap.config import ImapConfig
        from extractors.imap.login import Door as DoorOf
        from forewatch.outgoing.imap import ImapMailbox

        box = ImapMailbox(settings_of(ImapConfig, account), access, door or DoorOf())
        try:
            yield box
        finally:
            box.close()
        return
    yield await _by_api(account, access, now)


async def _by_api(account: AccountState, access: Access, now: Callable[[], datetime]) -> Mailbox:
    from forewatch.outgoing.http import AccountHttp

    if account.connector == "gmail":
        from actions.tools.gmail import GmailMailbox, gmail_address
        from extractors.gmail.config import GmailConfig

        http = AccountHttp(access, settings_of(GmailConfig, account).base_url, now)
        return GmailMailbox(http, await gmail_address(http))
    if account.connector == "graph_mail":
        from actions.tools.graph_mail import GraphMailbox, graph_address
        from extractors.graph_mail.config import GraphMailConfig

        settings = settings_of(GraphMailConfig, account)
        http = AccountHttp(access, settings.base_url, now)
        return GraphMailbox(http, await graph_address(http, settings.addresses))
    raise StepFailed(f"account {account.id} has no mailbox", code="invalid")


def agenda(account: AccountState, access: Access, clock: Clock, zone: ZoneInfo) -> Agenda:
    """The calendar of one account, as its connector's provider has it."""
    from forewatch.outgoing.http import AccountHttp

    if account.connector == "caldav":
        from actions.tools.caldav import CaldavAgenda
        from extractors.caldav.config import CaldavConfig
        from forewatch.outgoing.dav import AccountDav

        config = settings_of(CaldavConfig, account)
        own = config.addresses or ((config.username,) if "@" in config.username else ())
        return CaldavAgenda(AccountDav(config, access, clock.now), zone, own, clock)
    if account.connector == "google_calendar":
        from actions.tools.google_calendar import GoogleAgenda
        from extractors.google_calendar.config import GoogleCalendarConfig

        base = settings_of(GoogleCalendarConfig, account).base_url
        return GoogleAgenda(AccountHttp(access, base, clock.now), zone)
    if account.connector == "graph_calendar":
        from actions.tools.graph_calendar import GraphAgenda
        from extractors.graph_calendar.config import GraphCalendarConfig

        return GraphAgenda(AccountHttp(access, settings_of(GraphCalendarConfig, account).base_url, clock.now))
    raise StepFailed(f"account {account.id} has no calendar", code="invalid")


def tasks(account: AccountState, access: Access, clock: Clock) -> TaskList:
    from actions.tools.caldav import CaldavTasks
    from extractors.caldav.config import CaldavConfig
    from forewatch.outgoing.dav import AccountDav

    return CaldavTasks(AccountDav(settings_of(CaldavConfig, account), access, clock.now), clock)


T = TypeVar("T", bound=BaseModel)


def settings_of(model: type[T], account: AccountState) -> T:
    try:
        return model.model_validate(account.config)
    except ValidationError as error:
        raise AuthError(f"the settings of account {account.id} are not valid", remedy="connect it again") from error


async def can_send(config: BaseModel, access: Access, door: Any = None) -> None:
    """Signs in where mail is handed in, and leaves. Errors as in ``forewatch.outgoing.smtp.submit``."""
    from extractors.imap.config import ImapConfig
    from extractors.imap.login import Door as DoorOf
    from forewatch.outgoing.smtp import can_submit

    if isinstance(config, ImapConfig):
        await can_submit(config, access.secret("password"), door or DoorOf())
