"""What the cursor remembers of each mail, packed: 14 bytes each, so that 50,000 fit into one record."""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from extractors.maildir.item import FLAGS, Item, short_hash
from schemas.errors import CursorExpired

LIMIT = 50_000
"""Mails of one account that are watched."""
_REJECTED, _GONE = 0x40, 0x80
_LAYOUT = struct.Struct(">10sHBB")


@dataclass(frozen=True, slots=True)
class Seen:
    """``count`` numbers the versions of a mail, so that going back to old flags is a new version too. ``place`` is a
    byte of the folder's hash. ``is_rejected``: it never became a record. ``is_gone``: remembered in case it comes
    back."""

    count: int
    bits: int
    place: int
    is_rejected: bool = False
    is_gone: bool = False

    @classmethod
    def first(cls, item: Item) -> Seen:
        return cls(0, flag_bits(item.flags), _place(item.folder))

    def now(self, item: Item) -> Seen:
        """How it looks now; equal to ``self`` where nothing changed."""
        bits, place = flag_bits(item.flags), _place(item.folder)
        if bits == self.bits and place == self.place and not self.is_gone:
            return self
        return replace(self, count=(self.count + 1) % 0x10000, bits=bits, place=place, is_gone=False)

    def gone(self) -> Seen:
        return replace(self, count=(self.count + 1) % 0x10000, is_gone=True)

    @property
    def version(self) -> str:
        return f"{self.count}.gone" if self.is_gone else f"{self.count}.{self.bits:02x}{self.place:02x}"


def flag_bits(flags: Iterable[str]) -> int:
    return sum(1 << FLAGS.index(flag) for flag in set(flags) if flag in FLAGS)


def _place(folder: str) -> int:
    return int(short_hash(folder)[:2], 16)


def pack(known: Mapping[str, Seen]) -> str:
    """In the order of the mapping."""
    rows = (
        _LAYOUT.pack(
            bytes.fromhex(native_id),
            seen.count,
            seen.bits | _REJECTED * seen.is_rejected | _GONE * seen.is_gone,
            seen.place,
        )
        for native_id, seen in known.items()
    )
    return base64.b64encode(b"".join(rows)).decode("ascii")


def unpack(text: str) -> dict[str, Seen]:
    """CursorExpired for what we have not packed."""
    try:
        raw = base64.b64decode(text, validate=True)
        return {
            native_id.hex(): Seen(count, bits & ~(_REJECTED | _GONE), place, bool(bits & _REJECTED), bool(bits & _GONE))
            for native_id, count, bits, place in _LAYOUT.iter_unpack(raw)
        }
    except (ValueError, struct.error) as error:
        raise CursorExpired("the stored place in the mail folder is damaged") from error
