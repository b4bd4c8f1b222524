"""Full-text search over events: a SQLite FTS5 index beside history, made from it and made again at will."""

from __future__ import annotations

import csv
import os
import re
import sqlite3
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path

import msgspec

from forewatch.storage.ledger import Ledger
from forewatch.storage.query import HistoryQuery, Limits

NAME = "search.db"

_VERSION = 1  # of the tables below; another one found on disk means: make the index again
_TABLES = f"""
CREATE VIRTUAL TABLE words USING fts5 (
    title, people, text, content = '', tokenize = 'porter unicode61 remove_diacritics 2');
CREATE TABLE doc (
    seq INTEGER PRIMARY KEY, event TEXT, account TEXT, kind TEXT, subject TEXT, op TEXT, occurred_at TEXT, title TEXT);
CREATE INDEX doc_subject ON doc (account, subject);
CREATE TABLE progress (upto INTEGER);
INSERT INTO progress VALUES (0);
PRAGMA user_version = {_VERSION};
"""
_COLUMNS = "seq, id, account, kind, subject, op, occurred_at, title, party_name, party_address, text"
_CHUNK = 2_000


class _Doc(msgspec.Struct):
    """What is indexed of a hot line; lines of other streams have no text."""

    seq: int
    stream: str = "events"
    id: str = ""
    account: str = ""
    kind: str = ""
    subject: str = ""
    op: str = "upsert"
    occurred_at: str = ""
    title: str = ""
    party_name: str = ""
    party_address: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class Hit:
    """``score``: higher is better, comparable within one search only."""

    event: str
    account: str
    kind: str
    subject: str
    occurred_at: datetime
    title: str
    score: float


class SearchIndex:
    """The writing side. One thread at a time."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._db: sqlite3.Connection | None = None

    def catch_up(self, ledger: Ledger, folded_to: int, go_on: Callable[[], None] = lambda: None) -> None:
        """Index what is new. Everything again when the file is gone, or of another version, or misses rows that are
        in Parquet already (``folded_to`` is the newest seq there); that takes half a minute per million events.

        ``go_on`` is called again and again, and raises to give it up."""
        if self._db is None:
            self._db = _opened(self._root / NAME)
        if _upto(self._db) < folded_to:
            self._rebuild(self._db, folded_to, go_on)
        decode = msgspec.json.Decoder(_Doc).decode
        while lines := ledger.lines(_upto(self._db) + 1, limit=_CHUNK):
            go_on()
            with _transaction(self._db):
                _add(self._db, [decode(line) for _, line in lines], lines[-1][0])

    def close(self) -> None:
        if self._db:
            self._db.close()
            self._db = None

    def _rebuild(self, db: sqlite3.Connection, folded_to: int, go_on: Callable[[], None]) -> None:
        """In one transaction: until it ends, searches see the index as it was."""
        with _transaction(db):
            db.execute("INSERT INTO words (words) VALUES ('delete-all')")
            db.execute("DELETE FROM doc")
            db.execute("UPDATE progress SET upto = 0")
            with closing(_exported(self._root)) as documents:
                while chunk := list(islice(documents, _CHUNK)):
                    go_on()
                    _add(db, chunk, chunk[-1].seq)
            _add(db, (), max(_upto(db), folded_to))  # the newest rows in Parquet need not be events


def search(root: Path, text: str, limit: int = 20) -> list[Hit]:
    """The things that have all of these words, best first; where none has, those that have any of them.

    Each thing once, by its newest version that matches, and none that its source has removed. Empty before the first
    ``History.maintain``. Needs no running service.
    """
    words = re.findall(r"\w+", text)
    path = root.absolute() / NAME
    if not words or not path.exists():
        return []
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as db:
        quoted = [f'"{word}"' for word in words]
        return _hits(db, " ".join(quoted), limit) or _hits(db, " OR ".join(quoted), limit)


def _hits(db: sqlite3.Connection, match: str, limit: int) -> list[Hit]:
    found = db.execute(
        "SELECT event, account, kind, subject, occurred_at, doc.title, -bm25(words, 6.0, 3.0, 1.0) AS score"
        " FROM words JOIN doc ON seq = words.rowid WHERE words MATCH ? ORDER BY score DESC, seq DESC",
        (match,),
    )
    things: dict[tuple[str, str], Hit] = {}
    for event, account, kind, subject, occurred_at, title, score in found:
        hit = Hit(event, account, kind, subject, datetime.fromisoformat(occurred_at), title, score)
        thing = (hit.account, hit.subject)
        if thing not in things and _is_there(db, *thing):
            things[thing] = hit
            if len(things) == limit:
                break
    return list(things.values())


def _is_there(db: sqlite3.Connection, account: str, subject: str) -> bool:
    op, kind = db.execute(
        "SELECT op, kind FROM doc WHERE account = ? AND subject = ? ORDER BY seq DESC LIMIT 1", (account, subject)
    ).fetchone()
    return op == "upsert" and not kind.endswith(".removed")


def _opened(path: Path) -> sqlite3.Connection:
    """The index; an empty one when there is none that we can use."""
    db = _connected(path)
    try:
        version = db.execute("PRAGMA user_version").fetchone()[0]
    except sqlite3.DatabaseError:  # damaged: it holds nothing that history does not
        version = -1
    if version not in (0, _VERSION):
        db.close()
        path.unlink()
        db = _connected(path)
        version = 0
    if version == 0:
        db.executescript(_TABLES)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = NORMAL")  # what a power cut takes from it is indexed again
    return db


def _connected(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None, check_same_thread=False)


@contextmanager
def _transaction(db: sqlite3.Connection) -> Iterator[None]:
    db.execute("BEGIN")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def _upto(db: sqlite3.Connection) -> int:
    return int(db.execute("SELECT upto FROM progress").fetchone()[0])


def _add(db: sqlite3.Connection, documents: Iterable[_Doc], upto: int) -> None:
    """Within a transaction."""
    events = [d for d in documents if d.stream == "events" and (d.title or d.text or d.op != "upsert")]
    db.executemany(
        "INSERT INTO doc VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        ((d.seq, d.id, d.account, d.kind, d.subject, d.op, d.occurred_at, d.title) for d in events),
    )
    db.executemany(
        "INSERT INTO words (rowid, title, people, text) VALUES (?, ?, ?, ?)",
        ((d.seq, d.title, f"{d.party_name} {d.party_address}", d.text) for d in events),
    )
    db.execute("UPDATE progress SET upto = ?", (upto,))


def _exported(root: Path) -> Generator[_Doc]:
    """All events by seq, streamed from a query worker."""
    query = HistoryQuery(root, "UTC", Limits(export_deadline_s=3600.0))
    reader, writer = os.pipe()

    def export() -> None:
        with open(writer, "wb") as out:
            query.export(f"SELECT {_COLUMNS} FROM events ORDER BY seq", "csv", out)

    # closed first: an export that nobody reads waits for its reader for ever, and who gives up for the export
    with ThreadPoolExecutor(1) as pool, open(reader, newline="", encoding="utf-8") as source:
        done = pool.submit(export)
        for row in csv.DictReader(source):
            yield msgspec.convert(row, _Doc, strict=False)
        done.result()
