"""Which folders of a Microsoft mailbox are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from extractors.graph import Graph, Item, text_of
from extractors.text import one_line
from schemas.errors import AuthError, TransientError

NEVER = ("drafts", "outbox", "deleteditems", "junkemail", "conversationhistory", "syncissues")
"""Well-known folders that hold no mail that counts; what is in their subfolders does not either."""
_NAMED = ("inbox", "sentitems", *NEVER)
_FOLDERS_CAP = 250
"""Fewer than there are bytes for places (``memory.Memory.place``)."""
_DEPTH_CAP = 10
_SELECT: dict[str, str | int] = {"$select": "id,displayName,childFolderCount,totalItemCount", "$top": 100}


@dataclass(frozen=True, slots=True)
class Folder:
    """``path`` as a person sees it, ``total``: how many mails are in it, by the word of the service."""

    id: str
    path: str
    role: str
    total: int


async def named_folders(graph: Graph, known: Mapping[str, str]) -> dict[str, str]:
    """Ids of the well-known folders, '' for those that this mailbox has not. They never change: asked for once."""
    if set(known) >= set(_NAMED):
        return dict(known)
    found: dict[str, str] = {}
    for name in _NAMED:
        item = await graph.find(graph.url("me", "mailFolders", name), {"$select": "id"})
        found[name] = text_of(item, "id") if item else ""
    if not found["inbox"]:
        raise TransientError("Microsoft Graph shows no inbox")
    return found


async def watched_folders(graph: Graph, named: Mapping[str, str], only: Sequence[str]) -> list[Folder]:
    """The folders to read, each with its path, in a stable order.

    TransientError for a list without an inbox: it is not whole. AuthError for a folder in ``only`` that is not there.
    """
    never = {named[name] for name in NEVER} - {""}
    found: list[Folder] = []
    await _Tree(graph, never, named["sentitems"], found).walk(graph.url("me", "mailFolders"), "", "inbox")
    if named["inbox"] not in {folder.id for folder in found}:
        raise TransientError("Microsoft Graph lists the folders without the inbox")
    found.sort(key=lambda folder: (folder.path, folder.id))
    if not only:
        return found
    wanted = {path.casefold() for path in only}
    if missing := wanted - {folder.path.casefold() for folder in found}:
        raise AuthError(f"there is no folder {min(missing)!r}", remedy="correct the account's folders")
    return [folder for folder in found if folder.path.casefold() in wanted]


@dataclass(frozen=True, slots=True)
class _Tree:
    graph: Graph
    never: set[str]
    sent: str
    found: list[Folder]

    async def walk(self, url: str, above: str, role: str) -> None:
        for item in await self.graph.every(url, _SELECT):
            folder = self._folder(item, above, role)
            if folder is None or folder.id in self.never or len(self.found) >= _FOLDERS_CAP:
                continue
            self.found.append(folder)
            if item.get("childFolderCount") and folder.path.count("/") < _DEPTH_CAP:
                below = self.graph.url("me", "mailFolders", folder.id, "childFolders")
                await self.walk(below, f"{folder.path}/", folder.role)

    def _folder(self, item: Item, above: str, role: str) -> Folder | None:
        """What is in a subfolder of sent mail was sent too."""
        id, total = text_of(item, "id"), item.get("totalItemCount")
        if not id:
            return None
        path = f"{above}{one_line(text_of(item, 'displayName') or id, 200)}"[:500]
        return Folder(id, path, "sent" if id == self.sent else role, total if isinstance(total, int) else 0)
