"""Known: which versions of which things were handed out already, small enough to live in a cursor."""

from __future__ import annotations

import base64
import binascii
from hashlib import sha256
from typing import Literal, Self

from schemas.errors import CursorExpired

_KEY, _VERSION = 12, 4
_ENTRY = _KEY + _VERSION
LIMIT = 25_000
"""Things remembered; the oldest are forgotten first. At 22 bytes each the cursor stays below a Kafka message. One that
comes again after it was forgotten is sent again under the same record id, so it is still not doubled."""


class Known:
    """A map from thing to last version, in order of arrival, as hashes of 12 and 4 bytes."""

    def __init__(self, entries: dict[bytes, bytes] | None = None) -> None:
        self._entries = entries or {}

    def __len__(self) -> int:
        return len(self._entries)

    def status(self, thing: str, version: str) -> Literal["new", "same", "changed"]:
        stored = self._entries.get(_short(thing, _KEY))
        if stored is None:
            return "new"
        return "same" if stored == _short(version, _VERSION) else "changed"

    def add(self, thing: str, version: str) -> None:
        self._entries[_short(thing, _KEY)] = _short(version, _VERSION)
        if len(self._entries) > LIMIT:
            del self._entries[next(iter(self._entries))]

    def dump(self) -> str:
        return base64.b64encode(b"".join(k + v for k, v in self._entries.items())).decode()

    @classmethod
    def load(cls, text: str) -> Self:
        try:
            raw = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError) as error:
            raise CursorExpired("the list of known rows is not readable") from error
        if len(raw) % _ENTRY:
            raise CursorExpired("the list of known rows is cut off")
        starts = range(0, len(raw), _ENTRY)
        return cls({raw[i : i + _KEY]: raw[i + _KEY : i + _ENTRY] for i in starts})


def _short(text: str, length: int) -> bytes:
    return sha256(text.encode("utf-8", "backslashreplace")).digest()[:length]
