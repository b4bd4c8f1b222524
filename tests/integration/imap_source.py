"""A mailbox on a real Dovecot behind a proxy, that the suites change as a person would."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from extractors.imap import ImapConnector
from extractors.imap.config import ImapConfig
from extractors.imap.login import Door
from extractors.imap.reading import PageSize
from extractors.testing import Key
from extractors.testing.tcp_proxy import TcpProxy
from schemas.model import Json
from tests.peers.dovecot import PASSWORD, Dovecot

LETTERS = ImapConnector(page=PageSize(mails=2), door=Door(read_s=20))

MIDDLE = 3
"""A turn that is in the middle of every poll: two of TLS and the login are before it, if the server's first words come
in one piece, and the farewell is behind it."""


def letter(number: int | str, words: str = "", *, sender: str = "Ada <ada@example.org>") -> bytes:
    return (
        f"From: {sender}\r\nTo: Nora <nora@example.net>\r\nSubject: Letter {number}\r\n"
        f"Date: Mon, 02 Mar 2026 08:00:00 +0100\r\nMessage-ID: <{number}@example.org>\r\n"
        f"Received: from mx.example.org\r\n\r\nLetter number {number}. {words}\r\n"
    ).encode()


def config_of(server: Dovecot, user: str, **more: object) -> ImapConfig:
    place = {"host": "localhost", "port": server.imaps, "ca_file": str(server.ca)}
    return ImapConfig.model_validate({**place, "username": user, "allow_private": True, **more})


class MailboxSource:
    """``key`` as in ``extractors.testing.access``. Close it: the proxy has threads."""

    def __init__(self, server: Dovecot, *, security: str = "tls") -> None:
        self.server = server
        self.user = server.user()
        self.key = Key(secrets={"password": PASSWORD})
        self.proxy = TcpProxy(("127.0.0.1", server.imaps if security == "tls" else server.imap))
        self.proxy.__enter__()
        self.config = config_of(server, self.user, port=self.proxy.port, security=security)
        self._count = 0
        self._validity = 1_000

    def close(self) -> None:
        self.proxy.__exit__()

    def add(self) -> None:
        self._count += 1
        self.append(letter(self._count))

    def append(self, raw: bytes, folder: str = "INBOX", flags: tuple[bytes, ...] = ()) -> None:
        with self.server.client(self.user) as client:
            client.append(folder, raw, flags)

    def change(self) -> None:
        with self.server.client(self.user) as client:
            client.select_folder("INBOX")
            first = min(client.search())
            had = client.get_flags([first])[first]
            (client.remove_flags if b"\\Flagged" in had else client.add_flags)([first], [b"\\Flagged"])

    def remove(self) -> None:
        with self.server.client(self.user) as client:
            client.select_folder("INBOX")
            first = min(client.search())
            client.delete_messages([first])
            client.expunge([first])

    def poison(self) -> None:
        """No mail at all, and one that is too large although nothing in it can be left out."""
        self.append(b"no mail at all\r\n")
        self.append(b"Subject: huge\r\n" + b"X-Huge: y\r\n" * 100_000 + b"\r\n")

    @property
    def _maildir(self) -> Path:
        return self.server.folder / "mail" / self.user / "Maildir"

    def breakages(self) -> Mapping[str, Callable[[], None]]:
        return {
            "empty": self._wipe,
            "moved away": lambda: self._maildir.rename(self._maildir.with_name("elsewhere")) and None,
            "unreadable": self._unreadable,
            "revoked": lambda: self._revoke(0),
            "down": lambda: self.proxy.arm("refused"),
            **{name: self._arming(name, 0) for name in ("cut", "half", "html", "garbage")},
            **{f"{name} in the middle": self._arming(name, MIDDLE) for name in ("cut", "half")},
        }

    def _arming(self, fault: str, after: int) -> Callable[[], None]:
        return lambda: self.proxy.arm(fault, after)

    def _wipe(self) -> None:
        shutil.rmtree(self._maildir)

    def _unreadable(self) -> None:
        """Dovecot is not root, and finds files where its folders were."""
        for name in ("cur", "new"):
            (self._maildir / name).rename(self._maildir / f"{name}.away")
            (self._maildir / name).write_bytes(b"")
        for index in self._maildir.glob("dovecot*"):
            with contextlib.suppress(IsADirectoryError):
                os.unlink(index)

    def faults(self) -> Mapping[str, Callable[[int], None]]:
        """At each turn, those of the login and those after it."""
        names = ("cut", "half", "garbage")
        tiers = {"": 0, "late ": 6, "later ": 11}
        armed = {f"{when}{name}": self._later(name, more) for name in names for when, more in tiers.items()}
        return {**armed, "revoked": self._revoke}

    def _later(self, fault: str, more: int) -> Callable[[int], None]:
        return lambda after: self.proxy.arm(fault, after + more)

    def _revoke(self, after: int) -> None:
        self.key.secrets["password"] = "not the password any more"

    def heal(self) -> None:
        self.proxy.heal()
        self.key.secrets["password"] = PASSWORD

    def lose_cursors(self) -> None:
        self._validity += 1
        self.server.new_validity(self.user, "INBOX", self._validity)

    def fingerprint(self) -> Json:
        return {
            str(path.relative_to(self._maildir)): [path.stat().st_mtime_ns, path.read_bytes().hex()[:2_000]]
            for path in sorted(self._maildir.rglob("*"))
            if path.is_file() and path.parent.name in ("cur", "new", "tmp")
        }
