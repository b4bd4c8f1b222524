"""What servers say of folders and mails, as values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from imapclient.imap_utf7 import decode as decode_utf7
from imapclient.response_parser import parse_response

from extractors.imap import uids
from extractors.imap.fetched import Items, fetched
from extractors.imap.wire import Answer, Said


@dataclass(frozen=True, slots=True)
class Standing:
    """How a folder stands. ``modseq``: 0 where the server counts no changes."""

    validity: int
    next: int
    exists: int
    modseq: int = 0


@dataclass(frozen=True, slots=True)
class Envelope:
    """What is known of a mail before it is read."""

    uid: int
    size: int
    at: datetime | None
    flags: tuple[str, ...]


def folders(said: Sequence[Said]) -> list[tuple[frozenset[str], str]]:
    """Attributes in lower case, and name."""
    words = parse_response(said) if said else ()
    found = []
    for attributes, name in zip(words[::3], words[2::3], strict=True):
        if not isinstance(attributes, tuple) or not isinstance(name, bytes | int):
            raise ValueError("a LIST without a name")
        found.append((frozenset(each.lower() for each in _words(attributes)), _named(name)))
    return found


def _named(name: bytes | int) -> str:
    """Names of digits alone were taken for numbers."""
    text = str(name) if isinstance(name, int) else decode_utf7(name)
    return "INBOX" if text.upper() == "INBOX" else text


def standings(said: Sequence[Said]) -> dict[str, Standing]:
    """By name of folder."""
    words = parse_response(said) if said else ()
    found = {}
    for name, values in zip(words[::2], words[1::2], strict=True):
        if not isinstance(values, tuple):
            raise ValueError("a STATUS without values")
        pairs = zip(values[::2], values[1::2], strict=True)
        numbers = {key.upper(): value for key, value in pairs if isinstance(key, bytes) and isinstance(value, int)}
        if not isinstance(name, bytes | int):
            raise ValueError("a STATUS without a name")
        found[_named(name)] = Standing(
            validity=numbers.get(b"UIDVALIDITY", 0),
            next=numbers.get(b"UIDNEXT", 0),
            exists=numbers.get(b"MESSAGES", 0),
            modseq=numbers.get(b"HIGHESTMODSEQ", 0),
        )
    return found


def number(answer: Answer, kind: str) -> int:
    """The last one said; 0 where there is none."""
    for said in reversed(answer.said(kind)):
        if isinstance(said, bytes) and said.isdigit():
            return int(said)
    return 0


def flags(answer: Answer) -> dict[int, tuple[str, ...]]:
    return {uid: _words(items[b"FLAGS"]) for uid, items in fetched(answer.said("FETCH")) if b"FLAGS" in items}


def _words(flags: object) -> tuple[str, ...]:
    if not isinstance(flags, tuple):
        return ()
    return tuple(flag.decode("ascii", "replace") for flag in flags if isinstance(flag, bytes))


def vanished(answer: Answer) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for said in answer.said("VANISHED"):
        if isinstance(said, bytes):
            found += uids.ranges(said.rpartition(b" ")[2])
    return found


def envelope(uid: int, items: Items) -> Envelope:
    size = items[b"RFC822.SIZE"]
    return Envelope(uid, size if isinstance(size, int) else 0, items.get(b"INTERNALDATE"), _words(items.get(b"FLAGS")))
