"""IMAPClient over a socket that we opened: bounded answers, and several commands in one flight."""

from __future__ import annotations

import contextlib
import imaplib
import socket
import ssl
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from imapclient import IMAPClient

from extractors.imap.config import ImapConfig
from extractors.mail import limits

Command = tuple[str, ...]
Said = bytes | tuple[bytes, bytes]

LITERAL_BYTES = limits.MESSAGE_BYTES + 1024 * 1024
FLIGHT_BYTES = 2 * LITERAL_BYTES
"""What one flight may bring in all."""

NEWS = frozenset({"EXISTS", "EXPUNGE", "VANISHED", "FETCH"})
"""What a server says by itself when a folder changes."""


@dataclass(frozen=True, slots=True)
class Answer:
    """``untagged``: what the server said before the end of this command, by kind, in order."""

    status: str
    text: str
    untagged: Mapping[str, Sequence[Said]] = field(default_factory=dict)

    @property
    def is_ok(self) -> bool:
        return self.status == "OK"

    def said(self, kind: str) -> list[Said]:
        return list(self.untagged.get(kind, ()))


class Wire(imaplib.IMAP4):
    """The connection of imaplib, over a given socket."""

    def __init__(self, opened: socket.socket, host: str, tls: ssl.SSLContext | None) -> None:
        self._opened = opened
        self._tls = tls
        self._left = FLIGHT_BYTES
        self._asked: deque[bytes] = deque()
        self._answered: set[bytes] = set()
        self._idling = b""
        self._held: bytearray | None = None
        super().__init__(host)

    def _create_socket(self, timeout: float | None = None) -> socket.socket:
        if self._tls is None:
            return self._opened
        self._opened = self._tls.wrap_socket(self._opened, server_hostname=self.host)
        return self._opened

    def read(self, size: int) -> bytes:
        if size > LITERAL_BYTES:
            raise self.abort(f"a part of {size} bytes is announced")
        self._spend(size)
        return super().read(size)

    def readline(self) -> bytes:
        line = super().readline()
        self._spend(len(line))
        return line

    def _spend(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise self.abort("the answer has no end")

    def flight(self, *commands: Command) -> list[Answer]:
        """All commands are sent at once, then all answers are read: the time of one round trip."""
        self._held = bytearray()
        try:
            tags = [self.ask(command) for command in commands]
        finally:
            together, self._held = bytes(self._held), None
        self.send(together)
        return [answer for tag in tags for answer in self.answers(tag)]

    def send(self, data: Any) -> None:
        """Within a flight it waits for the commands that follow: a server answers the first of several writes while the
        rest is on its way."""
        if self._held is None:
            super().send(data)
        else:
            self._held += data

    def ask(self, command: Command) -> bytes:
        """Returns at once; the server works on it until its answer is wanted."""
        name, *words = command
        tag: bytes = self._command(name, *words)
        self._asked.append(tag)
        return tag

    def answers(self, tag: bytes) -> Iterator[Answer]:
        """In the order of asking, what was not read yet, up to that of this command."""
        while tag not in self._answered:
            first = self._asked.popleft()
            self._answered.add(first)
            yield self._answer(first)
        self._answered.discard(tag)

    def _answer(self, tag: bytes) -> Answer:
        self._left = FLIGHT_BYTES
        status, data = self._get_tagged_response(tag)
        untagged = dict(self.untagged_responses)
        self.untagged_responses.clear()
        self.untagged_responses.update({kind: untagged[kind] for kind in ("BYE",) if kind in untagged})
        text = data[0] if data and isinstance(data[0], bytes) else b""
        return Answer(str(status), text.decode("utf-8", "replace"), untagged)

    def idle(self) -> None:
        """Returns when the server has begun to tell what happens."""
        self._left = FLIGHT_BYTES
        self._idling = self._command("IDLE")
        while self._get_response():
            if self.tagged_commands[self._idling]:
                raise self.error("IDLE is refused")

    def has_something(self) -> bool:
        """Whether something was told that is read already, or can be read without waiting."""
        if self.untagged_responses.keys() & NEWS:
            return True
        waited = self.sock.gettimeout()
        self.sock.settimeout(0)
        try:
            buffered: Any = self.__dict__.get("_file") or self.file  # Python 3.14 renamed it
            return bool(buffered.peek(1))
        except OSError:  # it would have to wait
            return False
        finally:
            self.sock.settimeout(waited)

    def done(self) -> bool:
        """Ends ``idle``. True: something has changed in the folder."""
        self.send(b"DONE\r\n")
        answer = self._answer(self._idling)
        if not answer.is_ok:
            raise self.error(f"IDLE ended with {answer.status} {answer.text}")
        return bool(answer.untagged.keys() & NEWS)

    def close_all(self) -> None:
        """Only when no thread waits for it any more."""
        with contextlib.suppress(OSError, AttributeError):
            self.shutdown()
        self._opened.close()


class Client(IMAPClient):  # type: ignore[misc]  # the library has no types
    """IMAPClient over a ``Wire``. The constructor speaks with the server: greeting and capabilities."""

    def __init__(self, opened: socket.socket, config: ImapConfig, tls: ssl.SSLContext | None) -> None:
        self._opened = opened
        self._given = tls
        self._config = config
        timeout = opened.gettimeout()
        super().__init__(config.host, config.port, ssl=config.security == "tls", ssl_context=tls, timeout=timeout)
        self.wire.debug = 0  # the library has every line formatted for its log
        self.normalise_times = False

    def _create_IMAP4(self) -> Wire:
        return Wire(self._opened, self._config.host, self._given if self._config.security == "tls" else None)

    @property
    def wire(self) -> Wire:
        wire: Wire = self._imap
        return wire
