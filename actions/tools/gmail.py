"""A mailbox at Gmail: the letter as it is, found again among the sent mails, labels instead of folders."""

from __future__ import annotations

import base64
from typing import Any
from urllib.parse import quote

from actions.tools.mailbox import KEY_HEADER, message_id
from actions.tools.wire import Http, ask
from schemas.errors import OutcomeUnknown, StepFailed

_ME = "gmail/v1/users/me"
RECENT = 50
"""Sent mails that are looked through by our own header, where the search by Message-ID finds nothing: Gmail may give a
mail another Message-ID than ours."""
_SYSTEM = {"inbox": "INBOX", "trash": "TRASH", "spam": "SPAM", "starred": "STARRED", "important": "IMPORTANT"}
_ARCHIVE = "archive"


class GmailMailbox:
    """``address`` is the account's own."""

    def __init__(self, http: Http, address: str) -> None:
        self._http = http
        self.address = address

    async def send(self, letter: bytes, to: str, key: str) -> None:
        if await self.sent(key) is None:
            raw = base64.urlsafe_b64encode(letter).decode()
            await ask(self._http, "POST", f"{_ME}/messages/send", json={"raw": raw})

    async def sent(self, key: str) -> bytes | None:
        found = await self._search(f"rfc822msgid:{message_id(key, self.address).strip('<>')} in:sent")
        for name in found or await self._recent():
            if await self._is_ours(name, key):
                return await self._raw(name)
        return None

    async def read(self, message_id: str) -> bytes | None:
        name = await self._named(message_id)
        return None if name is None else await self._raw(name)

    async def labels(self, message_id: str) -> frozenset[str] | None:
        found = await self._label_ids(message_id)
        if found is None:
            return None
        titles = {name: title for title, name in (await self._titles()).items()}
        plain = {titles.get(each, each).lower() for each in found}
        plain |= {"flagged"} if "STARRED" in found else set()
        return frozenset(plain | (set() if "UNREAD" in found else {"seen"}))

    async def relabel(self, message_id: str, label: str, *, on: bool) -> None:
        if label == "seen":
            await self._modify(message_id, *((), ("UNREAD",)) if on else (("UNREAD",), ()))
            return
        name = "STARRED" if label == "flagged" else await self._label(label, make=on)
        if name:
            await self._modify(message_id, *((name,), ()) if on else ((), (name,)))

    async def folder(self, message_id: str) -> str | None:
        """The inbox, or the first label of the person's own; else the archive."""
        found = await self._label_ids(message_id)
        if found is None:
            return None
        for title, name in _SYSTEM.items():
            if name in found and title in ("inbox", "trash", "spam"):
                return title
        own = sorted(title for title, name in (await self._titles()).items() if name in found)
        return own[0] if own else _ARCHIVE

    async def is_in(self, message_id: str, folder: str) -> bool:
        """A mail may have several labels; as long as it is in the inbox, it is in no other place."""
        found, place = await self._label_ids(message_id), await self._place(folder)
        if found is None or (place != "INBOX" and "INBOX" in found):
            return False
        return place in found if place else folder.lower() == _ARCHIVE

    async def move(self, message_id: str, folder: str) -> None:
        before = await self.folder(message_id)
        leaves = await self._place(before) if before else ""
        enters = await self._place(folder)
        if not enters and folder.lower() != _ARCHIVE:
            raise StepFailed(f"there is no label {folder!r}", code="not_found", remedy="make it in Gmail first")
        await self._modify(message_id, (enters,) if enters else (), (leaves,) if leaves else ())

    async def _place(self, folder: str) -> str:
        return _SYSTEM.get(folder.lower()) or await self._label(folder.lower(), make=False)

    async def _search(self, query: str) -> list[str]:
        reply = await ask(self._http, "GET", f"{_ME}/messages", params={"q": query, "maxResults": RECENT})
        return _ids(reply.object(), "messages")

    async def _recent(self) -> list[str]:
        params: dict[str, str | int] = {"labelIds": "SENT", "q": "newer_than:8d", "maxResults": RECENT}
        return _ids((await ask(self._http, "GET", f"{_ME}/messages", params=params)).object(), "messages")

    async def _is_ours(self, name: str, key: str) -> bool:
        params: dict[str, str | int] = {"format": "metadata", "metadataHeaders": KEY_HEADER}
        reply = await ask(self._http, "GET", f"{_ME}/messages/{quote(name)}", params=params, passing={404})
        if reply.status == 404:
            return False
        headers = reply.object().get("payload", {}).get("headers", [])
        return any(each["name"].lower() == KEY_HEADER.lower() and each["value"].strip() == key for each in headers)

    async def _raw(self, name: str) -> bytes | None:
        params: dict[str, str | int] = {"format": "raw"}
        reply = await ask(self._http, "GET", f"{_ME}/messages/{quote(name)}", params=params, passing={404})
        if reply.status == 404:
            return None
        text = str(reply.object().get("raw", ""))
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))

    async def _named(self, message_id: str) -> str | None:
        found = await self._search(f"rfc822msgid:{message_id.strip('<>')}")
        return found[0] if found else None

    async def _label_ids(self, message_id: str) -> set[str] | None:
        name = await self._named(message_id)
        if name is None:
            return None
        params: dict[str, str | int] = {"format": "minimal"}
        reply = await ask(self._http, "GET", f"{_ME}/messages/{quote(name)}", params=params)
        return set(map(str, reply.object().get("labelIds", [])))

    async def _titles(self) -> dict[str, str]:
        """The person's own labels, in lower case, and their ids."""
        listed = (await ask(self._http, "GET", f"{_ME}/labels")).object().get("labels", [])
        return {str(each["name"]).lower(): str(each["id"]) for each in listed if each.get("type") == "user"}

    async def _label(self, title: str, *, make: bool) -> str:
        found = (await self._titles()).get(title, "")
        if found or not make:
            return found
        reply = await ask(self._http, "POST", f"{_ME}/labels", json={"name": title}, passing={409})
        return str(reply.object()["id"]) if reply.status != 409 else (await self._titles())[title]

    async def _modify(self, message_id: str, add: tuple[str, ...], remove: tuple[str, ...]) -> None:
        name = await self._named(message_id)
        if name is None:
            raise StepFailed("the mail is not there", code="not_found")
        change = {"addLabelIds": list(add), "removeLabelIds": list(remove)}
        await ask(self._http, "POST", f"{_ME}/messages/{quote(name)}/modify", json=change)


async def gmail_address(http: Http) -> str:
    """The account's own address."""
    found = (await ask(http, "GET", f"{_ME}/profile")).object().get("emailAddress")
    if not found:
        raise OutcomeUnknown("Gmail does not say whose account it is")
    return str(found)


def _ids(answer: dict[str, Any], key: str) -> list[str]:
    return [str(each["id"]) for each in answer.get(key, [])]
