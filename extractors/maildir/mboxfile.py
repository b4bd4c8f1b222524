"""Listing an mbox file. It is mapped, never locked and never written."""

from __future__ import annotations

import mmap
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from extractors.mail import limits, mbox
from extractors.maildir.config import MaildirConfig
from extractors.maildir.item import Item, short_hash
from schemas.errors import PoisonError, TransientError

_LOCK_SUFFIX = ".lock"


@dataclass(frozen=True, slots=True)
class Stamp:
    """What tells that the file has not changed."""

    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class Listing:
    """``is_whole``: the file ends with a line, as every program that writes mbox leaves it."""

    stamp: Stamp
    items: list[Item]
    is_whole: bool


def stamp(path: Path) -> Stamp:
    """TransientError while another program holds its lock, or where there is no file."""
    if Path(f"{path}{_LOCK_SUFFIX}").exists():
        raise TransientError(f"{path} is locked by another program", remedy=f"if none runs, remove {path}.lock")
    status = path.stat()
    return Stamp(status.st_size, status.st_mtime_ns)


def listing(path: Path, config: MaildirConfig) -> Listing:
    """Every mail in the order of the file. Copies of one mail are told apart by their number."""
    mark = stamp(path)
    with _mapped(path) as data:
        if data and not mbox.is_mbox(bytes(data[:4_096])):
            raise TransientError(f"{path} is no mbox file: it does not begin with From", remedy="check the path")
        found = list(_items(path, data, config, datetime.fromtimestamp(mark.mtime_ns / 1e9, UTC)))
        is_whole = not data or data[-1:] in (b"\n", b"\r")
    return Listing(mark, found, is_whole)


def _items(path: Path, data: bytes | mmap.mmap, config: MaildirConfig, file_time: datetime) -> Iterator[Item]:
    copies: Counter[str] = Counter()
    for slot in mbox.slots(data):
        size = slot.end - slot.start
        message = mbox.message_of(data[slot.start : min(slot.end, slot.start + limits.MESSAGE_BYTES)])
        flags = mbox.flags_of(message)
        if "expunged" in flags or "draft" in flags:
            continue
        digest = short_hash(mbox.without_state(message) + (str(size).encode() if size > limits.MESSAGE_BYTES else b""))
        copies[digest] += 1
        native_id = digest if copies[digest] == 1 else short_hash(f"{digest}#{copies[digest]}")
        yield Item(
            native_id,
            digest,
            "",
            flags,
            slot.delivered_at or file_time,
            config.role,
            Reader(path, slot.start, slot.end, digest),
        )


@dataclass(frozen=True, slots=True)
class Reader:
    """Opens one mail of the file, and makes sure that it is still the one that was listed."""

    path: Path
    start: int
    end: int
    digest: str

    def __call__(self) -> bytes:
        if self.end - self.start > limits.MESSAGE_BYTES:
            raise PoisonError(f"a mail of {self.end - self.start} bytes is too large", code="too_large")
        with self.path.open("rb") as file:
            file.seek(self.start)
            message = mbox.message_of(file.read(self.end - self.start))
        if short_hash(mbox.without_state(message)) != self.digest:
            raise TransientError(f"{self.path} was changed while it was read")
        return message


@contextmanager
def _mapped(path: Path) -> Iterator[bytes | mmap.mmap]:
    """The bytes of the file, mapped: a large file costs no memory. An empty file cannot be mapped."""
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            yield b""
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            yield data
