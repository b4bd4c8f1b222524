"""One poll of a Gmail account: its history since the last time, or, first or where that is lost, a full listing.

What a mail looks like is always asked of the mail itself, so that stale listings, pages that come twice and polls that
died lead to the same records. Nothing counts as removed because a listing lacks it: the mail is asked.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial

from extractors.connector import Delete, Page
from extractors.gmail.config import GmailConfig
from extractors.gmail.draft import Draft, Sizes
from extractors.gmail.known import ID, LIMIT, Memory, Seen
from extractors.gmail.labels import BY_LABEL, SEEN, bits_of, is_live
from extractors.gmail.source import PAGES_CAP, Mail, Source
from extractors.google import together, word
from schemas.errors import TransientError

_ROUNDS = 3
"""A place that was taken before a listing that was interrupted may be lost by the time that it ends."""
_SLACK = timedelta(days=2)
"""A mail that is this much older than the last complete poll, and that nobody remembers, was forgotten, not missed."""


class Poll:
    """``memory`` grows page by page, and every page carries it: the next poll goes on there."""

    def __init__(self, source: Source, memory: Memory, config: GmailConfig, now: datetime, sizes: Sizes) -> None:
        self._source = source
        self._memory = memory
        self._now = now
        self._sizes = sizes
        self._oldest = now - timedelta(days=config.days)
        self._addresses = config.addresses
        self._draft = Draft()
        self._is_reset = False
        self._has_moved = False

    async def pages(self) -> AsyncIterator[Page]:
        memory = self._memory
        for _ in range(_ROUNDS):
            if memory.listing or not memory.history:
                async for page in self._list():
                    yield page
            async for page in self._follow():
                yield page
            if not memory.listing:
                break
        memory.tidy()
        if not self._has_moved and not self._draft:
            yield Page(complete=True)  # nothing to store either
            return
        memory.at = self._now
        yield self._page(complete=True)

    async def _follow(self) -> AsyncIterator[Page]:
        """The mailbox's history. Sets ``memory.listing`` where Gmail no longer knows our place in it."""
        memory, token, tokens = self._memory, "", set[str]()
        start = memory.history
        for _ in range(PAGES_CAP):
            stretch = await self._source.history(start, token)
            if stretch is None:
                memory.history, memory.listing = "", "reset"
                return
            look = partial(self._look, maybe_new=stretch.maybe_new, deleted=stretch.deleted)
            async for page in self._walk(stretch.touched, look):
                yield page
            place = stretch.last if stretch.next_token else stretch.top
            self._has_moved = self._has_moved or (place or start) != memory.history
            memory.history = place or memory.history
            if not (token := stretch.next_token):
                return
            if token in tokens:
                raise TransientError("Gmail gives the same page of history twice")
            tokens.add(token)

    async def _list(self) -> AsyncIterator[Page]:
        """A full listing; the place in history is taken before it, so that nothing falls between the two."""
        memory = self._memory
        memory.listing = memory.listing or "first"
        self._is_reset = memory.listing == "reset"
        if not memory.history:
            profile = await self._source.profile()
            memory.history = word(profile, "historyId")
            memory.address = word(profile, "emailAddress").strip().lower()[:320]
        if self._is_reset and memory.at:
            self._oldest = max(self._oldest, memory.at - _SLACK)
        listed = await self._listed()
        new = [name for name in reversed(listed.near) if name not in memory.known]
        async for page in self._walk(new, partial(self._look, maybe_new=set(new))):
            yield page
        if self._is_reset:
            async for page in self._walk(await self._doubtful(listed.names), self._look):
                yield page
        memory.listing = ""
        self._has_moved = True

    async def _listed(self) -> _Listed:
        """TransientError where nothing is listed although a mail that we know is there."""
        known = self._memory.known
        live = {name for name, seen in known.items() if seen.is_live} if self._is_reset else set()
        listed = _Listed()
        is_past = False
        async for names in self._source.listing():
            for name in names:
                if not ID.fullmatch(name):
                    self._draft.reject(name[:40], "unknown_id", "Gmail gives it an id of a form that is not known")
                elif name not in listed.names:
                    listed.names.add(name)
                    listed.near += [] if is_past else [name]
            is_past = is_past or (bool(names) and await self._is_old(names[-1]))
            if is_past and live <= listed.names:
                break
            if len(listed.names) >= LIMIT:
                self._draft.warnings.append(
                    f"more than {LIMIT} mails: only the newest are watched; days narrows it down"
                )
                break
        if live and not listed.names and (mail := await self._source.glance(max(live))) and is_live(mail.labels):
            raise TransientError("Gmail lists no mail although there is some")
        return listed

    async def _is_old(self, name: str) -> bool:
        """Lists come newest first, so where the last of a page is too old, so are all further pages."""
        if name in self._memory.known or not ID.fullmatch(name):
            return False
        mail = await self._source.glance(name)
        return mail is not None and mail.at < self._oldest

    async def _doubtful(self, listed: set[str]) -> list[str]:
        """Known mails that the listing lacks, or of which a listing by label says something new."""
        having = {bit: {name async for name in self._with(label)} for label, bit in BY_LABEL.items()}
        found = []
        for name, seen in self._memory.known.items():
            bits = sum(bit for bit, names in having.items() if (name in names) != (bit == SEEN))
            is_listed = name in listed
            if not seen.is_rejected and (is_listed == seen.is_gone or (is_listed and bits != seen.bits)):
                found.append(name)
        return found

    async def _with(self, label: str) -> AsyncIterator[str]:
        async for names in self._source.listing(label):
            for name in names:
                yield name

    async def _look(
        self, name: str, *, maybe_new: Set[str] = frozenset(), deleted: Set[str] = frozenset()
    ) -> Mail | None:
        """The mail as it is now, whole where it will become a record. None where there is none to speak of."""
        if name in deleted:
            return None
        seen = self._memory.known.get(name)
        if seen is None:
            return await self._source.read(name) if name in maybe_new else None
        mail = await self._source.glance(name)
        if mail is None or not is_live(mail.labels) or seen.is_rejected or seen.now(bits_of(mail.labels)) == seen:
            return mail
        return await self._source.read(name)

    async def _walk(self, names: Sequence[str], look: Callable[[str], Awaitable[Mail | None]]) -> AsyncIterator[Page]:
        """Pages that are full; what is left is in the draft."""
        for first in range(0, len(names), self._sizes.at_once):
            group = names[first : first + self._sizes.at_once]
            for name, mail in zip(group, await together([look(name) for name in group]), strict=True):
                if self._draft.is_full(self._sizes):
                    yield self._page(complete=False)
                self._settle(name, mail)

    def _settle(self, name: str, mail: Mail | None) -> None:
        known = self._memory.known
        seen = known.get(name)
        if mail is None or not is_live(mail.labels):
            if seen is not None and seen.is_rejected:
                del known[name]  # it never became a record, so there is nothing to take back
            elif seen is not None and not seen.is_gone:
                known[name] = seen.gone()
                self._draft.deletes.append(Delete(name, known[name].version))
            return
        now = seen.now(bits_of(mail.labels)) if seen else Seen(0, bits_of(mail.labels))
        if now == seen or now.is_rejected or (seen is None and mail.at < self._oldest):
            return
        if mail.fault is not None:
            self._draft.reject(name, mail.fault.code, mail.fault.message)
            known[name] = replace(now, is_rejected=seen is None)
            return
        known[name] = now
        self._draft.upsert(mail, now, (self._memory.address, *self._addresses), is_new=seen is None)

    def _page(self, *, complete: bool) -> Page:
        draft, self._draft = self._draft, Draft()
        return draft.page(self._memory.to_json(), complete=complete, reset=self._is_reset)


@dataclass(slots=True)
class _Listed:
    """``near``: not too old to be new to us, newest first; ``names``: all that were listed."""

    near: list[str] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
