"""Listing a Maildir and its Maildir++ subfolders. Nothing is opened, moved or marked."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from extractors.mail import limits
from extractors.mail.folder_names import is_sent_name, is_unread_name
from extractors.maildir.config import MaildirConfig
from extractors.maildir.item import Item, short_hash
from extractors.maildir.utf7 import decode_utf7
from schemas.errors import PoisonError, TransientError

_INFO = re.compile(r"[:;!]2,([A-Za-z]*)$")
"""":2," by the standard; ";" and "!" on file systems that have no colon."""
_LETTERS = {"S": "seen", "R": "answered", "F": "flagged", "D": "draft", "T": "deleted", "P": "passed"}
_DELIVERED = re.compile(r"(\d{9,10})\.")


def items(root: Path, config: MaildirConfig) -> list[Item]:
    """Every mail, oldest first. Raises OSError where a folder cannot be listed: a partial list looks like deletions."""
    found: dict[str, Item] = {}
    for folder, path in _folders(root, config):
        role = "sent" if is_sent_name(folder.rpartition(".")[2]) else "inbox" if folder else config.role
        for item in _listed(folder, path, role):
            if "draft" in item.flags:
                continue
            # hard links share a name; the second of them is a mail of its own
            native_id = short_hash(f"{folder}/{item.name}") if item.id in found else item.id
            found[native_id] = item if native_id == item.id else _renamed(item, native_id)
    return sorted(found.values(), key=lambda item: (item.at, item.name, item.folder))


def is_maildir(path: Path) -> bool:
    return (path / "cur").is_dir() and (path / "new").is_dir()


def _folders(root: Path, config: MaildirConfig) -> Iterator[tuple[str, Path]]:
    """The inbox (as "") and the subfolders, by name."""
    if not is_maildir(root):
        raise TransientError(
            f"{root} is no Maildir: it has no cur and new", remedy="check the path, and that its disk is mounted"
        )
    yield "", root
    if not config.subfolders:
        return
    with os.scandir(root) as entries:
        names = sorted(entry.name for entry in entries if entry.name.startswith(".") and entry.is_dir())
    for name in names:
        folder = decode_utf7(name.removeprefix("."))
        if not any(is_unread_name(part) for part in folder.split(".")) and is_maildir(root / name):
            yield folder, root / name


def _listed(folder: str, path: Path, role: str) -> Iterator[Item]:
    for place in ("cur", "new"):
        with os.scandir(path / place) as entries:
            for entry in sorted(entries, key=lambda each: each.name):
                if not entry.name.startswith("."):
                    yield _item(folder, role, entry)


def _item(folder: str, role: str, entry: os.DirEntry[str]) -> Item:
    info = _INFO.search(entry.name)
    name = entry.name[: info.start()] if info else entry.name
    flags = tuple(sorted(_LETTERS[letter] for letter in _LETTERS.keys() & info[1])) if info else ()
    return Item(short_hash(name), name, folder, flags, _delivered(name, entry), role, lambda: _read(entry.path))


def _renamed(item: Item, native_id: str) -> Item:
    return Item(native_id, item.name, item.folder, item.flags, item.at, item.role, item.read)


def _delivered(name: str, entry: os.DirEntry[str]) -> datetime:
    """The name begins with the second of delivery; a copied file has another time, but the same name."""
    match = _DELIVERED.match(name)
    try:
        seconds = int(match[1]) if match else entry.stat(follow_symlinks=False).st_mtime
    except FileNotFoundError:  # renamed since it was listed
        seconds = 0
    return datetime.fromtimestamp(seconds, UTC)


def _read(path: str) -> bytes:
    """PoisonError for what is no file or too large. A named pipe would block, a link may lead anywhere."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | getattr(os, "O_NOATIME", 0) * _owns(path))
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise PoisonError("it is no file", code="not_a_file")
        if status.st_size > limits.MESSAGE_BYTES:
            raise PoisonError(f"it has {status.st_size} bytes: too large", code="too_large")
        with open(handle, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(handle)


def _owns(path: str) -> bool:
    """Only the owner of a file may open it without leaving an access time."""
    return os.lstat(path).st_uid == os.geteuid()
