"""The maildir connector: mail that lies on this machine, in a Maildir or an mbox file."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

from pydantic import BaseModel

from extractors.connector import Context, Page, Preview, PreviewOptions
from extractors.maildir import folders, mboxfile
from extractors.maildir.config import MaildirConfig
from extractors.maildir.item import Item
from extractors.maildir.known import Seen, unpack
from extractors.maildir.poll import Poll, changes
from schemas.errors import AuthError, CursorExpired, ForewatchError, TransientError
from schemas.event import Event
from schemas.model import Json
from schemas.record import Record


class MaildirConnector:
    """``page_items`` and ``page_bytes`` bound a page: what is lost when the process dies, and what memory holds."""

    name = "maildir"
    config: type[BaseModel] = MaildirConfig

    def __init__(self, *, page_items: int = 200, page_bytes: int = 8 * 1024 * 1024) -> None:
        self._page_items = page_items
        self._page_bytes = page_bytes

    async def pull(self, config: BaseModel, cursor: Json, context: Context) -> AsyncIterator[Page]:
        assert isinstance(config, MaildirConfig)
        pages = self._pages(config, cursor, context)
        while (page := await asyncio.to_thread(_next, pages, config.location)) is not None:
            yield page

    def _pages(self, config: MaildirConfig, cursor: Json, context: Context) -> Iterator[Page]:
        path, known = config.location, _known(cursor)
        if _kind(path, config) == "maildir":
            poll = self._poll(known, folders.items(path, config), config, {})
        else:
            mark = mboxfile.stamp(path)
            if isinstance(cursor, dict) and (cursor.get("size"), cursor.get("mtime_ns")) == (mark.size, mark.mtime_ns):
                yield Page(complete=True)
                return
            listing = mboxfile.listing(path, config)
            if (doubt := _doubt(listing, known, cursor)) is not None:
                yield Page(warnings=[f"{path}: {doubt}"], complete=True)
                return
            stamp: dict[str, Json] = {"size": listing.stamp.size, "mtime_ns": listing.stamp.mtime_ns}
            poll = self._poll(known, listing.items, config, stamp)
        yield from self._changed(poll, path, cursor, context)

    def _poll(
        self, known: dict[str, Seen], items: Sequence[Item], config: MaildirConfig, stamp: dict[str, Json]
    ) -> Poll:
        return Poll(known, items, config, self._page_items, self._page_bytes, stamp)

    def _changed(self, poll: Poll, path: Path, cursor: Json, context: Context) -> Iterator[Page]:
        if not poll.items and any(not seen.is_gone and not seen.is_rejected for seen in poll.known.values()):
            yield Page(
                warnings=[f"{path}: all mail is suddenly gone; nothing is deleted until new mail comes"], complete=True
            )
            return
        found = changes(poll.known, poll.items, poll.config, context.now)
        if not found and not poll.stamp and cursor is not None:
            yield Page(complete=True)  # nothing to store either
            return
        yield from poll.pages(found)

    def normalise(self, record: Record, context: Context) -> Sequence[Event]:
        from extractors.maildir import normalize  # reading mail takes long to load, and a poll needs none of it

        return normalize.normalise(record, context)

    def sniff(self, path: Path) -> bool:
        from extractors.maildir import preview

        return preview.is_mail(path)

    def preview(self, path: Path, context: Context, options: PreviewOptions) -> Preview:
        from extractors.maildir import preview

        return preview.preview(path, context)


def _next(pages: Iterator[Page], path: Path) -> Page | None:
    """The next page, with what the operating system says translated."""
    try:
        return next(pages, None)
    except ForewatchError:
        raise
    except PermissionError as error:
        raise AuthError(f"{path} may not be read", remedy="give Forewatch's user read access to it") from error
    except (FileNotFoundError, NotADirectoryError) as error:
        raise TransientError(f"{path} is not there", remedy="check the path, and that its disk is mounted") from error
    except OSError as error:
        raise TransientError(f"{path} cannot be read: {error.strerror}", remedy="check the disk") from error


def _kind(path: Path, config: MaildirConfig) -> str:
    if config.kind != "auto":
        return config.kind
    return "mbox" if path.is_file() else "maildir"


def _known(cursor: Json) -> dict[str, Seen]:
    if cursor is None:
        return {}
    if not isinstance(cursor, dict) or cursor.get("format") != 1 or not isinstance(cursor.get("known"), str):
        raise CursorExpired("the stored place in the mail folder is of another version")
    return unpack(str(cursor["known"]))


def _doubt(listing: mboxfile.Listing, known: dict[str, Seen], cursor: Json) -> str | None:
    """Why a file that shrank is not believed: it was cut, as by a full disk or a copy that was broken off."""
    before = cursor.get("size") if isinstance(cursor, dict) else None
    if not isinstance(before, int) or listing.stamp.size >= before or not listing.items:
        return None
    *first, last = listing.items
    is_cut_inside = last.id not in known and all(item.id in known for item in first)
    is_prefix = [item.id for item in first] == [n for n, seen in known.items() if not seen.is_gone][: len(first)]
    if not listing.is_whole or (is_cut_inside and is_prefix):
        return "the file was cut off; nothing is deleted until it is whole again"
    return None
