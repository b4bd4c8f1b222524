"""Rewriting the embedded log: one transaction, then a file without free pages."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from streams.broker import Broker
from streams.embedded.file import SHIFT, connect
from streams.embedded.lock import GroupLock
from streams.failure import log_failed
from streams.rewriting import Verdict, Written


class EmbeddedRewriter:
    """A ``streams.rewriting.Rewriter``."""

    is_decided = False

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def __enter__(self) -> EmbeddedRewriter:
        self._lock = GroupLock(self._broker.path, self._broker.prefix)
        try:
            self._db = connect(self._broker.path, "full")
            self._db.execute("PRAGMA secure_delete=ON")
        except BaseException:
            self._lock.release()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()
        self._lock.release()

    def read(self, topic: str) -> Iterable[Written]:
        query = "SELECT id FROM part WHERE topic=? ORDER BY partition"
        for (part,) in self._db.execute(query, (self._broker.topic(topic),)).fetchall():
            low = part << SHIFT
            rows = self._db.execute(
                "SELECT id, key, value FROM log WHERE id >= ? AND id < ?", (low, low + (1 << SHIFT))
            )
            for id_, key, value in rows:
                yield Written(id_, topic, key, value)

    def rewrite(self, names: Iterable[str], verdict: Verdict) -> None:
        changes: list[tuple[int, bytes | None]] = []
        for name in names:
            for record in self.read(name):
                value = verdict(record)
                if value is None or value != record.value:
                    changes.append((record.id, value))
        try:
            self._apply(changes)
            self._scrub()
        except sqlite3.Error as error:
            raise log_failed(self._broker.path, error) from error

    def _apply(self, changes: Iterable[tuple[int, bytes | None]]) -> None:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            for id_, value in changes:
                if value is None:
                    self._db.execute("DELETE FROM log WHERE id=?", (id_,))
                else:
                    self._db.execute("UPDATE log SET value=? WHERE id=?", (value, id_))
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise

    def _scrub(self) -> None:
        """Leave nothing of what went in free pages or in the write-ahead log."""
        self._db.execute("VACUUM")
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
