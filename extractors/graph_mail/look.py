"""One look at all folders of a Microsoft mailbox: which mails they show, and which are in none any more."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from extractors.graph import Delta, Forgotten, Graph, Item, NotUnderstood, removed, text_of
from extractors.graph_mail.folders import Folder
from extractors.graph_mail.memory import Memory
from extractors.mail.intake import Sighting
from extractors.mail.ledger import native_id
from schemas.errors import TransientError

_SELECT = {"$select": "id,receivedDateTime,isRead,isDraft,flag"}
_PREFER = "odata.maxpagesize=200"


@dataclass(slots=True)
class Look:
    """``shown`` by native id; ``lost``: what was told and is nowhere now. ``links``: where each folder's changes go on
    once all of this is told. ``is_reset``: the service had forgotten a folder, which was listed anew."""

    shown: dict[str, Sighting] = field(default_factory=dict)
    lost: dict[str, None] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    is_reset: bool = False


async def look(graph: Graph, folders: Sequence[Folder], memory: Memory) -> Look:
    """Folders are asked one after the other; what a later one says is the newer."""
    found = Look()
    for folder in folders:
        await _Folder(graph, folder, memory, found).read()
    watched = {folder.id for folder in folders}
    places = {place for id, place in memory.places.items() if id not in watched}
    _lose(memory, found, places - {memory.places[id] for id in watched}, ())
    found.lost |= dict.fromkeys(memory.ledger.vanished(found.shown))
    return found


@dataclass(slots=True)
class _Folder:
    graph: Graph
    folder: Folder
    memory: Memory
    found: Look

    async def read(self) -> None:
        place = self.memory.place(self.folder.id)
        changes = await self._changes()
        delta = await self._everything() if changes is None else changes
        self.found.links[self.folder.id] = delta.link
        here: set[str] = set()
        for item in delta.items:
            self._read(item, place, here)
        if changes is None:
            _lose(self.memory, self.found, {place}, here)

    async def _changes(self) -> Delta | None:
        """None where there is no link, or the service no longer knows it."""
        link = self.memory.links.get(self.folder.id)
        if link is None:
            return None
        try:
            return await self.graph.delta(link, prefer=_PREFER)
        except (Forgotten, NotUnderstood):  # or it is no link to it any more
            self.found.is_reset = True
            return None

    async def _everything(self) -> Delta:
        """TransientError for a folder that shows nothing although it is said to be full: it is not believed."""
        first = self.graph.url("me", "mailFolders", self.folder.id, "messages", "delta")
        try:
            delta = await self.graph.delta(first, _SELECT, prefer=_PREFER)
        except Forgotten:  # in mid-paging
            delta = await self.graph.delta(first, _SELECT, prefer=_PREFER)
        if not delta.items and self.folder.total:
            raise TransientError(f"Microsoft Graph shows none of {self.folder.total} mails in {self.folder.path!r}")
        return delta

    def _read(self, item: Item, place: int, here: set[str]) -> None:
        """A mail may come several times: the last word counts."""
        id = text_of(item, "id")
        if not id:
            return
        key = native_id(id)
        if removed(item) or item.get("isDraft") is True:
            here.discard(key)
            self._leave(key, place)
            return
        here.add(key)
        self.found.lost.pop(key, None)
        if sighting := self._sighting(id, key, item, place):
            self.found.shown[key] = sighting

    def _leave(self, key: str, place: int) -> None:
        shown = self.found.shown.get(key)
        if shown is not None and shown.place != place:
            return
        self.found.shown.pop(key, None)
        told = self.memory.ledger.known.get(key)
        if told is not None and not told.is_gone and told.place == place:
            self.found.lost[key] = None

    def _sighting(self, id: str, key: str, item: Item, place: int) -> Sighting | None:
        """None for a part of a mail that was never told (it is too old): a change gives no more than what changed."""
        earlier, told = self.found.shown.get(key), self.memory.ledger.known.get(key)
        at = _instant(item.get("receivedDateTime")) or (earlier.at if earlier else None)
        if at is None and told is None:
            return None
        before = earlier.flags if earlier else told.flags if told else ()
        return Sighting(id, key, _flags(item, before), place, self.folder.path, self.folder.role, at)


def _lose(memory: Memory, found: Look, places: set[int], present: Iterable[str]) -> None:
    """What was told to be in these places and was not shown there, nor anywhere else."""
    shown = {*present, *found.shown}
    for key, told in memory.ledger.known.items():
        if told.place in places and not told.is_gone and key not in shown:
            found.lost[key] = None


def _flags(item: Item, before: Sequence[str]) -> tuple[str, ...]:
    flags = dict.fromkeys(before)
    marks = {"seen": item.get("isRead")}
    if isinstance(flag := item.get("flag"), dict):
        marks["flagged"] = flag.get("flagStatus") == "flagged"
    for name, mark in marks.items():
        if mark is True:
            flags[name] = None
        elif mark is False:
            flags.pop(name, None)
    return tuple(sorted(flags))


def _instant(text: object) -> datetime | None:
    try:
        moment = datetime.fromisoformat(str(text)) if text else None
    except ValueError:
        return None
    return moment if moment is None or moment.tzinfo else moment.replace(tzinfo=UTC)
