"""One look at a JMAP account: by its changes where the server still knows our state, else by a full listing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from extractors.jmap.client import Arguments, Call, Client, MethodError, words
from extractors.jmap.emails import PROPERTIES, Emails
from extractors.jmap.mailboxes import Mailboxes, read_mailboxes
from extractors.jmap.memory import Memory
from schemas.errors import TransientError

PAGES_CAP = 10_000
_RESTARTS = 3
_MARGIN = timedelta(days=31)
"""A first listing that was cut off may go on days later, and has to show again what it has told."""
_FORGOTTEN = frozenset({"cannotCalculateChanges", "invalidArguments"})
_TOO_MUCH = frozenset({"requestTooLarge", "invalidResultReference"})
_NUMBERED = re.compile(r"(.*?)([0-9]{1,30})", re.DOTALL)
_MAILBOX = ("id", "name", "parentId", "role", "totalEmails")


@dataclass(frozen=True, slots=True)
class Look:
    """``state``: to go on from once all of this is told. ``is_reset``: the server had forgotten the state that we
    had."""

    emails: Emails
    state: str
    is_reset: bool


async def look(client: Client, memory: Memory, only: Sequence[str], oldest: datetime | None) -> Look:
    """``oldest``: where a first listing begins."""
    account = (await client.session()).account
    mailboxes = Call("Mailbox/get", {"ids": None, "properties": list(_MAILBOX)})
    if memory.state and memory.account == account:
        try:
            boxes, first = await client.ask([mailboxes, Call("Email/changes", await _since(client, memory.state))])
        except MethodError as error:
            if error.kind not in _FORGOTTEN:
                raise
        else:
            changes = _Changes(client, Emails(read_mailboxes(boxes.get("list"), only)))
            if (state := await changes.read(memory.state, first)) is not None:
                changes.emails.gone |= dict.fromkeys(memory.ledger.vanished(changes.emails.shown))
                return Look(changes.emails, state, is_reset=False)
    boxes, empty = await client.ask([mailboxes, Call("Email/get", {"ids": [], "properties": ["id"]})])
    listing = _Listing(client, read_mailboxes(boxes.get("list"), only))
    known = memory.ledger.present()
    is_first = not memory.state or not known
    await listing.read(oldest - _MARGIN if oldest and is_first else None, is_known=bool(known))
    for key in known:
        if key not in listing.emails.shown:
            listing.emails.gone[key] = None
    return Look(listing.emails, _state(empty, "state"), is_reset=bool(memory.state))


async def _since(client: Client, state: str) -> Arguments:
    return {"sinceState": state, "maxChanges": (await client.session()).objects}


@dataclass(slots=True)
class _Changes:
    client: Client
    emails: Emails

    async def read(self, since: str, found: Arguments) -> str | None:
        """The state after all changes; None where the server has lost ours without saying so: it is ahead."""
        for _ in range(PAGES_CAP):
            state = _state(found, "newState")
            if is_older(state, since):
                return None
            await self._page(found)
            if found.get("hasMoreChanges") is not True:
                return state
            if state == since:
                break
            since = state
            found = await self.client.one("Email/changes", await _since(self.client, since))
        raise TransientError("the mail server gives changes in a circle")

    async def _page(self, found: Arguments) -> None:
        ids = list(dict.fromkeys([*words(found, "created"), *words(found, "updated")]))
        await _show(self.client, self.emails, ids)
        self.emails.destroy(words(found, "destroyed"))


class _Listing:
    """Every mail, the oldest first. Pages hang on the last mail of the page before (an anchor): whatever comes or goes
    meanwhile, none is skipped."""

    def __init__(self, client: Client, mailboxes: Mailboxes) -> None:
        self.emails = Emails(mailboxes)
        self._client = client

    async def read(self, oldest: datetime | None, *, is_known: bool) -> None:
        """TransientError for a listing of nothing although the mailboxes are said to be full: it is not believed.
        ``is_known``: earlier polls were shown something."""
        is_empty = True
        for _ in range(_RESTARTS):
            try:
                is_empty = await self._pages(oldest)
                break
            except MethodError as error:
                if error.kind != "anchorNotFound":
                    raise
        else:
            raise TransientError("the mail server loses its place in every listing")
        if is_empty and (is_known or oldest is None) and self.emails.mailboxes.total:
            raise TransientError(f"the mail server lists none of {self.emails.mailboxes.total} mails")

    async def _pages(self, oldest: datetime | None) -> bool:
        """Whether there was nothing at all."""
        limit = (await self._client.session()).objects
        query: Arguments = {"sort": [{"property": "receivedAt", "isAscending": True}], "limit": limit}
        if oldest is not None:
            query["filter"] = {"after": f"{oldest:%Y-%m-%dT%H:%M:%SZ}"}
        last, seen = "", set[str]()
        for _ in range(PAGES_CAP):
            place: Arguments = {"anchor": last, "anchorOffset": 1} if last else {"position": 0}
            ids = await self._page({**query, **place})
            if not ids:
                return not last
            if ids[-1] in seen:
                break
            last = ids[-1]
            seen.add(last)
        raise TransientError("the mail server lists in a circle")

    async def _page(self, query: Arguments) -> list[str]:
        """The query and its mails in one request; in several where the server lists more than it gives at once."""
        get = Call("Email/get", {"properties": list(PROPERTIES)}, follows=("ids", "ids"))
        try:
            found, mails = await self._client.ask([Call("Email/query", query), get])
        except MethodError as error:
            if error.kind not in _TOO_MUCH:
                raise
            found = await self._client.one("Email/query", query)
            await _show(self._client, self.emails, words(found, "ids"))
        else:
            self.emails.show(mails.get("list"))
        return words(found, "ids")


async def _show(client: Client, emails: Emails, ids: Sequence[str]) -> None:
    """As many at once as the server gives."""
    size = (await client.session()).objects
    for at in range(0, len(ids), size):
        found = await client.one("Email/get", {"ids": list(ids[at : at + size]), "properties": list(PROPERTIES)})
        emails.show(found.get("list"))


def is_older(state: str, since: str) -> bool:
    """Whether a state comes before another, as far as one can tell: both end in a number after the same letters.

    A server whose data were restored from a backup answers a state that it has not reached yet with no changes and
    with its own, lower one.
    """
    ours, theirs = _NUMBERED.fullmatch(since), _NUMBERED.fullmatch(state)
    return bool(ours and theirs and ours[1] == theirs[1] and int(theirs[2]) < int(ours[2]))


def _state(found: Arguments, name: str) -> str:
    state = found.get(name)
    if not isinstance(state, str) or not state:
        raise TransientError(f"the mail server answers without {name}")
    return state
