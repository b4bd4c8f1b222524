"""A mailbox at Microsoft Graph: a letter is first a draft of its own Message-ID, then that draft is sent, once.

What crashes in between leaves a draft, which the next attempt sends instead of making another.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from actions.tools.mailbox import message_id
from actions.tools.wire import Http, Reply, ask
from schemas.errors import StepFailed

PREFER = {"Prefer": 'IdType="ImmutableId"'}
"""Ids that stay when a thing moves, as a sent draft does."""
_FIELDS = "id,isDraft,isRead,flag,categories,parentFolderId"
_KNOWN = {"inbox": "inbox", "archive": "archive", "trash": "deleteditems", "spam": "junkemail"}


class GraphMailbox:
    def __init__(self, http: Http, address: str) -> None:
        self._http = http
        self.address = address

    async def send(self, letter: bytes, to: str, key: str) -> None:
        found = await self._found(message_id(key, self.address))
        if found is not None and not found["isDraft"]:
            return
        if found is None:
            headers = {"Content-Type": "text/plain"}
            reply = await self._ask("POST", "me/messages", headers=headers, content=base64.b64encode(letter))
            found = reply.object()
        await self._ask("POST", f"me/messages/{_id(found)}/send", headers={"Content-Length": "0"}, content=b"")

    async def sent(self, key: str) -> bytes | None:
        found = await self._found(message_id(key, self.address))
        return None if found is None or found["isDraft"] else await self._raw(found)

    async def read(self, message_id: str) -> bytes | None:
        found = await self._found(message_id)
        return None if found is None else await self._raw(found)

    async def labels(self, message_id: str) -> frozenset[str] | None:
        found = await self._found(message_id)
        if found is None:
            return None
        words = {str(each).lower() for each in found.get("categories", [])}
        words |= {"seen"} if found.get("isRead") else set()
        return frozenset(words | ({"flagged"} if found.get("flag", {}).get("flagStatus") == "flagged" else set()))

    async def relabel(self, message_id: str, label: str, *, on: bool) -> None:
        found = await self._must(message_id)
        change: dict[str, Any]
        if label == "seen":
            change = {"isRead": on}
        elif label == "flagged":
            change = {"flag": {"flagStatus": "flagged" if on else "notFlagged"}}
        else:
            kept = [each for each in found.get("categories", []) if str(each).lower() != label]
            change = {"categories": [*kept, label] if on else kept}
        await self._ask("PATCH", f"me/messages/{_id(found)}", json=change)

    async def folder(self, message_id: str) -> str | None:
        found = await self._found(message_id)
        if found is None:
            return None
        reply = await self._ask("GET", f"me/mailFolders/{quote(str(found['parentFolderId']), safe='')}")
        return str(reply.object().get("displayName", ""))

    async def is_in(self, message_id: str, folder: str) -> bool:
        return (await self.folder(message_id) or "").lower() == folder.lower()

    async def move(self, message_id: str, folder: str) -> None:
        found = await self._must(message_id)
        target = _KNOWN.get(folder.lower()) or await self._folder_id(folder)
        await self._ask("POST", f"me/messages/{_id(found)}/move", json={"destinationId": target})

    async def _folder_id(self, title: str) -> str:
        listed = await self._list("me/mailFolders", {"$filter": f"displayName eq '{_quoted(title)}'"})
        if not listed:
            raise StepFailed(f"there is no folder {title!r}", code="not_found", remedy="make it in your mail program")
        return str(listed[0]["id"])

    async def _must(self, message_id: str) -> dict[str, Any]:
        found = await self._found(message_id)
        if found is None:
            raise StepFailed("the mail is not there", code="not_found")
        return found

    async def _found(self, message_id: str) -> dict[str, Any] | None:
        """Of several copies the one that was sent or received."""
        wanted = {"$filter": f"internetMessageId eq '{_quoted(message_id)}'", "$select": _FIELDS}
        listed = await self._list("me/messages", wanted)
        return min(listed, key=lambda each: bool(each.get("isDraft")), default=None)

    async def _list(self, path: str, params: dict[str, str]) -> list[dict[str, Any]]:
        found = (await self._ask("GET", path, params=params)).object().get("value", [])
        return [each for each in found if isinstance(each, dict)]

    async def _raw(self, found: dict[str, Any]) -> bytes:
        return (await self._ask("GET", f"me/messages/{_id(found)}/$value")).body

    async def _ask(self, method: str, path: str, *, headers: dict[str, str] | None = None, **more: Any) -> Reply:
        return await ask(self._http, method, path, headers={**PREFER, **(headers or {})}, **more)


async def graph_address(http: Http, addresses: Sequence[str]) -> str:
    """The account's own address: of the settings, else what Microsoft says."""
    if addresses:
        return addresses[0]
    found = (await ask(http, "GET", "me", headers=PREFER, params={"$select": "mail,userPrincipalName"})).object()
    return str(found.get("mail") or found.get("userPrincipalName") or "")


def _id(found: dict[str, Any]) -> str:
    return quote(str(found["id"]), safe="")


def _quoted(text: str) -> str:
    """A literal of OData."""
    return text.replace("'", "''")
