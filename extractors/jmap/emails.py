"""Email objects as sightings: what of a mail can change, and where its bytes are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from extractors.jmap.mailboxes import Mailboxes, is_id
from extractors.mail.intake import Sighting
from extractors.mail.ledger import native_id

PROPERTIES = ("id", "blobId", "mailboxIds", "keywords", "receivedAt", "size")
_KEYWORDS = {"$seen": "seen", "$answered": "answered", "$flagged": "flagged", "$forwarded": "passed"}


@dataclass(slots=True)
class Emails:
    """What a look has shown so far. ``shown`` and ``gone`` by native id, each mail in one of them; ``blobs``: where
    the bytes of the shown ones are."""

    mailboxes: Mailboxes
    shown: dict[str, Sighting] = field(default_factory=dict)
    gone: dict[str, None] = field(default_factory=dict)
    blobs: dict[str, str] = field(default_factory=dict)

    def show(self, items: Any) -> None:
        """The last word counts. What is no Email object is passed over: the server shows it again when it changes."""
        for item in items if isinstance(items, list) else ():
            if isinstance(item, dict) and is_id(item.get("id")) and is_id(item.get("blobId")):
                self._show(item)

    def destroy(self, ids: Iterable[str]) -> None:
        for id in ids:
            self._remove(native_id(id))

    def _show(self, item: dict[str, Any]) -> None:
        key, keywords = native_id(item["id"]), _true(item, "keywords")
        mailbox = self.mailboxes.of(_true(item, "mailboxIds"))
        if mailbox is None or "$draft" in keywords:
            self._remove(key)
            return
        size = item.get("size")
        self.gone.pop(key, None)
        self.blobs[key] = item["blobId"]
        self.shown[key] = Sighting(
            id=item["id"],
            key=key,
            flags=tuple(sorted(_KEYWORDS[word] for word in keywords if word in _KEYWORDS)),
            place=mailbox.place,
            folder=mailbox.path,
            role="sent" if mailbox.role == "sent" else "inbox",
            at=_instant(item.get("receivedAt")),
            size=size if isinstance(size, int) else 0,
        )

    def _remove(self, key: str) -> None:
        self.shown.pop(key, None)
        self.gone[key] = None


def _true(item: dict[str, Any], name: str) -> list[str]:
    """The members of a JMAP set, {"name": true, ...}; keywords are case-insensitive."""
    value = item.get(name)
    names = [each for each, is_in in value.items() if is_in is True] if isinstance(value, dict) else []
    return [each.lower() for each in names] if name == "keywords" else names


def _instant(text: Any) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return moment if moment is None or moment.tzinfo else moment.replace(tzinfo=UTC)
