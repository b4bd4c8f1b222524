"""Memory: the cursor of a JMAP account."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from extractors.mail.ledger import Ledger, unpack
from schemas.errors import CursorExpired
from schemas.model import Json


@dataclass(slots=True)
class Memory:
    """``state``: the server's name for what all mails looked like when they were last told; '' until a first listing
    is through. ``account``: whose state it is."""

    state: str = ""
    account: str = ""
    ledger: Ledger = field(default_factory=Ledger)

    def to_json(self) -> Json:
        self.ledger.trim(len(self.state) + len(self.account))
        return {"format": 1, "state": self.state, "account": self.account, "known": self.ledger.pack()}


def remembered(cursor: Json) -> Memory:
    """CursorExpired for a cursor of another version."""
    if cursor is None:
        return Memory()
    stored: Any = cursor
    if not isinstance(stored, dict) or stored.get("format") != 1:
        raise CursorExpired("the stored place in the mailbox is of another version")
    return Memory(str(stored["state"]), str(stored["account"]), unpack(stored["known"]))
