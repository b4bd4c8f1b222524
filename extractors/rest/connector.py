"""The rest connector: business systems that a YAML definition describes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from pydantic import BaseModel

from extractors.connector import Context, Login, Page
from extractors.rest import loader
from extractors.rest.auth import OAuth2
from extractors.rest.config import RestConfig
from extractors.rest.listing import Listing, is_due
from extractors.rest.normalize import normalise
from extractors.rest.request import Ask
from extractors.rest.signing import secrets
from extractors.rest.source import Sleep, Source, StreamBroken, StreamRefused
from extractors.rest.state import Book
from extractors.rest.substream import Substream
from schemas.errors import AuthError, ConfigError
from schemas.event import Event
from schemas.model import Json
from schemas.record import Record


class Rest:
    """Stateless. ``page_items``: changes in one page. ``sleep``: how short waits are waited for."""

    name = "rest"
    config: type[BaseModel] = RestConfig
    login = Login(reads="the rows of the streams that its definition names, and nothing is ever written there")

    def __init__(self, page_items: int = 0, sleep: Sleep = asyncio.sleep) -> None:
        self._page_items = page_items
        self._sleep = sleep

    async def pull(self, config: BaseModel, cursor: Json, context: Context) -> AsyncIterator[Page]:
        """Stream by stream. One that may not or cannot be read does not hold up the others: its error comes last.
        ConfigError for a definition or settings with a mistake."""
        settings = RestConfig.model_validate(config)
        definition = await asyncio.to_thread(loader.load, settings.definition)
        source = Source(definition, settings, context, self._sleep)
        book = Book.from_json(cursor)
        failed: AuthError | StreamBroken | None = None
        for stream in definition.ordered():
            if not is_due(stream, book.stream(stream.name), context.now):
                continue
            reader = Listing if stream.foreach is None else Substream
            try:
                async for page in reader(definition, stream, book, source, context, self._page_items).pages():
                    yield page
            except (StreamRefused, StreamBroken) as error:
                failed = failed or error
        if failed is not None:
            raise failed
        yield Page(next_cursor=book.to_json(), complete=True)

    def normalise(self, record: Record, context: Context) -> Sequence[Event]:
        return normalise(record, context)

    def login_for(self, config: BaseModel) -> Login:
        """What this account's definition needs to be let in. Blocks."""
        settings = RestConfig.model_validate(config)
        definition = loader.load(settings.definition)
        names = ", ".join(stream.name for stream in definition.streams)
        reads = f"{names} of {definition.about or definition.name}; nothing is ever written there"
        scopes = definition.auth.scopes if isinstance(definition.auth, OAuth2) else ()
        profiles = {settings.provider or "oidc": scopes} if isinstance(definition.auth, OAuth2) else {}
        return Login(reads, secrets(definition.auth), profiles)

    async def discover(self, hint: str, context: Context) -> dict[str, Json]:
        """``hint``: the path of a definition, or the name of one that ships."""
        name = hint.strip()
        try:
            definition = await asyncio.to_thread(loader.load, name)
        except ConfigError as error:
            if isinstance(error, loader.DefinitionErrors):
                raise
            remedy = error.remedy or f"give the path of a .yaml file, or one of {', '.join(loader.examples())}"
            raise AuthError(error.message, remedy=remedy) from error
        is_shipped = name in loader.examples()
        settings: dict[str, Json] = {
            key: setting.default for key, setting in definition.config.items() if setting.default is not None
        }
        found: dict[str, Json] = {"definition": name if is_shipped else str(Path(name).expanduser().resolve())}
        return {**found, "settings": settings} if settings else found

    async def check(self, config: BaseModel, context: Context) -> Sequence[str]:
        """Reads the first page of each stream that stands by itself."""
        settings = RestConfig.model_validate(config)
        definition = await asyncio.to_thread(loader.load, settings.definition)
        source = Source(definition, settings, context, self._sleep)
        lines = []
        for stream in definition.streams:
            if stream.foreach is not None:
                lines.append(f"{stream.name}: read for each of {stream.foreach.stream}")
                continue
            listed = await source.page(Ask(stream))
            more = "" if listed.next is None else " on the first page"
            lines.append(f"{stream.name}: {len(listed.items)} rows{more}")
        return lines
