"""History: how fast it takes events in, how soon they are visible, and how long people wait for an answer over 1 M."""

from __future__ import annotations

import json
import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import duckdb

from forewatch.storage import manifest, schema, viewfile
from forewatch.storage.history import History, HistoryBatch, Tuning
from forewatch.storage.query import HistoryQuery, Limits
from forewatch.storage.search import search
from schemas.clock import SystemClock
from streams import topics

START = datetime(2023, 1, 1, tzinfo=UTC)
MONTHS = 36
ACCOUNTS = 5

QUERIES = {
    "spend per merchant and month, 12 months": """
        SELECT merchant, date_trunc('month', booked_on) AS month, sum(amount) FROM bank
        WHERE booked_on >= DATE '2025-01-01' GROUP BY ALL ORDER BY 3 LIMIT 100""",
    "mail unanswered for 3 days": """
        SELECT title, sender_address, occurred_at FROM mail m
        WHERE kind = 'mail.received' AND occurred_at BETWEEN TIMESTAMPTZ '2025-12-01' AND TIMESTAMPTZ '2025-12-28'
        AND NOT EXISTS (
            FROM mail a WHERE a.kind = 'mail.sent' AND a.thread = m.thread AND a.occurred_at > m.occurred_at)
        ORDER BY occurred_at DESC LIMIT 100""",
    "meetings that clash": """
        SELECT a.title, b.title FROM calendar a JOIN calendar b
        ON a.starts_at < b.ends_at AND b.starts_at < a.ends_at AND a.id < b.id AND a.starts_on = b.starts_on
        WHERE a.starts_at >= TIMESTAMPTZ '2025-12-01' AND b.starts_at >= TIMESTAMPTZ '2025-12-01' LIMIT 100""",
    "the last 50 events": "SELECT * FROM events ORDER BY occurred_at DESC LIMIT 50",
    "words anywhere (ILIKE)": "SELECT count(*) FROM events WHERE text ILIKE '%w17 w28%'",
    "a field of the payload": "SELECT payload->>'$.folder' AS folder, count(*) FROM events GROUP BY ALL",
}


@dataclass(frozen=True)
class QueryTime:
    """Seconds by the clock, the best of several: with the start of the worker, and DuckDB's part of it."""

    name: str
    answered_s: float
    engine_s: float


def generate(root: Path, events: int) -> None:
    """A history folder with so many events, all of them in Parquet, as compaction would have left it."""
    History.open(root, SystemClock()).close()
    db = duckdb.connect()
    db.execute("SET enable_progress_bar = false")
    db.execute("SET TimeZone = 'UTC'")
    db.execute(f"CREATE TABLE made AS {_made(events)}")
    columns = ", ".join([*schema.PLACE, *schema.EVENTS.columns])
    for folder, lo, hi in db.execute("SELECT folder, min(seq), max(seq) FROM made GROUP BY folder").fetchall():
        part = root / manifest.COLD / folder / f"{lo:012d}-{hi:012d}.parquet"
        part.parent.mkdir(parents=True)
        db.execute(
            f"COPY (SELECT {columns} FROM made WHERE folder = '{folder}' ORDER BY occurred_at, seq) TO '{part}'"
            " (FORMAT parquet, COMPRESSION zstd)"
        )


def _made(events: int) -> str:
    """70 % mail, 15 % bank, 15 % calendar over three years and five accounts; 40 words of text each."""
    step_s = MONTHS * 30.4 * 86_400 / events
    values = {
        "seq": "i",
        "batch": "i",
        "folder": f"'account' || (i % {ACCOUNTS}) || '/' || strftime(moment, '%Y-%m')",
        "id": "md5(CAST(i AS VARCHAR))",
        "owner": "'me'",
        "account": f"'account' || (i % {ACCOUNTS})",
        "source": "CASE WHEN r < 70 THEN 'imap' WHEN r < 85 THEN 'bankfile' ELSE 'ics' END",
        "kind": "CASE WHEN r < 60 THEN 'mail.received' WHEN r < 70 THEN 'mail.sent'"
        " WHEN r < 85 THEN 'bank.posted' ELSE 'calendar.scheduled' END",
        "op": "'upsert'",
        "subject": "'subject-' || i",
        "version": "'1'",
        "occurred_at": "moment",
        "observed_at": "moment",
        "title": "'Subject number ' || (h % 100000)",
        "party_address": "'person' || (h % 500) || '@example.org'",
        "amount": "CASE WHEN r BETWEEN 70 AND 84 THEN CAST(h % 20000 AS DECIMAL(18,4)) / -100 END",
        "currency": "CASE WHEN r BETWEEN 70 AND 84 THEN 'EUR' END",
        "starts_at": "CASE WHEN r >= 85 THEN moment END",
        "ends_at": "CASE WHEN r >= 85 THEN moment + INTERVAL 1 HOUR END",
        "starts_on": "CASE WHEN r >= 85 THEN CAST(moment AS DATE) END",
        "text": "list_reduce([CAST('w' || (hash(i * 64 + k) % 2000) AS VARCHAR) FOR k IN range(40)],"
        " lambda a, b: a || ' ' || b)",
        "trust": "'outside'",
        "thread": "CASE WHEN r < 70 THEN 'thread-' || (h % 200000) END",
        "message_id": "CASE WHEN r < 70 THEN '<' || i || '@example.org>' END",
        "merchant": "CASE WHEN r BETWEEN 70 AND 84 THEN 'merchant ' || (h % 300) END",
        "row_key": "CASE WHEN r BETWEEN 70 AND 84 THEN 'row-' || i END",
        "booked_on": "CASE WHEN r BETWEEN 70 AND 84 THEN CAST(moment AS DATE) END",
        "payload": "CAST({'type': 'mail', 'folder': 'folder ' || (h % 12), 'flags': ['seen']} AS JSON)",
    }
    kinds = {**schema.PLACE, "folder": "VARCHAR", **schema.EVENTS.columns}
    columns = ", ".join(f"CAST({values.get(name, 'NULL')} AS {kind}) AS {name}" for name, kind in kinds.items())
    return f"""
        SELECT {columns} FROM (
            SELECT i, hash(i) % 1000003 AS h, hash(i + 7) % 100 AS r,
                   TIMESTAMPTZ '{START.isoformat()}' + to_microseconds(CAST(i * {step_s} * 1000000 AS BIGINT)) AS moment
            FROM range(1, {events} + 1) AS made(i))
    """


def query_times(root: Path, repeat: int = 3) -> list[QueryTime]:
    """What a person waits for each of ``QUERIES``."""
    query = HistoryQuery(root, "Europe/Berlin", Limits(deadline_s=60.0))
    start_s = min(_timed(lambda: query.page("SELECT 1")) for _ in range(repeat))
    times = []
    for name, sql in QUERIES.items():
        answered_s = min(_timed(partial(query.page, sql)) for _ in range(repeat))
        times.append(QueryTime(name, answered_s, max(0.0, answered_s - start_s)))
    return [QueryTime("nothing (SELECT 1)", start_s, 0.0), *times]


def _timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def events_in_batches(count: int, batch: int) -> Iterator[HistoryBatch]:
    """Batches as the log gives them, with their documents decoded."""
    for first in range(0, count, batch):
        last = min(first + batch, count) - 1
        yield HistoryBatch(topics.EVENTS, 0, first, last, [_event(number) for number in range(first, last + 1)])


def _event(number: int) -> dict[str, Any]:
    at = (START + timedelta(seconds=number * 90)).isoformat()
    return {
        "id": f"event-{number}", "owner": "me", "account": f"account{number % ACCOUNTS}", "source": "imap",
        "kind": "mail.received", "op": "upsert", "subject": f"subject-{number}", "version": "1",
        "occurred_at": at, "observed_at": at, "title": f"Subject number {number}", "trust": "outside",
        "parties": [{"role": "from", "name": "Ann Example", "address": "ann@example.org", "domain": "example.org"}],
        "text": " ".join(f"w{(number * 31 + word * 17) % 2000}" for word in range(40)),
        "payload": {"type": "mail", "message_id": f"<{number}@example.org>", "thread": f"t{number % 999}", "flags": []},
    }  # fmt: skip


def ingest_rate(root: Path, events: int, batch: int) -> float:
    """Events per second by the clock, each batch durable (fsync) and visible before the next."""
    batches = list(events_in_batches(events, batch))
    history = History.open(root, SystemClock())
    try:
        return events / _timed(lambda: [history.ingest(b) for b in batches])
    finally:
        history.close()


def compaction_time(root: Path) -> tuple[int, float]:
    """Rows folded into Parquet by one ``maintain`` and its seconds, search index included."""
    history = History.open(root, SystemClock(), Tuning(segment_age_s=0, settle_s=0, grace_s=0, fold_rows=1 << 40))
    try:
        rows = history.status().hot_rows
        return rows, _timed(history.maintain)
    finally:
        history.close()


def search_time(root: Path, text: str = "w17 w34 subject") -> float:
    return min(_timed(lambda: search(root, text)) for _ in range(5))


def visible_after(root: Path, batches: int = 100) -> tuple[float, float]:
    """Milliseconds (median, 95th percentile) from handing a batch to ``ingest`` until another process sees it in SQL,
    which asks again and again through ``history.duckdb``."""
    history = History.open(root, SystemClock())
    history.maintain()
    history.close()
    handed = multiprocessing.get_context("spawn").Process(target=_hand_over, args=(root, batches))
    handed.start()
    delays = []
    with duckdb.connect(str(root / viewfile.NAME), read_only=True) as db:
        seen = -1
        while seen < batches - 1:
            found = db.execute(
                "SELECT text FROM events WHERE kind = 'clock.tick' ORDER BY seq DESC LIMIT 20"
            ).fetchall()
            now = time.time()
            ticks = [json.loads(text) for (text,) in found]
            delays += [now - at for number, at in ticks if number > seen]
            seen = max([seen, *(number for number, _ in ticks)])
    handed.join()
    delays.sort()
    return 1000 * statistics.median(delays), 1000 * delays[int(len(delays) * 0.95)]


def _hand_over(root: Path, batches: int) -> None:
    history = History.open(root, SystemClock())
    for number in range(batches):
        time.sleep(0.05)
        tick = _event(number) | {
            "id": f"tick-{number}",
            "kind": "clock.tick",
            "text": json.dumps([number, time.time()]),
        }
        history.ingest(HistoryBatch(topics.EVENTS, 1, number, number, [tick]))
    history.close()


def main(events: int = 1_000_000) -> None:
    with tempfile.TemporaryDirectory() as folder:
        _writing(Path(folder))
        _asking(Path(folder) / "large", events)


def _writing(folder: Path) -> None:
    for batch, count in ((10, 5_000), (100, 20_000), (1_000, 50_000)):
        rate = ingest_rate(folder / f"by-{batch}", count, batch)
        print(f"ingest in batches of {batch:<6,} {rate:10,.0f} events/s   (each batch durable and visible)")
    rows, seconds = compaction_time(folder / "by-1000")
    print(f"fold {rows:,} rows, and index them  {seconds:6.2f} s")
    print(f"full-text search {1000 * search_time(folder / 'by-1000'):20.1f} ms")
    half, most = visible_after(folder / "visible")
    print(f"handed in until seen {half:16.1f} ms   (95 %: {most:.1f} ms, by another process)")


def _asking(root: Path, events: int) -> None:
    generate(root, events)
    print(f"queries over {events:,} events, the start of their process included:")
    for found in query_times(root):
        print(f"  {found.name:<42} {found.answered_s:6.2f} s   (DuckDB {found.engine_s:.2f} s)")
