"""What the cursor remembers of each mail: what it is, where it lies and how it looks, packed to a dozen bytes."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from extractors.maildir.item import FLAGS, short_hash
from schemas.errors import CursorExpired

LIMIT = 50_000
"""Mails of one account that are watched."""
TOMBSTONES = 2_000
"""Removed mails that are remembered, so that one that comes back is a new version of itself."""
COPIES = 100
PACKED_CHARS = 680_000
_ID_BYTES = 9
_REJECTED, _GONE = 0x40, 0x80
_ROW = struct.Struct(">9sBBH")
_FLAG_NAMES = {
    "\\seen": "seen",
    "\\answered": "answered",
    "\\flagged": "flagged",
    "\\draft": "draft",
    "\\deleted": "deleted",
    "$forwarded": "passed",
}


@dataclass(frozen=True, slots=True)
class Seen:
    """One mail. ``uid`` 0: it has lost its place, and if none is found it is gone.

    ``count`` numbers its versions, so that going back to old flags is a new version too. The first version says
    nothing of flags: whoever sees this mail for the first time again gives it the same name. ``is_rejected``: it
    never became a record. ``is_gone``: remembered in case it comes back.
    """

    id: str
    folder: str
    uid: int
    bits: int
    count: int = 0
    is_rejected: bool = False
    is_gone: bool = False

    def now(self, folder: str, uid: int, bits: int) -> Seen:
        """How it looks now; of the same ``version`` where only the UID is another."""
        moved = replace(self, folder=folder, uid=uid, bits=bits, is_gone=False)
        is_same = (self.folder, self.bits, self.is_gone) == (folder, bits, False)
        return moved if is_same else replace(moved, count=(self.count + 1) % 0x10000)

    def gone(self) -> Seen:
        return replace(self, uid=0, count=(self.count + 1) % 0x10000, is_gone=True)

    @property
    def version(self) -> str:
        if self.is_gone:
            return f"{self.count}.gone"
        return f"{self.count}.{self.bits:02x}{short_hash(self.folder)[:2]}" if self.count else "0"


class Known:
    """The mails of an account, by id and by place, in order of arrival. ``rows``: each as it is packed, but its UID."""

    def __init__(self) -> None:
        self._by_id: dict[str, Seen] = {}
        self._at: dict[tuple[str, int], str] = {}
        self._numbers: dict[str, int] = {}
        self._rows: dict[str, bytes] = {}

    @property
    def folders(self) -> list[str]:
        return list(self._numbers)

    @property
    def rows(self) -> Iterable[bytes]:
        return self._rows.values()

    def __iter__(self) -> Iterator[Seen]:
        return iter(self._by_id.values())

    def __len__(self) -> int:
        return len(self._by_id)

    def get(self, native_id: str) -> Seen | None:
        return self._by_id.get(native_id)

    def at(self, folder: str, uid: int) -> Seen | None:
        native_id = self._at.get((folder, uid))
        return None if native_id is None else self._by_id[native_id]

    def put(self, mail: Seen) -> None:
        self._leave(mail.id)
        self._by_id[mail.id] = mail
        number = self._numbers.setdefault(mail.folder, len(self._numbers))
        bits = mail.bits | _REJECTED * mail.is_rejected | _GONE * mail.is_gone
        self._rows[mail.id] = _ROW.pack(bytes.fromhex(mail.id), number, bits, mail.count)
        if mail.uid:
            self._at[mail.folder, mail.uid] = mail.id

    def drop(self, native_id: str) -> None:
        self._leave(native_id)
        del self._by_id[native_id], self._rows[native_id]

    def _leave(self, native_id: str) -> None:
        before = self._by_id.get(native_id)
        if before and before.uid and self._at.get((before.folder, before.uid)) == native_id:
            del self._at[before.folder, before.uid]

    def loses_place(self, mail: Seen) -> None:
        """It no longer lies where it lay. What never became a record is forgotten."""
        if mail.is_rejected:
            self.drop(mail.id)
        else:
            self.put(replace(mail, uid=0))

    def homeless(self) -> list[Seen]:
        return [mail for mail in self if not mail.uid and not mail.is_gone]

    def place_for(self, content_key: str) -> tuple[str, Seen | None]:
        """The id of a mail with this content that has just been found, and what is known of it; None: it is new.

        The same content may lie there several times: each copy is a mail of its own. One that has lost its place
        comes first, then one that is gone, then a new one.
        """
        first = content_key[: 2 * _ID_BYTES]
        gone: Seen | None = None
        native_id = first
        for copy in range(1, COPIES + 1):
            mail = self._by_id.get(native_id)
            if mail is None:
                break
            if not mail.uid and not mail.is_gone:
                return native_id, mail
            gone = gone or (mail if mail.is_gone else None)
            native_id = short_hash(f"{first}#{copy}")[: 2 * _ID_BYTES]
        if gone is not None:
            return gone.id, gone
        return native_id, self._by_id.get(native_id)

    def tidy(self) -> None:
        """Forget what is too much: the oldest that are gone, and the oldest of the fullest folders."""
        gone = [mail.id for mail in self if mail.is_gone]
        for native_id in gone[: max(0, len(gone) - TOMBSTONES)]:
            self.drop(native_id)
        if len(self) > LIMIT:
            self.shrink(LIMIT)

    def shrink(self, size: int) -> None:
        """To at most so many mails."""
        by_folder: dict[str, list[str]] = {}
        for mail in sorted(self, key=lambda mail: mail.uid):
            by_folder.setdefault(mail.folder, []).append(mail.id)
        allowed = shares([len(ids) for ids in by_folder.values()], size)
        for ids, share in zip(by_folder.values(), allowed, strict=True):
            for native_id in ids[: len(ids) - share]:
                self.drop(native_id)


def shares(wanted: list[int], size: int) -> list[int]:
    """How many each may have: all that it wants where there is room, and the full ones equally much."""
    left, given = size, [0] * len(wanted)
    for place, (want, index) in enumerate(sorted((want, index) for index, want in enumerate(wanted))):
        given[index] = min(want, left // (len(wanted) - place))
        left -= given[index]
    return given


def location_id(folder: str, validity: int, uid: int) -> str:
    """For a mail that was never read."""
    return short_hash(f"{folder}\0{validity}\0{uid}")[: 2 * _ID_BYTES]


def flag_bits(flags: Iterable[str]) -> int:
    names = {_FLAG_NAMES.get(flag.lower()) for flag in flags}
    return sum(1 << bit for bit, name in enumerate(FLAGS) if name in names)


def flag_names(bits: int) -> list[str]:
    return sorted(name for bit, name in enumerate(FLAGS) if bits & 1 << bit)


def pack(known: Known) -> str:
    """In order of arrival. Where it would be too long, the oldest are forgotten."""
    while len(packed := _packed(known)) > PACKED_CHARS:
        known.shrink(len(known) * 9 // 10)
    return packed


def _packed(known: Known) -> str:
    """Column by column, and UIDs as steps: what hardly changes from mail to mail takes no room. Hashes stay as they
    are, so that no time is lost on them."""
    rows = b"".join(known.rows)
    ids, rest = _columns(rows, range(_ID_BYTES)), _columns(rows, range(_ID_BYTES, _ROW.size))
    places = [mail.uid for mail in known]
    steps = [(uid - before) % 2**32 for uid, before in zip(places, [0, *places], strict=False)]
    steps_packed = struct.pack(f">{len(steps)}I", *steps)
    rest += b"".join(steps_packed[column::4] for column in range(4))
    return base64.b64encode(len(ids).to_bytes(4, "big") + ids + zlib.compress(rest, 1)).decode("ascii")


def _columns(rows: bytes, wanted: range) -> bytes:
    return b"".join(rows[column :: _ROW.size] for column in wanted)


def unpack(text: str, folders: Sequence[str]) -> Known:
    """CursorExpired for what we have not packed."""
    try:
        raw = base64.b64decode(text, validate=True)
        end = 4 + int.from_bytes(raw[:4], "big")
        count = (end - 4) // _ID_BYTES
        columns = raw[4:end] + zlib.decompressobj().decompress(raw[end:], 8 * 1024 * 1024)
        if len(columns) != count * (_ROW.size + 4):
            raise ValueError("rows are missing")
        known, uid = Known(), 0
        for place in range(count):
            row = columns[place::count]
            native_id, folder, bits, versions = _ROW.unpack_from(row)
            uid = (uid + int.from_bytes(row[_ROW.size :], "big")) % 2**32
            flags, rejected, gone = bits & ~(_REJECTED | _GONE), bool(bits & _REJECTED), bool(bits & _GONE)
            known.put(Seen(native_id.hex(), folders[folder], uid, flags, versions, rejected, gone))
    except (ValueError, IndexError, struct.error, zlib.error) as error:
        raise CursorExpired("the stored place in the mailbox is damaged") from error
    return known
