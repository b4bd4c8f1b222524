"""The jmap connector against Cyrus, a real server. Needs root and debootstrap: ``python -m tests.peers cyrus``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar

import pytest

from extractors.jmap import Jmap
from extractors.jmap.config import JmapConfig
from extractors.testing import START, ConnectorContract, Key, Poll, context_for, events_of, poll, records_of
from schemas.model import Json
from tests.peers.cyrus import PASSWORD, USER, Server, cyrus, is_fetched
from tests.peers.process import provided
from tests.scale import THOROUGH
from tests.standins.graph import START as FIRST
from tests.standins.graph import letter

pytestmark = pytest.mark.nightly

CONNECTOR = Jmap(page_items=2)
BOXES = ("INBOX", "Sent", "Trash", "Bills")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Outside of the thorough runs only where somebody has fetched it: that takes root and two minutes."""
    if not THOROUGH and not is_fetched():
        pytest.skip("Cyrus is for nightly runs: python -m tests.peers cyrus")
    yield from provided(cyrus, tmp_path_factory.mktemp("cyrus"))


class CyrusSource:
    """A mailbox with nothing in it at first, changed by IMAP as a mail program does."""

    def __init__(self, server: Server) -> None:
        self.door = server.login()
        self.key = Key(secrets={"token": PASSWORD})
        self.config = JmapConfig(base_url=server.url, user=USER, allow_private=True, addresses=("nora@example.net",))
        self.count = 0
        for box in BOXES:
            self._expunge(box, "1:*")
        self._select("INBOX")

    def add(self, box: str = "INBOX", raw: bytes = b"", at: datetime | None = None) -> str:
        """The UID."""
        self.count += 1
        at = at or FIRST + timedelta(hours=self.count)
        self._select("INBOX")
        said = self.door.append(box, "", f'"{at:%d-%b-%Y %H:%M:%S} +0000"', raw or letter(self.count))
        assert said[0] == "OK", said
        return said[1][0].decode().split("APPENDUID ")[1].split("]")[0].split()[1]

    def first(self) -> str:
        self._select("INBOX")
        return self.door.uid("SEARCH", "ALL")[1][0].split()[0].decode()

    def mark(self, uid: str, flags: str, sign: str = "+") -> None:
        self._select("INBOX")
        self.door.uid("STORE", uid, f"{sign}FLAGS", f"({flags})")

    def move(self, uid: str, box: str, to: str) -> None:
        self._select(box)
        assert self.door.uid("MOVE", uid, to)[0] == "OK"

    def change(self) -> None:
        self.mark(self.first(), r"\Seen")

    def remove(self) -> None:
        self._expunge("INBOX", self.first())

    def poison(self) -> None:
        self.add(raw=b"Subject: huge\r\n" + b"X-Huge: y\r\n" * 100_000 + b"\r\n\r\n")

    def breakages(self) -> Mapping[str, Callable[[], None]]:
        return {"revoked": lambda: self.key.secrets.update(token="another")}

    def fingerprint(self) -> Json:
        found: list[Json] = []
        for box in BOXES:
            self.door.select(box, readonly=True)
            found += [str(line) for line in self.door.uid("FETCH", "1:*", "(FLAGS INTERNALDATE RFC822.SIZE)")[1]]
        return found

    def _select(self, box: str) -> None:
        assert self.door.select(box)[0] == "OK"

    def _expunge(self, box: str, uids: str) -> None:
        self._select(box)
        self.door.uid("STORE", uids, "+FLAGS", r"(\Deleted)")
        self.door.expunge()

    def close(self) -> None:
        self.door.logout()


@pytest.fixture
def source(server: Server) -> Iterator[CyrusSource]:
    made = CyrusSource(server)
    yield made
    made.close()


def look(source: CyrusSource, cursor: Json = None, *, hours: int = 0, connector: Jmap = CONNECTOR) -> Poll:
    found = poll(connector, source.config, cursor, context_for(START + timedelta(hours=hours)), key=source.key)
    assert found.error is None
    return found


def events(*polls: Poll) -> list[Any]:
    changes = [change for each in polls for change in (*each.upserts, *each.deletes)]
    return events_of(CONNECTOR, records_of(CONNECTOR, changes, context_for()), context_for())[0]


class TestCyrus(ConnectorContract):
    connector = CONNECTOR
    server: ClassVar[Server]
    sources: ClassVar[list[CyrusSource]] = []

    @pytest.fixture(autouse=True)
    def _server(self, server: Server) -> Iterator[None]:
        type(self).server = server
        yield
        while self.sources:
            self.sources.pop().close()

    def source(self, folder: Path) -> CyrusSource:
        self.sources.append(CyrusSource(self.server))
        return self.sources[-1]


def test_mail_comes_oldest_first_with_its_text(source: CyrusSource) -> None:
    for _ in range(5):
        source.add()
    found = events(look(source))
    assert [event.title for event in found] == [f"Letter {number}" for number in range(1, 6)]
    assert "Letter number 1." in found[0].text


def test_flags_moves_the_bin_and_the_way_back(source: CyrusSource) -> None:
    uid = source.add()
    first = look(source)
    source.mark(uid, r"\Seen \Flagged")
    seen = look(source, first.cursor, hours=1)
    assert seen.upserts[0].meta["flags"] == ["flagged", "seen"]
    source.move(uid, "INBOX", "Bills")
    moved = look(source, seen.cursor, hours=2)
    assert ([upsert.meta["folder"] for upsert in moved.upserts], moved.deletes) == (["Bills"], [])
    source.move("1:*", "Bills", "Trash")
    binned = look(source, moved.cursor, hours=3)
    assert [event.op for event in events(binned)] == ["retract"]
    source.move("1:*", "Trash", "INBOX")
    back = look(source, binned.cursor, hours=4)
    ids = {upsert.native_id for upsert in (*first.upserts, *seen.upserts, *moved.upserts, *back.upserts)}
    versions = [upsert.version for upsert in (*first.upserts, *seen.upserts, *moved.upserts, *back.upserts)]
    assert len(ids) == 1
    assert len(set(versions)) == len(versions) == 4


def test_sent_mail_is_the_owners(source: CyrusSource) -> None:
    source.add("Sent", letter(1).replace(b"Ada <ada@example.org>", b"Nora <nora@example.net>"))
    assert [event.kind for event in events(look(source))] == ["mail.sent"]


@pytest.mark.parametrize("state", ["999999", "bogus"])
def test_a_state_that_the_server_never_gave_is_listed_anew(source: CyrusSource, state: str) -> None:
    """Of one from the future, Cyrus says nothing but its own, lower one."""
    for _ in range(4):
        source.add()
    first = look(source)
    source.remove()
    assert isinstance(first.cursor, dict)
    again = look(source, {**first.cursor, "state": state}, hours=1)
    assert (again.upserts, len(again.deletes)) == ([], 1)


def test_an_unchanged_account_gives_no_new_cursor(source: CyrusSource) -> None:
    source.add()
    first = look(source)
    assert look(source, first.cursor, hours=1).pages[-1].next_cursor is None


def test_many_mails_in_pages_of_the_connectors_choice(source: CyrusSource, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with a server that gives few at once: anchors, hasMoreChanges and references really work."""
    monkeypatch.setattr("extractors.jmap.session.OBJECTS", 3)
    for _ in range(8):
        source.add()
    first = look(source)
    assert len(first.upserts) == 8
    for _ in range(8):
        source.add()
    source.remove()
    second = look(source, first.cursor, hours=1)
    assert (len(second.upserts), len(second.deletes)) == (8, 1)
