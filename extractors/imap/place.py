"""Place: where a poll stopped, as the cursor holds it: how each folder stood, and which mails are known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Literal

from pydantic import ValidationError

from extractors.imap.answers import Standing
from extractors.imap.known import Known, pack, unpack
from schemas.errors import CursorExpired
from schemas.model import Json, Model

UNSEEN = Standing(validity=0, next=1, exists=-1)
"""How a folder stands that was never looked at."""


class Place:
    """``folders``: by name. A standing whose ``exists`` is -1 was not looked at to its end.

    ``known`` is unpacked when it is first wanted: most polls find nothing new and do without. CursorExpired then.
    """

    def __init__(self, folders: Mapping[str, Standing] | None = None, read: Callable[[], Known] = Known) -> None:
        self.folders = dict(folders or {})
        self._read = read

    @cached_property
    def known(self) -> Known:
        return self._read()

    def forget(self, kept: set[str]) -> None:
        """Folders that the account does not name any more; their mails stay what they were."""
        for name in [name for name in self.folders if name not in kept]:
            del self.folders[name]
        for mail in [mail for mail in self.known if mail.folder not in kept]:
            self.known.drop(mail.id)

    def cursor(self) -> Json:
        packed = pack(self.known)
        standings: list[Json] = [
            [name, standing.validity, standing.next, standing.exists, standing.modseq]
            for name, standing in self.folders.items()
        ]
        return {"format": 1, "folders": standings, "known": packed, "places": list(self.known.folders)}


def place_of(cursor: Json) -> Place:
    """CursorExpired for what we have not written."""
    if cursor is None:
        return Place()
    try:
        stored = _Stored.model_validate(cursor)
        folders = {name: Standing(*numbers) for name, *numbers in stored.folders}
    except ValidationError as error:
        raise CursorExpired("the stored place in the mailbox is of another version") from error
    return Place(folders, lambda: unpack(stored.known, stored.places))


class _Stored(Model):
    format: Literal[1]
    folders: tuple[tuple[str, int, int, int, int], ...]
    known: str
    places: tuple[str, ...]
