"""For tests of history: events by number, batches that sum to zero, what readers must find, lives that end badly."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import duckdb

from forewatch.storage import viewfile
from forewatch.storage.history import History, HistoryBatch, Point, Tuning
from schemas.clock import SystemClock
from streams import topics

START = datetime(2026, 1, 1, tzinfo=UTC)


def event(number: int, **changes: Any) -> dict[str, Any]:
    """A mail, as the log would give it; the same for the same number. Days apart, in three accounts."""
    at = (START + timedelta(hours=9 * number)).isoformat()
    return {
        "id": f"event-{number}", "owner": "me", "account": f"mail-{number % 3}", "source": "maildir",
        "kind": "mail.received", "op": "upsert", "subject": f"subject-{number}", "record": f"record-{number}",
        "version": "1", "occurred_at": at, "observed_at": at, "title": f"Letter {number}",
        "text": f"words of letter {number}",
        "parties": [{"role": "from", "name": "Ann", "address": "ann@example.org", "domain": "example.org"}],
        "trust": "outside", "payload": {"type": "mail", "message_id": f"<{number}@example.org>"},
    } | changes  # fmt: skip


def batch(
    first: int, rows: Sequence[Mapping[str, Any]], topic: str = topics.EVENTS, partition: int = 0
) -> HistoryBatch:
    """The rows at consecutive offsets of partition 0, from ``first``."""
    return HistoryBatch(topic, 0, first, first + len(rows) - 1, rows)


SIZE = 4


def balanced(number: int, batches: int = 1) -> HistoryBatch:
    """Batches from ``number`` on, as one read, of a log whose batches are each four bookings that sum to zero.

    They are minutes apart, in two accounts.
    """
    amounts = (1, 2, 3, -6)
    bookings = [
        event(row, kind="bank.posted", account=f"bank-{row % 2}", matter=f"batch-{row // SIZE}", payload=None,
              amount={"amount": f"{amounts[row % SIZE]}.00", "currency": "EUR"},
              occurred_at=(START + timedelta(minutes=row)).isoformat())
        for row in range(number * SIZE, (number + batches) * SIZE)
    ]  # fmt: skip
    return batch(number * SIZE, bookings)


INVARIANTS = """
    SELECT coalesce(sum(size), 0), coalesce(sum(size - ids), 0), count(*) FILTER (size <> 4 OR total <> 0)
    FROM (SELECT count(*) AS size, count(DISTINCT id) AS ids, sum(amount) AS total FROM events GROUP BY matter)
"""
"""Rows, rows that are there twice, and batches that are not whole, of ``balanced`` batches in one look at events."""


def rows(root: Path, sql: str, zone: str = "UTC") -> list[tuple[Any, ...]]:
    """As the person's own DuckDB shell would ask, through ``history.duckdb``."""
    with duckdb.connect(str(root / viewfile.NAME), read_only=True) as shell:
        shell.execute(f"SET TimeZone = '{zone}'")
        return shell.execute(sql).fetchall()


@dataclass(frozen=True, slots=True)
class Orders:
    """One life of a writer: batches ``start`` to ``end`` (what history has of them is a replay), ``stride`` at a time,
    upkeep after every fourth read; killed at the ``nth`` time that it reaches ``die_at``, or half-way through the next
    write.
    """

    start: int
    end: int
    stride: int
    tuning: Tuning
    die_at: Point | None = None
    nth: int = 1
    tear: bool = False


def live(root: Path, orders: Orders, acknowledged: Connection) -> None:
    """Sends, after each ``ingest``, the number of batches that are in."""
    history = History.open(root, SystemClock(), orders.tuning, _Fate(orders))
    for turn, start in enumerate(range(orders.start, orders.end, orders.stride)):
        batches = min(orders.stride, orders.end - start)
        history.ingest(balanced(start, batches))
        acknowledged.send(start + batches)
        if turn % 4 == 3:
            history.maintain()
    history.maintain()
    history.close()


class _Fate:
    """Counts the points that a life passes, and ends it at the one that was ordered."""

    def __init__(self, orders: Orders) -> None:
        self._orders = orders
        self._times = count(1)

    def __call__(self, point: Point) -> None:
        if point != self._orders.die_at or next(self._times) != self._orders.nth:
            return
        if self._orders.tear:
            os.write = _half_a_write
        else:
            os.kill(os.getpid(), signal.SIGKILL)


_write = os.write


def _half_a_write(fd: int, data: Any, /) -> int:
    _write(fd, data[: len(data) // 2])
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("killed")
