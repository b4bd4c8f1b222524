"""What carries the same work: our worker on each broker, and the plain loops that one would write instead."""

from __future__ import annotations

import asyncio
import sqlite3
import time
import uuid
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from benchmarks.events import Matcher
from streams.app import create_app
from streams.drain import BATCH
from streams.lane import Agent
from streams.log import open_log
from streams.topics import EVENTS, TRIGGERS, TopicSpec
from streams.work import Batch, Output, Result

TOPICS = (TopicSpec(EVENTS, "keep"), TopicSpec(TRIGGERS, "keep"))
_COMMIT_S = 0.5
_FILL = 5_000


@dataclass
class Timer:
    """Runs from the first batch on, so that joining a group does not count, to the last durable match."""

    _began: tuple[float, float] | None = None
    wall_s: float = 0.0
    cpu_s: float = 0.0
    """Of this process, all its threads; a broker is another process."""

    def begin(self) -> None:
        if self._began is None:
            self._began = time.perf_counter(), time.process_time()

    def end(self) -> None:
        assert self._began is not None, "nothing was read"
        self.wall_s = time.perf_counter() - self._began[0]
        self.cpu_s = time.process_time() - self._began[1]


Carrier = Callable[[Sequence[bytes], Matcher, Timer], Awaitable[int]]
"""Fills a new log with the records, does the work on them, and gives the number of matches."""


class _Matching:
    """The agent of the benchmark: matches become triggers."""

    def __init__(self, matcher: Matcher, timer: Timer) -> None:
        self._matcher = matcher
        self._timer = timer
        self.matches = 0

    async def assigned(self, partition: int) -> None: ...
    async def revoked(self, partition: int) -> None: ...
    async def delivered(self, batch: Batch) -> None: ...

    async def handle(self, batch: Batch) -> Result:
        self._timer.begin()
        found = self._matcher([value for value in batch.values if value is not None])
        self.matches += len(found)
        return Result([Output(TRIGGERS, b"nora", match) for match in found])


def shell(url: str) -> Carrier:
    """Our worker on that broker."""

    async def carry(records: Sequence[bytes], matcher: Matcher, timer: Timer) -> int:
        prefix = f"b{uuid.uuid4().hex[:10]}"
        await _fill(url, prefix, records)
        handler = _Matching(matcher, timer)
        agent = Agent("evaluate", EVENTS, handler, pipelined=True)
        worker = create_app(url, prefix=prefix, partitions=1, topics=TOPICS, agents=[agent])
        await worker.start()
        await worker.drained()
        timer.end()
        await worker.stop()
        return handler.matches

    return carry


async def _fill(url: str, prefix: str, records: Sequence[bytes]) -> None:
    log = await open_log(url, prefix, 1, topics=TOPICS)
    for start in range(0, len(records), _FILL):
        await log.append([Output(EVENTS, b"nora", value) for value in records[start : start + _FILL]])
    await log.close()


def aiokafka_loop(url: str, address: str) -> Carrier:
    """A careful user's loop: batches of the same size, matches confirmed before the offset is committed."""

    async def carry(records: Sequence[bytes], matcher: Matcher, timer: Timer) -> int:
        prefix = f"b{uuid.uuid4().hex[:10]}"
        await _fill(url, prefix, records)
        consumer = AIOKafkaConsumer(
            f"{prefix}.{EVENTS}",
            bootstrap_servers=address,
            group_id=prefix,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            max_partition_fetch_bytes=8 << 20,
            session_timeout_ms=2_000,
            heartbeat_interval_ms=600,
        )
        producer = AIOKafkaProducer(bootstrap_servers=address, acks="all", linger_ms=5, max_batch_size=1 << 20)
        await consumer.start()
        await producer.start()
        done = matches = 0
        committed_at = time.monotonic()
        while done < len(records):
            for batch in (await consumer.getmany(timeout_ms=1_000, max_records=BATCH)).values():
                timer.begin()
                found = matcher([record.value for record in batch])
                sent = [await producer.send(f"{prefix}.{TRIGGERS}", match, key=b"nora") for match in found]
                await asyncio.gather(*sent)
                done += len(batch)
                matches += len(found)
                if time.monotonic() - committed_at > _COMMIT_S or done == len(records):
                    await consumer.commit()
                    committed_at = time.monotonic()
        timer.end()
        await consumer.stop()
        await producer.stop()
        return matches

    return carry


def sqlite_loop(folder: Path, sync: str) -> Carrier:
    """The least one can do on one machine: read a table, write matches and place in one transaction, no asyncio."""

    async def carry(records: Sequence[bytes], matcher: Matcher, timer: Timer) -> int:
        path = folder / f"{uuid.uuid4().hex}.db"
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            db.execute("PRAGMA journal_mode=WAL")
            db.execute(f"PRAGMA synchronous={sync}")
            db.executescript(
                "CREATE TABLE events(id INTEGER PRIMARY KEY, key BLOB, value BLOB);"
                "CREATE TABLE triggers(id INTEGER PRIMARY KEY, key BLOB, value BLOB);"
                "CREATE TABLE place(id INT)"
            )
            db.execute("BEGIN")
            db.executemany("INSERT INTO events(key, value) VALUES(?, ?)", ((b"nora", value) for value in records))
            db.execute("COMMIT")
            return _read_and_match(db, matcher, timer)

    return carry


def _read_and_match(db: sqlite3.Connection, matcher: Matcher, timer: Timer) -> int:
    place = matches = 0
    query = "SELECT id, key, value FROM events WHERE id > ? ORDER BY id LIMIT ?"
    while rows := db.execute(query, (place, BATCH)).fetchall():
        timer.begin()
        found = matcher([value for _, _, value in rows])
        place = rows[-1][0]
        db.execute("BEGIN")
        db.executemany("INSERT INTO triggers(key, value) VALUES(?, ?)", [(b"nora", match) for match in found])
        db.execute("INSERT INTO place VALUES(?)", (place,))
        db.execute("COMMIT")
        matches += len(found)
    timer.end()
    return matches
