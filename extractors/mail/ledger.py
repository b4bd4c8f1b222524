"""Ledger: what earlier polls said of each mail in an online mailbox, packed into the account's cursor.

A mail's native id is a short hash of the source's id, so that the cursor can name every mail of a large mailbox.
"""

from __future__ import annotations

import base64
import hashlib
import struct
from collections.abc import Container, Iterable
from dataclasses import dataclass, field, replace

from schemas.errors import CursorExpired

FLAGS = ("seen", "answered", "flagged", "passed")
"""The flags that make a version, in the order of their bits."""
LIMIT = 40_000
"""Mails of one account that are watched: 16 characters of the cursor each."""
_TOMBSTONES = 2_000
"""Removed mails that are remembered, so that one that comes back is a new version of itself."""
_CURSOR_CAP = 690_000
_GONE, _REJECTED, _UNSETTLED = 0x10, 0x20, 0x40
_LAYOUT = struct.Struct(">8sHBB")
_ROW = 16


def native_id(source_id: str) -> str:
    """16 hex digits."""
    return hashlib.sha256(source_id.encode("utf-8", "surrogatepass")).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Told:
    """One mail as last told.

    ``turn`` counts the times that a mail went back to what it may have been before: it moved, came back, or lost a
    flag. Within a turn a version is the mail's state alone, so that a lost cursor gives the same versions again.
    ``place``: a byte for the folder. ``is_rejected``: it never became a record. ``is_gone``: remembered in case it
    comes back. ``is_unsettled``: told by a poll that has not ended, so the next one asks for the same changes again.
    """

    turn: int
    bits: int
    place: int
    is_gone: bool = False
    is_rejected: bool = False
    is_unsettled: bool = field(default=False, compare=False)

    @property
    def version(self) -> str:
        return f"{self.turn}.gone" if self.is_gone else f"{self.turn}.{self.bits:x}{self.place:02x}"

    @property
    def flags(self) -> tuple[str, ...]:
        return tuple(flag for at, flag in enumerate(FLAGS) if self.bits >> at & 1)

    def now(self, bits: int, place: int) -> Told:
        """How it is now that the source shows it so; equal to ``self`` where nothing changed."""
        is_forward = not self.is_gone and place == self.place and bits & self.bits == self.bits
        turn = self.turn if is_forward else (self.turn + 1) % 0x10000
        return Told(turn, bits, place, is_rejected=self.is_rejected)

    def gone(self) -> Told:
        return replace(self, is_gone=True)


def flag_bits(flags: Iterable[str]) -> int:
    return sum(1 << FLAGS.index(flag) for flag in set(flags) if flag in FLAGS)


class Ledger:
    """``known`` by native id, the oldest first."""

    def __init__(self, known: dict[str, Told] | None = None) -> None:
        self.known = known or {}

    def present(self) -> list[str]:
        """Native ids of what the source had at the last look, the rejected among them."""
        return [key for key, told in self.known.items() if not told.is_gone]

    def vanished(self, shown: Container[str]) -> list[str]:
        """Of what a poll told that did not end, that which the same changes do not show any more: it has come and gone
        meanwhile, and of such things sources say nothing."""
        return [key for key, told in self.known.items() if told.is_unsettled and not told.is_gone and key not in shown]

    def settle(self) -> None:
        """The poll has ended."""
        for key, told in self.known.items():
            if told.is_unsettled:
                self.known[key] = replace(told, is_unsettled=False)

    def trim(self, taken: int = 0) -> None:
        """The oldest are forgotten, so that the cursor stays small; ``taken``: characters that it needs for others."""
        limit = max(0, min(LIMIT, (_CURSOR_CAP - taken) // _ROW))
        gone = [key for key, told in self.known.items() if told.is_gone]
        for key in gone[: max(0, len(gone) - _TOMBSTONES)]:
            del self.known[key]
        for key in list(self.known)[: max(0, len(self.known) - limit)]:
            del self.known[key]

    def pack(self) -> str:
        rows = (
            _LAYOUT.pack(bytes.fromhex(key), told.turn, _state(told), told.place) for key, told in self.known.items()
        )
        return base64.b64encode(b"".join(rows)).decode("ascii")


def unpack(text: object) -> Ledger:
    """CursorExpired for what we have not packed."""
    try:
        raw = base64.b64decode(str(text), validate=True)
        return Ledger({key.hex(): _told(turn, state, place) for key, turn, state, place in _LAYOUT.iter_unpack(raw)})
    except (ValueError, struct.error) as error:
        raise CursorExpired("the stored place in the mailbox is damaged") from error


def _state(told: Told) -> int:
    return told.bits | _GONE * told.is_gone | _REJECTED * told.is_rejected | _UNSETTLED * told.is_unsettled


def _told(turn: int, state: int, place: int) -> Told:
    gone, rejected, unsettled = (bool(state & mark) for mark in (_GONE, _REJECTED, _UNSETTLED))
    return Told(turn, state & 0x0F, place, gone, rejected, unsettled)
