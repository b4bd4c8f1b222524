"""The embedded log's file: units, failures, locks, clean-up, other processes."""

from __future__ import annotations

import asyncio
import multiprocessing
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from schemas.errors import ConfigError
from streams.broker import Broker, parse_broker
from streams.embedded.cleaner import DIRTY, TOMBSTONE_MS, Cleaner
from streams.embedded.file import VERSION, LogFile, connect
from streams.embedded.lock import GroupLock
from streams.embedded.log import EmbeddedLog, open_embedded_log
from streams.embedded.store import open_store
from streams.embedded.writer import Commit, Record, Unit, write
from streams.failure import LogFailed
from streams.topics import TopicSpec
from streams.work import Output

SPECS = (
    TopicSpec("events", "keep"),
    TopicSpec("runs", "compact"),
    TopicSpec("polls", "expire", 60.0),
)
NOW = 10 * TOMBSTONE_MS


@pytest.fixture
def broker(tmp_path: Path) -> Broker:
    return parse_broker(f"embedded://{tmp_path}/log.db?sync=normal", "fw", 1)


async def values(log: EmbeddedLog, topic: str) -> list[bytes | None]:
    return [entry.value for entry in await log.read(topic, 0, 0, 10_000)]


def outputs(topic: str, *pairs: tuple[bytes, bytes | None]) -> list[Output]:
    return [Output(topic, key, value) for key, value in pairs]


# -- units


def test_a_unit_that_fails_half_way_leaves_nothing(tmp_path: Path) -> None:
    file = LogFile(tmp_path / "log.db", "normal")
    file.create_topics([TopicSpec("events", "keep")], 1)
    part = file.part("events", 0)
    db = connect(tmp_path / "log.db", "normal")
    records = [Record(part, 0, b"k", b"v"), Record(part, 0, "no bytes and no text", object())]  # type: ignore[arg-type]
    loop = asyncio.new_event_loop()
    with pytest.raises(sqlite3.Error):
        write(db, [Unit(records, [Commit("g", part, 7)], loop.create_future())])
    file.reload()
    assert (file.read(part, 0, 10), file.heads[part], file.committed("g")) == ([], 0, {})
    loop.close()
    db.close()
    file.close()


def test_after_a_failed_write_nothing_more_is_accepted(broker: Broker) -> None:
    async def scenario() -> None:
        log = await open_embedded_log(broker, SPECS)
        store = open_store(broker)
        heard: list[LogFailed] = []
        store.writer.on_failure.append(heard.append)
        await store.writer.run(lambda db: db.execute("PRAGMA max_page_count=20").fetchall())
        with pytest.raises(LogFailed, match=r"log\.db failed: database or disk is full; free some space"):
            await log.append(outputs("events", (b"k", b"x" * 200_000)))
        with pytest.raises(LogFailed, match="disk is full"):
            await log.append(outputs("events", (b"k", b"small enough")))
        assert len(heard) == 1
        await store.release()
        await log.close()

        log = await open_embedded_log(broker, SPECS)
        assert await values(log, "events") == []
        assert await log.append(outputs("events", (b"k", b"again"))) == [0]
        await log.close()

    asyncio.run(scenario())


def test_work_on_the_writers_thread_that_fails_stops_the_log_too(broker: Broker) -> None:
    async def scenario() -> None:
        log = await open_embedded_log(broker, SPECS)
        store = open_store(broker)
        with pytest.raises(LogFailed, match="no such table: nonsense"):
            await store.writer.run(lambda db: db.execute("DELETE FROM nonsense").fetchall())
        with pytest.raises(LogFailed, match="no such table: nonsense"):
            await log.append(outputs("events", (b"k", b"v")))
        await store.release()
        await log.close()

    asyncio.run(scenario())


def test_a_file_that_may_not_grow_is_a_clear_failure(tmp_path: Path) -> None:
    """The kernel's own refusal, as on a full disk, in a process that has a limit on file sizes."""
    script = f"""
import asyncio, resource, signal
from streams.log import open_log
from streams.work import Output

async def main():
    log = await open_log("embedded://{tmp_path}/log.db", "fw", 1)
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, resource.RLIM_INFINITY))
    for n in range(100):
        await log.append([Output("events", b"k", b"x" * 50_000)])

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
try:
    asyncio.run(main())
except Exception as error:
    print(type(error).__name__, error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.startswith(f"LogFailed the log {tmp_path}/log.db failed: ")
    assert "start again" in done.stdout


# -- opening


@pytest.mark.parametrize(("make", "says"), [("folder", "unable to open"), ("text", "not a database")])
def test_a_path_that_is_no_log_is_refused_by_name(tmp_path: Path, make: str, says: str) -> None:
    path = tmp_path / "log.db"
    if make == "folder":
        path.mkdir()
    else:
        path.write_text("just some notes of mine, longer than a header\n" * 50)
    with pytest.raises(ConfigError) as caught:
        LogFile(path, "full").close()
    assert str(path) in str(caught.value)
    assert says in str(caught.value) or "Is a directory" in str(caught.value)
    assert caught.value.remedy


def test_a_log_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    LogFile(tmp_path / "log.db", "full").close()
    db = sqlite3.connect(tmp_path / "log.db")
    db.execute(f"PRAGMA user_version={VERSION + 1}")
    db.close()
    with pytest.raises(ConfigError, match="newer Forewatch"):
        LogFile(tmp_path / "log.db", "full")


def test_the_file_is_private_to_its_user(tmp_path: Path) -> None:
    LogFile(tmp_path / "log.db", "full").close()
    assert (tmp_path / "log.db").stat().st_mode & 0o077 == 0


def test_the_partition_count_cannot_change(broker: Broker) -> None:
    async def scenario() -> None:
        await (await open_embedded_log(broker, SPECS)).close()
        more = parse_broker(broker.url, "fw", 3)
        with pytest.raises(ConfigError, match=r"has 1 partitions, the settings say 3; set partitions to 1"):
            await open_embedded_log(more, SPECS)

    asyncio.run(scenario())


def test_a_topic_that_is_not_there_is_named(broker: Broker) -> None:
    async def scenario() -> None:
        log = await open_embedded_log(broker, SPECS)
        with pytest.raises(ConfigError, match=r"no partition 0 of topic 'fw\.nonsense'"):
            await log.append([Output("nonsense", b"k", b"v")])
        with pytest.raises(ConfigError, match=r"no partition 4 of topic"):
            await log.read("events", 4, 0, 1)
        await log.close()

    asyncio.run(scenario())


# -- the group's lock


def test_the_lock_names_its_holder_and_dies_with_it(tmp_path: Path) -> None:
    script = (
        "import sys, time; from pathlib import Path; from streams.embedded.lock import GroupLock;"
        f"lock = GroupLock(Path({str(tmp_path / 'log.db')!r}), 'fw'); print('held', flush=True); sys.stdin.read()"
    )
    holder = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    holder.stdout.readline()
    with pytest.raises(ConfigError, match=f"pid {holder.pid}.* already runs 'fw' on {tmp_path}/log.db; stop that one"):
        GroupLock(tmp_path / "log.db", "fw")
    GroupLock(tmp_path / "log.db", "other").release()
    holder.kill()
    holder.communicate()
    GroupLock(tmp_path / "log.db", "fw").release()


def test_a_lock_that_cannot_be_made_is_told_with_its_path(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot make the lock file .*nowhere/log\.db\.fw\.lock: No such file"):
        GroupLock(tmp_path / "nowhere" / "log.db", "fw")


# -- clean-up


def test_compaction_keeps_the_newest_record_of_each_key_and_the_last_of_all(broker: Broker) -> None:
    async def scenario() -> None:
        log = await open_embedded_log(broker, SPECS)
        await log.append(outputs("runs", (b"a", b"1"), (b"b", b"1"), (b"a", b"2"), (b"c", b"1"), (b"a", b"3")))
        store = open_store(broker)
        removed = await Cleaner(store, broker.path, lambda: NOW).clean()
        assert removed == 2
        assert [(e.offset, e.key, e.value) for e in await log.read("runs", 0, 0, 10)] == [
            (1, b"b", b"1"),
            (3, b"c", b"1"),
            (4, b"a", b"3"),
        ]
        assert await log.end("runs", 0) == 5
        await store.release()
        await log.close()

    asyncio.run(scenario())


def test_a_tombstone_goes_a_day_later_unless_it_is_the_last_record(broker: Broker) -> None:
    async def scenario() -> None:
        store = open_store(broker)
        log = await open_embedded_log(broker, SPECS)
        log = EmbeddedLog(broker, store, clock=lambda: NOW)
        await log.append(outputs("runs", (b"a", b"1"), (b"a", None), (b"b", b"1"), (b"b", None)))
        await Cleaner(store, broker.path, lambda: NOW).clean()
        assert await values(log, "runs") == [None, None]
        await log.append(outputs("runs", (b"c", b"1"), (b"c", None)))
        await Cleaner(store, broker.path, lambda: NOW + TOMBSTONE_MS + 1).clean()
        assert [(e.key, e.value) for e in await log.read("runs", 0, 0, 10)] == [(b"c", None)]
        await store.release()
        await log.close()

    asyncio.run(scenario())


def test_retention_deletes_what_is_old_but_never_the_last_record(broker: Broker) -> None:
    async def scenario() -> None:
        await (await open_embedded_log(broker, SPECS)).close()
        store = open_store(broker)
        old = EmbeddedLog(broker, store, clock=lambda: NOW - 61_000)
        young = EmbeddedLog(broker, store, clock=lambda: NOW - 59_000)
        await old.append(outputs("polls", *((b"k", b"%d" % n) for n in range(2_500))))
        await old.append(outputs("events", (b"k", b"kept for ever"), (b"k", b"kept")))
        await young.append(outputs("polls", (b"k", b"young"), (b"k", b"youngest")))
        assert await Cleaner(store, broker.path, lambda: NOW).clean() == 2_500
        assert await values(young, "polls") == [b"young", b"youngest"]
        assert await Cleaner(store, broker.path, lambda: NOW * 2).clean() == 1
        assert await values(young, "polls") == [b"youngest"]
        assert await values(young, "events") == [b"kept for ever", b"kept"]
        await store.release()

    asyncio.run(scenario())


def test_retention_waits_for_the_slowest_group(broker: Broker) -> None:
    async def scenario() -> None:
        log = await open_embedded_log(broker, SPECS)
        store = open_store(broker)
        part = store.file.part("fw.polls", 0)
        await store.writer.submit(
            [Record(part, 0, b"k", b"%d" % n) for n in range(10)],
            [Commit("fw/quick", part, 10), Commit("fw/slow", part, 4)],
        )
        await Cleaner(store, broker.path, lambda: NOW).clean()
        assert await values(log, "polls") == [b"%d" % n for n in range(4, 10)]
        await store.release()
        await log.close()

    asyncio.run(scenario())


def test_enough_new_records_start_a_round_by_themselves(broker: Broker) -> None:
    async def scenario() -> None:
        log = await open_embedded_log(broker, SPECS)
        await log.append(outputs("runs", (b"k", b"0"), (b"k", b"1")))
        store = open_store(broker)
        cleaner = Cleaner(store, broker.path, lambda: NOW)
        cleaner.start()
        await asyncio.wait_for(compacted_to(log, 1), 10)
        await log.append(outputs("runs", *((b"k", b"%d" % n) for n in range(DIRTY))))
        await asyncio.wait_for(compacted_to(log, DIRTY + 1), 10)
        await cleaner.close()
        await store.release()
        await log.close()

    async def compacted_to(log: EmbeddedLog, offset: int) -> None:
        while (await log.read("runs", 0, 0, 1))[0].offset != offset:
            await asyncio.sleep(0.01)

    asyncio.run(scenario())


# -- other processes


def _append(url: str, count: int) -> None:
    async def main() -> None:
        log = await open_embedded_log(parse_broker(url, "fw", 1), SPECS)
        for n in range(count):
            await log.append([Output("events", b"k", b"child %d" % n)])
        await log.close()

    asyncio.run(main())


def test_two_processes_append_at_the_same_time_and_no_offset_is_given_twice(broker: Broker) -> None:
    async def scenario() -> None:
        log = await open_embedded_log(broker, SPECS)
        child = multiprocessing.get_context("spawn").Process(target=_append, args=(broker.url, 200))
        child.start()
        own = []
        while child.is_alive():
            own += await log.append(outputs("events", (b"k", b"parent")))
        child.join()
        assert child.exitcode == 0
        entries = await log.read("events", 0, 0, 100_000)
        assert [entry.offset for entry in entries] == list(range(200 + len(own)))
        assert [entry.offset for entry in entries if entry.value == b"parent"] == own
        children = [entry.value for entry in entries if entry.value != b"parent"]
        assert children == [b"child %d" % n for n in range(200)]
        await log.close()

    asyncio.run(scenario())


def test_large_records_come_in_smaller_reads(broker: Broker) -> None:
    async def scenario() -> None:
        log = await open_embedded_log(broker, SPECS)
        await log.append(outputs("events", *((b"k", b"x" * (2 << 20)) for _ in range(4))))
        assert len(await log.read("events", 0, 0, 100)) == 2
        assert len(await log.read("events", 0, 2, 100)) == 2
        await log.close()

    asyncio.run(scenario())
