"""The bankfile connector: a folder into which bank exports are put, or one such file."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

from pydantic import BaseModel

from extractors.bankfile import normalize
from extractors.bankfile.config import BankFileConfig
from extractors.bankfile.cursor import load
from extractors.bankfile.folder import listing
from extractors.bankfile.parsed import Given
from extractors.bankfile.poll import Poll
from extractors.bankfile.preview import preview
from extractors.bankfile.reader import is_ours
from extractors.connector import Context, Page, Preview, PreviewOptions
from schemas.event import Event
from schemas.model import Json
from schemas.record import Record

PAGE_ROWS = 500
_SNIFFED = 8_192
_SNIFFED_FILES = 20


class BankFile:
    """Deletes nothing but pending rows that were booked: a file that goes away, or comes back shorter, has said what
    it said."""

    name = "bankfile"
    config: type[BaseModel] = BankFileConfig

    def __init__(self, page_rows: int = PAGE_ROWS) -> None:
        self._page_rows = page_rows

    async def pull(self, config: BaseModel, cursor: Json, context: Context) -> AsyncIterator[Page]:
        """A file that leaves a question open is read when the account's ``answers`` hold the answer."""
        settings = BankFileConfig.model_validate(config.model_dump())
        state = load(cursor)
        path = Path(settings.path).expanduser()
        files = await asyncio.to_thread(listing, path, was_read=bool(state.files))
        given = Given(settings.currency, settings.signs == "turned", settings.answers, dict(state.orders))
        pages = Poll(context.account, state, cursor, given, self._page_rows).pages(files)
        while (page := await asyncio.to_thread(_next, pages)) is not None:
            yield page

    def normalise(self, record: Record, context: Context) -> Sequence[Event]:
        return normalize.normalise(record, context)

    def sniff(self, path: Path) -> bool:
        """A file by its first bytes, a folder by its first files."""
        try:
            candidates = sorted(_files(path))[:_SNIFFED_FILES] if path.is_dir() else [path]
            return any(_is_bank_file(candidate) for candidate in candidates)
        except (OSError, ValueError):
            return False

    def preview(self, path: Path, context: Context, options: PreviewOptions) -> Preview:
        return preview(path, context, options)


def _next(pages: Iterator[Page]) -> Page | None:
    return next(pages, None)


def _files(path: Path) -> Iterator[Path]:
    with os.scandir(path) as entries:
        for entry in entries:
            if entry.is_file(follow_symlinks=False) and not entry.name.startswith("."):
                yield Path(entry.path)


def _is_bank_file(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        return is_ours(stream.read(_SNIFFED))
