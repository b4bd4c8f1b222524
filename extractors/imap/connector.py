"""The IMAP connector: mail on a server, polled in a thread, page by page."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager

from pydantic import BaseModel

from extractors.connector import Access, Context, Login, Page, SecretField
from extractors.imap import discover
from extractors.imap.config import ImapConfig
from extractors.imap.errors import translated
from extractors.imap.folders import chosen
from extractors.imap.login import Door, in_thread, log_in
from extractors.imap.place import place_of
from extractors.imap.poll import Poll
from extractors.imap.reading import PageSize
from extractors.imap.session import Session
from extractors.imap.watcher import Watcher, Why
from schemas.errors import TransientError
from schemas.event import Event
from schemas.model import Json
from schemas.record import Record

STEP_S = 900.0
"""The longest that one page may take."""


class ImapConnector:
    """``page`` bounds a page; ``door`` says how servers are reached."""

    name = "imap"
    config: type[BaseModel] = ImapConfig
    login = Login(
        reads="the mails in your inbox and in your folder of sent mail; nothing is marked, moved or deleted",
        secrets=(
            SecretField(
                "password",
                "Password or app password",
                help="Gmail, Yahoo, iCloud and Fastmail want an app password, made in their security settings",
            ),
        ),
        scopes={
            "google": ("https://mail.google.com/",),
            "microsoft": ("https://outlook.office.com/IMAP.AccessAsUser.All",),
            "fastmail": ("https://www.fastmail.com/dev/protocol-imap",),
        },
        allows={
            "send": {
                "google": ("https://mail.google.com/",),
                "microsoft": ("https://outlook.office.com/SMTP.Send",),
                "fastmail": ("https://www.fastmail.com/dev/protocol-smtp",),
            },
            "write": {},
        },
    )

    def __init__(self, *, page: PageSize | None = None, door: Door | None = None) -> None:
        self._page = page or PageSize()
        self._door = door or Door()

    async def pull(self, config: BaseModel, cursor: Json, context: Context) -> AsyncIterator[Page]:
        assert isinstance(config, ImapConfig)
        place = place_of(cursor)
        session = await log_in(config, context.access, self._door)
        try:
            pages = Poll(session, place, config, context, self._page).pages()
            while (page := await self._step(session, pages, config)) is not None:
                yield page
        finally:
            session.close()

    async def _step(self, session: Session, pages: Iterator[Page], config: ImapConfig) -> Page | None:
        def step() -> Page | None:
            try:
                return next(pages, None)
            except Exception as error:
                raise translated(error, config.host) from error

        try:
            async with asyncio.timeout(STEP_S):
                return await in_thread(step, session.hang_up, lambda page: None)
        except TimeoutError as error:
            raise TransientError(f"{config.host} takes longer than {STEP_S:g} s for a page") from error

    def watch(
        self, config: BaseModel, enter: Callable[[], AbstractAsyncContextManager[Access]]
    ) -> AsyncGenerator[Why, None]:
        """Says when a poll is worth while (``forewatch.watching``)."""
        assert isinstance(config, ImapConfig)
        return Watcher(config, enter, door=self._door).looks()

    def normalise(self, record: Record, context: Context) -> Sequence[Event]:
        from extractors.imap import normalize  # reading mail takes long to load, and a poll needs none of it

        return normalize.normalise(record, context)

    async def discover(self, hint: str, context: Context) -> dict[str, Json]:
        return await discover.settings(hint, context, self._door)

    async def check(self, config: BaseModel, context: Context) -> Sequence[str]:
        assert isinstance(config, ImapConfig)
        session = await log_in(config, context.access, self._door)

        def ask() -> list[str]:
            try:
                return _described(session, config)
            except Exception as error:
                raise translated(error, config.host) from error

        try:
            return await in_thread(ask, session.hang_up, lambda lines: None)
        finally:
            session.close()


def _described(session: Session, config: ImapConfig) -> list[str]:
    listing, _ = session.survey([])
    read = [folder.name for folder in chosen(listing, config)]
    _, standings = session.survey(read)
    lines = [
        f"{name}: {standing.exists} mail{'s' * (standing.exists != 1)}" if standing else f"{name}: cannot be opened"
        for name, standing in zip(read, standings, strict=True)
    ]
    if missing := [name for name in config.folders if name not in read]:
        lines.append(f"not there: {', '.join(missing)}")
    if others := [name for _, name in listing if name not in read]:
        lines.append(f"not read: {', '.join(others[:20])}" + (", ..." if len(others) > 20 else ""))
    return lines
