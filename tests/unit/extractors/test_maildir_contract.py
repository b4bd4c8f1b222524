"""The maildir connector keeps the laws of connectors, on a Maildir and on an mbox file."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from extractors.maildir import MaildirConnector
from extractors.maildir.config import MaildirConfig
from extractors.testing import ConnectorContract, ScriptedSource
from extractors.testing.faults import FaultyFiles, fault_machine
from schemas.model import Json


def letter(number: int) -> bytes:
    return (
        f"From: Ada <ada@example.org>\nTo: Nora <nora@example.net>\nSubject: Letter {number}\n"
        f"Date: Mon, 02 Mar 2026 08:{number:02}:00 +0100\nMessage-ID: <{number}@example.org>\n\n"
        f"Letter number {number}.\n"
    ).encode()


class MaildirSource:
    """A Maildir with its mails in cur, as a mail program leaves it after it has looked."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "Mail"
        self.config = MaildirConfig(path=str(self.root))
        self._count = 0
        for name in ("cur", "new", "tmp"):
            (self.root / name).mkdir(parents=True, exist_ok=True)

    def _next_name(self) -> str:
        self._count += 1
        return f"{1772435000 + self._count}.M{self._count}P1.host"

    def add(self) -> None:
        name = self._next_name()
        folder = "new" if self._count % 2 else "cur"
        path = self.root / folder / (name if folder == "new" else f"{name}:2,")
        path.write_bytes(letter(self._count))

    def _first(self) -> Path:
        return min((*(self.root / "cur").iterdir(), *(self.root / "new").iterdir()), key=lambda path: path.name)

    def change(self) -> None:
        first = self._first()
        first.rename(self.root / "cur" / f"{first.name.partition(':')[0]}:2,RS")

    def remove(self) -> None:
        self._first().unlink()

    def poison(self) -> None:
        (self.root / "new" / self._next_name()).write_bytes(b"\x00\xff no mail at all")

    def breakages(self) -> Mapping[str, Callable[[], None]]:
        return {
            "empty": self._empty,
            "truncated": lambda: shutil.rmtree(self.root / "cur"),
            "unreadable": self._unreadable,
            "unmounted": lambda: shutil.rmtree(self.root),
            "mount point": lambda: self._swap_for_empty_folder(),
        }

    def _empty(self) -> None:
        for path in (*(self.root / "cur").iterdir(), *(self.root / "new").iterdir()):
            path.unlink()

    def _unreadable(self) -> None:
        """A folder that cannot be listed; permissions do not stop the super-user, a file in its place does."""
        shutil.rmtree(self.root / "new")
        (self.root / "new").write_bytes(b"")

    def _swap_for_empty_folder(self) -> None:
        shutil.rmtree(self.root)
        self.root.mkdir()

    def fingerprint(self) -> Json:
        return {
            str(path.relative_to(self.root)): [
                path.stat().st_mtime_ns,
                path.read_bytes().hex() if path.is_file() else "",
            ]
            for path in sorted(self.root.rglob("*"))
        }


class MboxSource:
    """An mbox file, with the flags in Status fields."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "inbox.mbox"
        self.config = MaildirConfig(path=str(self.path))
        self._mails: list[bytes] = []
        self._count = 0
        self.path.write_bytes(b"")

    def _write(self) -> None:
        envelope = b"From ada@example.org Mon Mar  2 08:00:00 2026\n"
        self.path.write_bytes(b"".join(envelope + mail + b"\n" for mail in self._mails))

    def add(self) -> None:
        self._count += 1
        self._mails.append(letter(self._count))
        self._write()

    def change(self) -> None:
        if not self._mails[0].startswith(b"Status:"):
            self._mails[0] = b"Status: RO\nX-Status: A\n" + self._mails[0]
        self._write()

    def remove(self) -> None:
        del self._mails[0]
        self._write()

    def poison(self) -> None:
        """Too large for a record, and nothing in it can be left out."""
        self._mails.append(b"Subject: huge\n" + b"X-Huge: y\n" * 100_000 + b"\n")
        self._write()

    def breakages(self) -> Mapping[str, Callable[[], None]]:
        return {
            "empty": lambda: self.path.write_bytes(b"") and None,
            "truncated": lambda: os.truncate(self.path, self.path.stat().st_size // 2),
            "unreadable": self._unreadable,
            "unmounted": self.path.unlink,
            "locked": lambda: Path(f"{self.path}.lock").write_bytes(b"") and None,
            "another file": lambda: self.path.write_bytes(b"BEGIN:VCALENDAR\nEND:VCALENDAR\n") and None,
        }

    def _unreadable(self) -> None:
        self.path.unlink()
        self.path.mkdir()

    def fingerprint(self) -> Json:
        return [self.path.stat().st_mtime_ns, self.path.read_bytes().hex()]


class TestMaildir(ConnectorContract):
    connector = MaildirConnector(page_items=2)

    def source(self, folder: Path) -> ScriptedSource:
        return MaildirSource(folder)


class TestMbox(ConnectorContract):
    connector = MaildirConnector(page_items=2)

    def source(self, folder: Path) -> ScriptedSource:
        return MboxSource(folder)


TestMaildirUnderFaults = fault_machine(lambda: FaultyFiles(MaildirSource), MaildirConnector(page_items=2)).TestCase
TestMboxUnderFaults = fault_machine(lambda: FaultyFiles(MboxSource), MaildirConnector(page_items=2)).TestCase
