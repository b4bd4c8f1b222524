"""Session: one login at one server. It looks and never touches: EXAMINE and BODY.PEEK[], beside LIST and STATUS."""

from __future__ import annotations

import contextlib
import imaplib
import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from imapclient.imap_utf7 import encode as encode_utf7

from extractors.imap import answers, uids
from extractors.imap.answers import Envelope, Standing
from extractors.imap.fetched import Items, fetched
from extractors.imap.wire import Answer, Client, Command

T = TypeVar("T")

LISTED_AT_ONCE = 10_000


@dataclass(frozen=True, slots=True)
class Opened:
    """A folder as EXAMINE shows it. ``flags`` and ``vanished``: what QRESYNC told by the way."""

    standing: Standing
    flags: Mapping[int, tuple[str, ...]]
    vanished: Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question under way."""

    tag: bytes
    uids: frozenset[int]


class Session:
    """Used by one thread at a time. Raises what imaplib, ssl and the parsers do: ``errors.translated`` knows them."""

    def __init__(self, client: Client, handle: socket.socket) -> None:
        self._client = client
        self._handle = handle
        self._enabled = False
        self._able: frozenset[str] | None = None
        self._envelopes: dict[int, Envelope] = {}
        self._bodies: dict[int, bytes] = {}
        self._wanted: set[int] = set()
        self.opened = ""

    @property
    def client(self) -> Client:
        """For ``extractors.imap.writer`` alone: a session that polls only looks."""
        return self._client

    def can(self, *abilities: str) -> bool:
        if self._able is None:
            self._able = frozenset(self._offered())
        return self._able.issuperset(abilities)

    def _offered(self) -> list[str]:
        """Most servers say it with their welcome; it differs from what they offer before the login."""
        wire = self._client.wire
        said = wire.untagged_responses.pop("CAPABILITY", []) or wire.flight(("CAPABILITY",))[0].said("CAPABILITY")
        text = b" ".join(each for each in said if isinstance(each, bytes))
        return text.decode("ascii", "replace").upper().split()

    def survey(self, names: Sequence[str]) -> tuple[list[tuple[frozenset[str], str]], list[Standing | None]]:
        """All folders (attributes and name) and how these ones stand, in one round trip. None: it cannot be opened."""
        asked = "MESSAGES UIDNEXT UIDVALIDITY" + (" HIGHESTMODSEQ" if self.can("CONDSTORE") else "")
        heard = self._client.wire.flight(
            self._list_command(), *(("STATUS", _mailbox(name), f"({asked})") for name in names)
        )
        _require(heard[0])
        standings = answers.standings([said for answer in heard for said in answer.said("STATUS")])
        listed = answers.folders([said for answer in heard for said in answer.said("LIST")])
        return listed, [standings.get(name) for name in names]

    def _list_command(self) -> Command:
        wanted = ("RETURN (SPECIAL-USE)",) if self.can("LIST-EXTENDED", "SPECIAL-USE") else ()
        return ("LIST", '""', '"*"', *wanted)

    def open(self, name: str, since: Standing | None = None) -> Opened | None:
        """EXAMINE. ``since``: ask what changed from then on, where the server can tell. None: it cannot be opened."""
        parameter = ""
        if since and since.modseq and self.can("QRESYNC"):
            self._enable()
            parameter = f"(QRESYNC ({since.validity} {since.modseq}))"
        elif self.can("CONDSTORE"):
            parameter = "(CONDSTORE)"
        (answer,) = self._client.wire.flight(("EXAMINE", _mailbox(name), *([parameter] if parameter else [])))
        self.opened = ""
        if not answer.is_ok:
            return None
        if "EXISTS" not in answer.untagged or not answers.number(answer, "UIDVALIDITY"):
            raise ValueError("a folder without EXISTS and UIDVALIDITY")
        wire = self._client.wire
        wire.state, wire.is_readonly = "SELECTED", True
        self.opened = name
        standing = Standing(
            validity=answers.number(answer, "UIDVALIDITY"),
            next=answers.number(answer, "UIDNEXT"),
            exists=answers.number(answer, "EXISTS"),
            modseq=0 if "NOMODSEQ" in answer.untagged else answers.number(answer, "HIGHESTMODSEQ"),
        )
        return Opened(standing, answers.flags(answer), answers.vanished(answer))

    def _enable(self) -> None:
        if not self._enabled:
            _require(self._client.wire.flight(("ENABLE", "QRESYNC"))[0])
            self._enabled = True

    def listed(self, first: int, last: int) -> Iterator[tuple[int, tuple[str, ...]]]:
        """UID and flags of the mails with these sequence numbers. Nothing is renumbered while only this is asked."""
        for start in range(max(1, first), last + 1, LISTED_AT_ONCE):
            end = min(last, start + LISTED_AT_ONCE - 1)
            yield from self._fetched("FETCH", f"{start}:{end}", "(UID FLAGS)")

    def changed(self, modseq: int) -> dict[int, tuple[str, ...]]:
        """UID and flags of what changed after ``modseq``."""
        return dict(self._fetched("UID", "FETCH", "1:*", "(UID FLAGS)", f"(CHANGEDSINCE {modseq})"))

    def since(self, uid: int) -> dict[int, tuple[str, ...]]:
        """UID and flags from this UID on. The server also names the last mail when there is none."""
        found = self._fetched("UID", "FETCH", f"{uid}:*", "(UID FLAGS)")
        return {each: flags for each, flags in found if each >= uid}

    def still(self, wanted: Sequence[int]) -> dict[int, tuple[str, ...]]:
        """Of these UIDs, with their flags, those that are there."""
        asked = set(wanted)
        found = self._fetched("UID", "FETCH", uids.written(wanted), "(UID FLAGS)")
        return {uid: flags for uid, flags in found if uid in asked}

    def _fetched(self, *command: str) -> Iterator[tuple[int, tuple[str, ...]]]:
        (answer,) = self._client.wire.flight(command)
        _require(answer)
        yield from answers.flags(answer).items()

    def ask_envelopes(self, wanted: Sequence[int]) -> Asked:
        return self._ask(wanted, "(UID RFC822.SIZE INTERNALDATE FLAGS)")

    def ask_bodies(self, wanted: Sequence[int]) -> Asked:
        return self._ask(wanted, "(UID BODY.PEEK[])")

    def _ask(self, wanted: Sequence[int], what: str) -> Asked:
        """The server looks it up while we do something else."""
        self._wanted |= set(wanted)
        command = ("UID", "FETCH", uids.written(wanted), what)
        return Asked(self._client.wire.ask(command), frozenset(wanted))

    def envelopes(self, asked: Asked) -> dict[int, Envelope]:
        self._hear(asked)
        return _taken(self._envelopes, asked)

    def bodies(self, asked: Asked) -> dict[int, bytes]:
        """What is gone by now, or NIL, is left out."""
        self._hear(asked)
        self._wanted -= asked.uids
        return _taken(self._bodies, asked)

    def _hear(self, asked: Asked) -> None:
        """Servers work on several commands at once, and what they say to one may come before the end of another."""
        for answer in self._client.wire.answers(asked.tag):
            _require(answer)
            for uid, items in fetched(answer.said("FETCH")):
                self._keep(uid, items)

    def _keep(self, uid: int, items: Items) -> None:
        if uid not in self._wanted:
            return
        if b"RFC822.SIZE" in items:
            self._envelopes[uid] = answers.envelope(uid, items)
        if isinstance(body := items.get(b"BODY[]"), bytes):
            self._bodies[uid] = body

    def begin_idle(self) -> bool:
        """In an open folder. True: something has changed since it was opened."""
        self._client.wire.idle()
        return self._client.wire.has_something()

    def end_idle(self) -> bool:
        """True: something has changed since ``begin_idle``."""
        return self._client.wire.done()

    def fileno(self) -> int:
        """Readable when the server says something while nothing was asked."""
        return self._handle.fileno()

    def hang_up(self) -> None:
        """From any thread: who waits for this session wakes up with an error. It must still be closed."""
        hang_up(self._handle)

    def close(self) -> None:
        """Says good-bye without waiting for the answer."""
        with contextlib.suppress(OSError, ValueError):
            self._client.wire.sock.settimeout(0)
            self._client.wire.send(b"bye LOGOUT\r\n")
        self._client.wire.close_all()
        self._handle.close()


def hang_up(handle: socket.socket) -> None:
    """Ends the connection that this is a handle of, whoever reads from it."""
    with contextlib.suppress(OSError):  # it has ended already
        handle.shutdown(socket.SHUT_RDWR)


def _taken(pool: dict[int, T], asked: Asked) -> dict[int, T]:
    return {uid: pool.pop(uid) for uid in asked.uids & pool.keys()}


def _mailbox(name: str) -> str:
    quoted = encode_utf7(name).decode("ascii").replace("\\", "\\\\").replace('"', '\\"')
    return f'"{quoted}"'


def _require(answer: Answer) -> None:
    if not answer.is_ok:
        raise imaplib.IMAP4.error(f"{answer.status} {answer.text}")
