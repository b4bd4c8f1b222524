"""A server that speaks just enough IMAP for a poll, and whose every line a test may mangle."""

from __future__ import annotations

import contextlib
import re
import socket
import threading
from collections.abc import Callable, Sequence
from typing import Self

Mangle = Callable[[int, bytes], bytes]
"""The number of the answer (the greeting is 0) and the answer, to what is sent instead."""


class FakeImap:
    """One folder with these mails. ``said``: what clients said, line by line."""

    def __init__(self, mails: Sequence[bytes], mangle: Mangle = lambda number, answer: answer) -> None:
        self.mails = list(mails)
        self.mangle = mangle
        self.said: list[str] = []
        self.capabilities = "IMAP4rev1"
        self.login = "OK done"
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._threads = [threading.Thread(target=self._listen)]
        self._open: list[socket.socket] = []

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        for each in self._open:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        self._listener.close()

    def _listen(self) -> None:
        while True:
            try:
                opened, _ = self._listener.accept()
            except OSError:
                return
            self._open.append(opened)
            self._threads.append(threading.Thread(target=self._serve, args=(opened,)))
            self._threads[-1].start()

    def _serve(self, opened: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError), opened, opened.makefile("rb") as lines:
            opened.sendall(self.mangle(0, b"* OK ready\r\n"))
            for number, line in enumerate(lines, 1):
                self.said.append(line.decode("latin-1").strip())
                tag, _, rest = self.said[-1].partition(" ")
                opened.sendall(self.mangle(number, self.answer(tag, rest)))

    def answer(self, tag: str, rest: str) -> bytes:
        name = rest.split(" ", 1)[0].upper()
        lines: list[bytes] = []
        end = "OK done"
        match name:
            case "CAPABILITY":
                lines = [f"* CAPABILITY {self.capabilities}".encode()]
            case "LOGIN":
                end = self.login
            case "LIST":
                lines = [b'* LIST (\\HasNoChildren) "/" "INBOX"']
            case "STATUS":
                lines = [f"* STATUS INBOX (MESSAGES {len(self.mails)} UIDNEXT {self._next} UIDVALIDITY 7)".encode()]
            case "EXAMINE":
                lines = [
                    f"* {len(self.mails)} EXISTS".encode(),
                    b"* OK [UIDVALIDITY 7] valid",
                    f"* OK [UIDNEXT {self._next}] next".encode(),
                ]
            case "FETCH" | "UID":
                lines = self._fetched(rest)
            case _:
                end = "BAD what?"
        return b"".join(line + b"\r\n" for line in [*lines, f"{tag} {end}".encode()])

    @property
    def _next(self) -> int:
        return len(self.mails) + 1

    def _fetched(self, rest: str) -> list[bytes]:
        found = []
        for first, last in re.findall(r"(\d+)(?::(\d+|\*))?(?=[,\s:]|$)", rest.split(" (")[0]):
            end = len(self.mails) if last == "*" else int(last or first)
            for uid in range(int(first), min(end, len(self.mails)) + 1):
                mail = self.mails[uid - 1]
                if "BODY.PEEK" in rest:
                    found.append(f"* {uid} FETCH (UID {uid} BODY[] {{{len(mail)}}}\r\n".encode() + mail + b")")
                else:
                    size = f' RFC822.SIZE {len(mail)} INTERNALDATE "02-Mar-2026 08:00:00 +0100"'
                    found.append(f"* {uid} FETCH (UID {uid} FLAGS (){size if 'SIZE' in rest else ''})".encode())
        return found
