"""The log's file: its tables, its topics, and reading from it."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from schemas.errors import ConfigError
from streams.failure import FOREIGN, log_failed, remedy_for
from streams.topics import TopicSpec

VERSION = 1
_SCHEMA = """
CREATE TABLE IF NOT EXISTS part(
    id INTEGER PRIMARY KEY, topic TEXT NOT NULL, partition INT NOT NULL, cleanup TEXT NOT NULL, retention_ms INT,
    head INT NOT NULL DEFAULT 0, cleaned INT NOT NULL DEFAULT 0, UNIQUE(topic, partition));
CREATE TABLE IF NOT EXISTS log(id INTEGER PRIMARY KEY, ts INT NOT NULL, key BLOB, value BLOB);
CREATE TABLE IF NOT EXISTS committed(
    grp TEXT NOT NULL, part INT NOT NULL, off INT NOT NULL, PRIMARY KEY(grp, part)) WITHOUT ROWID;
"""
SHIFT = 40
"""``log.id`` is ``part.id << SHIFT | offset``: one clustered tree, in which a partition is a range."""

_BUSY_S = 30.0
_WAL_LIMIT = 64 << 20
_READ_BYTES = 4 << 20
"""One read stops after about as many bytes of values, however many records were asked for."""


class Row(NamedTuple):
    offset: int
    ts: int
    key: bytes | None
    value: bytes | None


def connect(path: Path, sync: str) -> sqlite3.Connection:
    """A connection for one thread at a time; creates the file, private to its user, where there is none.

    An existing file is never opened but by SQLite: closing any other descriptor of it would drop the POSIX locks of
    all connections of this process, and the next process to close the file would delete the WAL under our feet.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=_BUSY_S)
        db.execute("PRAGMA journal_mode=WAL")
        db.execute(f"PRAGMA synchronous={sync}")
        db.execute(f"PRAGMA journal_size_limit={_WAL_LIMIT}")
    except FOREIGN as error:
        raise ConfigError(f"cannot open the log {path}: {error}", remedy=remedy_for(str(error))) from error
    return db


class LogFile:
    """Reads on the caller's thread, from one connection; knows the partitions and where each ends."""

    def __init__(self, path: Path, sync: str) -> None:
        self.path = path
        self._db = connect(path, sync)
        self._version = -1
        self.ids: dict[tuple[str, int], int] = {}
        """Part ids by topic and partition."""
        self.heads: dict[int, int] = {}
        """The next offset of each part id."""
        self._create()
        self.reload()

    def close(self) -> None:
        self._db.close()

    def _create(self) -> None:
        try:
            (found,) = self._db.execute("PRAGMA user_version").fetchone()
            if found > VERSION:
                raise ConfigError(
                    f"the log {self.path} was written by a newer Forewatch (format {found})",
                    remedy="update Forewatch, or choose another file",
                )
            if found < VERSION:
                self._db.executescript(_SCHEMA)
                self._db.execute(f"PRAGMA user_version={VERSION}")
        except sqlite3.Error as error:
            raise ConfigError(f"cannot use the log {self.path}: {error}", remedy=remedy_for(str(error))) from error

    # -- partitions

    def create_topics(self, specs: Sequence[TopicSpec], partitions: int) -> None:
        """Creates what is missing and takes over changed clean-up; the names are the broker's.

        A partition count cannot change: the keys of what is there would sit in the wrong partition.
        """
        for spec in specs:
            found = self.partitions(spec.name)
            if found and found != partitions:
                raise ConfigError(
                    f"topic {spec.name!r} in {self.path} has {found} partitions, the settings say {partitions}",
                    remedy=f"set partitions to {found}, or start with a new log",
                )
        rows = [
            (spec.name, partition, spec.cleanup, None if spec.retention_s is None else int(spec.retention_s * 1000))
            for spec in specs
            for partition in range(partitions)
        ]
        self._db.executemany(
            "INSERT INTO part(topic, partition, cleanup, retention_ms) VALUES(?,?,?,?) "
            "ON CONFLICT DO UPDATE SET cleanup=excluded.cleanup, retention_ms=excluded.retention_ms",
            rows,
        )
        self.reload()

    def partitions(self, topic: str) -> int:
        return sum(1 for name, _ in self.ids if name == topic)

    def part(self, topic: str, partition: int) -> int:
        """The part id; ConfigError if there is no such partition."""
        try:
            return self.ids[topic, partition]
        except KeyError:
            raise ConfigError(
                f"the log {self.path} has no partition {partition} of topic {topic!r}",
                remedy="start the service once: it creates the topics",
            ) from None

    def reload(self) -> None:
        """Partitions and heads as the file has them now."""
        self._version = self._data_version()
        for part, topic, partition, head in self._db.execute("SELECT id, topic, partition, head FROM part"):
            self.ids[topic, partition] = part
            self.heads[part] = max(head, self.heads.get(part, 0))

    def changed(self) -> bool:
        """Has any other connection, here or in another process, committed since ``reload``? Cheap."""
        return self._data_version() != self._version

    def _data_version(self) -> int:
        version: int = self._db.execute("PRAGMA data_version").fetchone()[0]
        return version

    # -- records

    def read(self, part: int, offset: int, limit: int) -> list[Row]:
        """Up to ``limit`` records from ``offset`` on, fewer where they are large."""
        rows: list[Row] = []
        size = 0
        base = part << SHIFT
        query = "SELECT id - ?, ts, key, value FROM log WHERE id >= ? AND id < ? ORDER BY id LIMIT ?"
        try:
            for found in self._db.execute(query, (base, base + max(offset, 0), base + (1 << SHIFT), limit)):
                rows.append(row := Row(*found))
                size += len(row.value or b"")
                if size >= _READ_BYTES:
                    break
        except sqlite3.Error as error:
            raise log_failed(self.path, error) from error
        return rows

    def earliest(self, part: int) -> int:
        rows = self.read(part, 0, 1)
        return rows[0].offset if rows else self.heads[part]

    def committed(self, group: str) -> dict[int, int]:
        """The committed offsets of a group, by part id."""
        return dict(self._db.execute("SELECT part, off FROM committed WHERE grp=?", (group,)).fetchall())
