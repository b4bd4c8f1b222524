"""What a Log promises, on every one that there is."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from schemas.errors import ConfigError
from streams.failure import LogFailed
from streams.log import open_log
from streams.testing import MemoryLog
from streams.topics import EVENTS, RECORDS
from streams.work import Entry, Log, Output
from tests.peers.brokers import Peer

Open = Callable[[], Awaitable[Log]]
PARTITIONS = 3


@pytest.fixture(
    params=[
        "memory",
        "embedded",
        pytest.param("tansu", marks=pytest.mark.tansu),
        pytest.param("kafka", marks=pytest.mark.kafka),
    ]
)
def log_of(request: pytest.FixtureRequest) -> Open:
    """Opens the log; on a broker, each call opens it anew."""
    if request.param == "memory":
        memory = MemoryLog(PARTITIONS)

        async def same() -> Log:
            return memory

        return same
    peer: Peer = request.getfixturevalue(request.param)
    return Peer(peer.kind, peer.url, peer.prefix, PARTITIONS).log


def run(log_of: Open, scenario: Callable[[Log], Awaitable[None]]) -> None:
    async def main() -> None:
        log = await log_of()
        try:
            await scenario(log)
        finally:
            await log.close()

    asyncio.run(main())


async def all_of(log: Log, topic: str, partition: int, *, limit: int = 1_000) -> list[Entry]:
    entries: list[Entry] = []
    while more := await log.read(topic, partition, entries[-1].offset + 1 if entries else 0, limit):
        entries += more
    return entries


def test_what_was_appended_is_read_in_order_with_its_offsets(log_of: Open) -> None:
    async def scenario(log: Log) -> None:
        outputs = [Output(EVENTS, b"key", b"%d" % n, partition=1) for n in range(50)]
        assert await log.append(outputs[:20]) == list(range(20))
        assert await log.append(outputs[20:]) == list(range(20, 50))
        entries = await all_of(log, EVENTS, 1, limit=7)
        assert [entry.offset for entry in entries] == list(range(50))
        assert [entry.value for entry in entries] == [b"%d" % n for n in range(50)]
        assert {(entry.topic, entry.partition, entry.key) for entry in entries} == {(EVENTS, 1, b"key")}

    run(log_of, scenario)


def test_offsets_come_back_in_the_order_of_the_outputs_whatever_their_partitions(log_of: Open) -> None:
    async def scenario(log: Log) -> None:
        outputs = [Output(EVENTS if n % 2 else RECORDS, b"%d" % n, b"%d" % n, partition=n % 3) for n in range(30)]
        offsets = await log.append(outputs)
        for output, offset in zip(outputs, offsets, strict=True):
            (entry,) = await log.read(output.topic, output.partition or 0, offset, 1)
            assert entry.value == output.value

    run(log_of, scenario)


def test_a_key_decides_the_partition_and_keeps_to_it(log_of: Open) -> None:
    async def scenario(log: Log) -> None:
        await log.append([Output(EVENTS, b"user-%d" % (n % 9), b"%d" % n) for n in range(90)])
        partitions = [await all_of(log, EVENTS, partition) for partition in range(PARTITIONS)]
        keys = [{entry.key for entry in entries} for entries in partitions]
        assert sum(len(entries) for entries in partitions) == 90
        assert all(keys)
        assert sum(len(some) for some in keys) == len(set().union(*keys)) == 9

    run(log_of, scenario)


def test_the_end_is_the_next_offset(log_of: Open) -> None:
    async def scenario(log: Log) -> None:
        assert await log.end(EVENTS, 0) == 0
        await log.append([Output(EVENTS, b"k", b"v", partition=0)] * 5)
        assert await log.end(EVENTS, 0) == 5
        assert await log.read(EVENTS, 0, 5, 10) == []
        assert await log.read(EVENTS, 0, 99, 10) == []
        assert await log.end(EVENTS, 1) == 0

    run(log_of, scenario)


def test_keys_and_values_are_any_bytes_or_none(log_of: Open) -> None:
    async def scenario(log: Log) -> None:
        pairs = [(b"", b""), (bytes(range(256)), b"\x00"), (b"k", None), (None, b"v"), ("ключ".encode(), b"\xff" * 9)]
        await log.append([Output(EVENTS, key, value, partition=2) for key, value in pairs])
        assert [(entry.key, entry.value) for entry in await all_of(log, EVENTS, 2)] == pairs

    run(log_of, scenario)


def test_a_record_of_several_megabytes_comes_through(log_of: Open) -> None:
    async def scenario(log: Log) -> None:
        large = b"mail" * (3 << 18)
        await log.append([Output(RECORDS, b"k", large, partition=0), Output(RECORDS, b"k", b"small", partition=0)])
        assert [entry.value for entry in await all_of(log, RECORDS, 0)] == [large, b"small"]

    run(log_of, scenario)


def test_appends_at_the_same_time_keep_the_order_of_each_caller(log_of: Open) -> None:
    async def scenario(log: Log) -> None:
        async def caller(name: bytes) -> None:
            for n in range(20):
                await log.append([Output(EVENTS, b"k", b"%s %d" % (name, n), partition=0)])

        await asyncio.gather(*(caller(b"%d" % n) for n in range(5)))
        values = [entry.value for entry in await all_of(log, EVENTS, 0)]
        for name in range(5):
            mine = [value for value in values if value and value.startswith(b"%d " % name)]
            assert mine == [b"%d %d" % (name, n) for n in range(20)]

    run(log_of, scenario)


def test_nothing_to_append_is_no_error(log_of: Open) -> None:
    async def scenario(log: Log) -> None:
        assert await log.append([]) == []

    run(log_of, scenario)


def test_what_rests_on_other_records_is_appended_after_them(log_of: Open) -> None:
    async def scenario(log: Log) -> None:
        first = [Output(RECORDS, b"k", b"%d" % n, partition=0) for n in range(3)]
        rests = [Output(EVENTS, b"k", b"rests", partition=0), Output(RECORDS, b"k", b"rests", partition=0)]
        assert await log.append(first, then=rests) == [0, 1, 2, 0, 3]
        assert [entry.value for entry in await all_of(log, RECORDS, 0)] == [b"0", b"1", b"2", b"rests"]
        assert [entry.value for entry in await all_of(log, EVENTS, 0)] == [b"rests"]

    run(log_of, scenario)


def test_an_unknown_topic_or_partition_is_refused(log_of: Open) -> None:
    async def scenario(log: Log) -> None:
        assert log.partitions(EVENTS) == PARTITIONS
        assert log.partitions("nonsense") == 0
        with pytest.raises(ConfigError, match="nonsense"):
            await log.append([Output("nonsense", b"k", b"v")])
        with pytest.raises(ConfigError, match="no partition 7"):
            await log.read(EVENTS, 7, 0, 1)
        with pytest.raises(ConfigError, match="no partition 7"):
            await log.end(EVENTS, 7)

    run(log_of, scenario)


def test_a_log_that_is_opened_again_has_everything(log_of: Open) -> None:
    async def scenario() -> None:
        first = await log_of()
        await first.append([Output(EVENTS, b"k", b"%d" % n, partition=0) for n in range(3)])
        await first.close()
        second = await log_of()
        assert await second.append([Output(EVENTS, b"k", b"3", partition=0)]) == [3]
        assert [entry.value for entry in await all_of(second, EVENTS, 0)] == [b"0", b"1", b"2", b"3"]
        await second.close()

    asyncio.run(scenario())


def test_two_open_logs_see_each_others_records(log_of: Open) -> None:
    async def scenario() -> None:
        one, other = await log_of(), await log_of()
        await one.append([Output(EVENTS, b"k", b"from one", partition=0)])
        await other.append([Output(EVENTS, b"k", b"from other", partition=0)])
        expected = [b"from one", b"from other"]
        assert [entry.value for entry in await all_of(one, EVENTS, 0)] == expected
        assert [entry.value for entry in await all_of(other, EVENTS, 0)] == expected
        await one.close()
        await other.close()

    asyncio.run(scenario())


def test_a_closed_log_says_so(peer: Peer) -> None:
    async def scenario() -> None:
        log, other = await peer.log(), await peer.log()
        await log.close()
        await log.close()
        with pytest.raises(LogFailed, match="was closed"):
            await log.append([Output(EVENTS, b"k", b"v")])
        with pytest.raises(LogFailed, match="was closed"):
            await log.read(EVENTS, 0, 0, 1)
        with pytest.raises(LogFailed, match="was closed"):
            await log.end(EVENTS, 0)
        assert await other.append([Output(EVENTS, b"k", b"v")]) == [0]
        await other.close()

    asyncio.run(scenario())


@pytest.mark.tansu
def test_tansu_tells_too_low_an_end_to_those_who_did_not_write(tansu: Peer) -> None:
    """A fault of Tansu 0.6, written down: ListOffsets gives the base offset of the last batch, plus one.

    ``read`` goes by the fetch's own end and gets everything. Should this test fail, Tansu was mended.
    """

    async def scenario() -> None:
        writer, other = await tansu.log(), await tansu.log()
        await writer.append([Output(EVENTS, b"k", b"%d" % n) for n in range(5)])
        assert await writer.end(EVENTS, 0) == 5
        assert await other.end(EVENTS, 0) == 1
        assert len(await all_of(other, EVENTS, 0)) == 5
        await writer.close()
        await other.close()

    asyncio.run(scenario())


@pytest.mark.tansu
def test_tansu_has_no_idempotent_producer_and_the_message_says_what_to_do(tansu: Peer) -> None:
    async def scenario() -> None:
        with pytest.raises(LogFailed, match=r"Tansu.*idempotence=off"):
            await open_log(tansu.url.replace("idempotence=off&", ""), tansu.prefix, 1)

    asyncio.run(scenario())
