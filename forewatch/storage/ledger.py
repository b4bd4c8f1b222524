"""The ledger: one SQLite file that says what history has taken in, and holds every row that is not in Parquet yet.

It is the only commit point. A batch and the offset it came from are one transaction, so a replay adds nothing; the hot
segments and the manifest follow from the ledger and are made again from it when a crash or a full disk broke them.
"""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from forewatch.storage import rows, schema
from forewatch.storage.rows import Row
from schemas.errors import ConfigError

NAME = "ledger.db"

_TABLES = """
CREATE TABLE IF NOT EXISTS fact (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS seen (id BLOB PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS watermark (
    topic TEXT, partition INTEGER, next INTEGER NOT NULL, PRIMARY KEY (topic, partition)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS row (seq INTEGER PRIMARY KEY, folder TEXT NOT NULL, line BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS segment (
    first INTEGER PRIMARY KEY, opened_at REAL NOT NULL, last INTEGER, bytes INTEGER, compaction INTEGER);
CREATE TABLE IF NOT EXISTS part (
    path TEXT PRIMARY KEY, folder TEXT NOT NULL, lo INTEGER NOT NULL, hi INTEGER NOT NULL, rows INTEGER NOT NULL,
    compaction INTEGER) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS compaction (
    id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, step TEXT NOT NULL, due_at REAL NOT NULL,
    old TEXT NOT NULL, new TEXT NOT NULL);
"""

_ASK = 500  # ids per question; SQLite takes 32,766 variables, this is where it stops getting faster
_PRUNE = 2_000  # rows per transaction, so that ingest never waits long for the lock


class Ledger:
    """Safe to call from any thread: one connection, one lock, and every call is short."""

    def __init__(self, root: Path, sync: str = "full") -> None:
        self._sync = sync
        self._lock = threading.RLock()
        self._db = sqlite3.connect(root / NAME, isolation_level=None, check_same_thread=False)
        try:
            self._prepare(root)
        except BaseException:
            self._db.close()
            raise
        self.last_seq = int(self.fact("last_seq") or 0)

    def _prepare(self, root: Path) -> None:
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute(f"PRAGMA synchronous = {self._sync}")
        self._db.executescript(_TABLES)
        found = self.fact("format")
        if found is None:
            self.set_fact("format", schema.FORMAT)
        elif int(found) > schema.FORMAT:
            raise ConfigError(
                f"{root} was written by a newer Forewatch (format {found}, this one knows {schema.FORMAT})",
                remedy="update Forewatch",
            )

    def close(self) -> None:
        with self._lock:
            self._db.close()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All of it or nothing; durable when it ends. Transactions nest into the outermost one."""
        with self._lock:
            if self._db.in_transaction:
                yield self._db
                return
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:  # SQLite rolls back by itself when the disk is full
                    self._db.execute("ROLLBACK")
                raise

    def fact(self, name: str) -> str | int | None:
        with self._lock:
            found = self._db.execute("SELECT value FROM fact WHERE name = ?", (name,)).fetchone()
        return found[0] if found else None

    def set_fact(self, name: str, value: str | int) -> None:
        with self.transaction() as db:
            db.execute("INSERT OR REPLACE INTO fact VALUES (?, ?)", (name, value))

    def watermark(self, topic: str, partition: int) -> int:
        """The offset from which history wants to read on; 0 when it has read nothing."""
        with self._lock:
            found = self._db.execute(
                "SELECT next FROM watermark WHERE topic = ? AND partition = ?", (topic, partition)
            ).fetchone()
        return int(found[0]) if found else 0

    def admit(self, topic: str, partition: int, next_offset: int, batch: Sequence[Row]) -> list[bytes]:
        """One transaction: the rows that are new, and the watermark. Returns the hot lines of the new ones, in order.

        What is known is decided by identity alone, never by offset: a log that was made anew may count from 0 again.
        """
        with self.transaction() as db:
            fresh = _fresh(db, batch)
            last = self.last_seq + len(fresh)
            placed = list(enumerate(fresh.values(), self.last_seq + 1))
            lines = [rows.line(row, seq, last) for seq, row in placed]
            db.executemany("INSERT INTO seen VALUES (?)", ((key,) for key in fresh))
            db.executemany(
                "INSERT INTO row VALUES (?, ?, ?)",
                ((seq, row.folder, line) for (seq, row), line in zip(placed, lines, strict=True)),
            )
            db.execute(
                "INSERT INTO watermark VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET next = max(next, ?3)",
                (topic, partition, next_offset),
            )
            db.execute("INSERT OR REPLACE INTO fact VALUES ('last_seq', ?)", (last,))
        self.last_seq = last
        return lines

    def lines(self, first: int, last: int | None = None, limit: int = -1) -> list[tuple[int, bytes]]:
        """(seq, hot line) of the rows that are not pruned yet, in order."""
        with self._lock:
            return self._db.execute(
                "SELECT seq, line FROM row WHERE seq BETWEEN ? AND ? ORDER BY seq LIMIT ?",
                (first, self.last_seq if last is None else last, limit),
            ).fetchall()

    def prune(self, first: int, last: int) -> None:
        """Forget the lines of rows that are in Parquet; their identities stay. In small transactions."""
        while True:
            with self.transaction() as db:
                gone = db.execute(
                    "DELETE FROM row WHERE seq IN (SELECT seq FROM row WHERE seq BETWEEN ? AND ? LIMIT ?)",
                    (first, last, _PRUNE),
                ).rowcount
            if gone < _PRUNE:
                return


def _fresh(db: sqlite3.Connection, batch: Sequence[Row]) -> dict[bytes, Row]:
    """The rows that history does not have, by key; of two with one identity the first."""
    keyed: dict[bytes, Row] = {}
    for row in batch:
        keyed.setdefault(hashlib.blake2b(row.identity.encode(errors="replace"), digest_size=16).digest(), row)
    keys = list(keyed)
    for start in range(0, len(keys), _ASK):
        asked = keys[start : start + _ASK]
        marks = ",".join("?" * len(asked))
        for (known,) in db.execute(f"SELECT id FROM seen WHERE id IN ({marks})", asked):
            del keyed[known]
    return keyed
