"""Which folders are read, and what they hold."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from extractors.imap.config import ImapConfig
from extractors.mail.folder_names import is_sent_name

Listing = Sequence[tuple[frozenset[str], str]]
"""Attributes in lower case, and name, of each folder that the server lists."""

INBOX = "INBOX"
CLOSED = {"\\noselect", "\\nonexistent"}
_SPECIAL = {"\\all", "\\archive", "\\drafts", "\\flagged", "\\junk", "\\sent", "\\trash"}


@dataclass(frozen=True, slots=True)
class Folder:
    name: str
    role: str
    """inbox or sent"""


def chosen(listing: Listing, config: ImapConfig) -> list[Folder]:
    """The folders of the account that are there, each once, the inbox first."""
    sent = sent_names(listing)
    there = [name for attributes, name in listing if not attributes & CLOSED]
    wanted = config.folders or (INBOX, *(name for name in there if name in sent))
    found = dict.fromkeys(name for name in wanted if name in there or name == INBOX)
    return [Folder(name, "sent" if name in sent else "inbox") for name in found]


def sent_names(listing: Listing) -> set[str]:
    """Of sent mail: as the server marks it; by its name where the server marks nothing."""
    if any(attributes & _SPECIAL for attributes, _ in listing):
        return {name for attributes, name in listing if "\\sent" in attributes}
    return {name for _, name in listing if is_sent_name(re.split(r"[./]", name)[-1])}
