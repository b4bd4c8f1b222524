"""Rewriting a log on Kafka: what stays keeps its place, nothing else is left, wherever it is killed on the way."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin.records_to_delete import RecordsToDelete

from schemas.errors import ConfigError
from streams import topics
from streams.broker import Broker, parse_broker
from streams.kafka import admin, copying, groups, rewrite
from streams.kafka.admin import admin_client, ensure_topics, own_configs
from streams.kafka.log import open_kafka_log
from streams.rewriting import Rewriter, Written, reopen, rewriter, rewritten_for
from tests.peers.brokers import own_prefix
from tests.peers.kafka_records import Record, records

pytestmark = pytest.mark.kafka
PARTITIONS = 2
GONE = b"MARKER"


@pytest.fixture
def broker(kafka_server: str) -> Iterator[Broker]:
    with own_prefix(kafka_server) as prefix:
        yield parse_broker(f"kafka://{kafka_server}", prefix, PARTITIONS)


@pytest.fixture(autouse=True)
def _nobody_is_waited_for() -> Iterator[None]:
    async def others_end() -> None:
        """There are none, or the test says when."""

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(rewrite, "others_end", others_end)
        yield


def verdict(record: Written) -> bytes | None:
    """What speaks of the marker goes, and in the journal becomes a word."""
    if record.value is not None and GONE in record.value:
        return b"erased" if record.topic == topics.JOURNAL else None
    return record.value


async def filled(broker: Broker) -> None:
    """Every third record is the marker's; a part of the records has expired; the group has come to different places."""
    await ensure_topics(broker, topics.SPECS)
    producer = AIOKafkaProducer(bootstrap_servers=list(broker.servers), max_batch_size=1 << 20)
    await producer.start()
    try:
        sent = []
        for spec in topics.SPECS:
            for number in range(24):
                value = b"%b-%d" % (GONE if number % 3 == 0 else b"kept", number)
                headers = [("n", str(number).encode())] if number % 2 else []
                sent.append(
                    await producer.send(
                        broker.topic(spec.name), value, b"key-%d" % (number % 5), number % PARTITIONS,
                        timestamp_ms=NOW_MS + number, headers=headers,
                    )
                )  # fmt: skip
        await asyncio.gather(*sent)
    finally:
        await producer.stop()
    async with admin_client(broker) as client:
        await client.delete_records({TopicPartition(broker.topic(topics.RECORDS), 1): RecordsToDelete(5)})
        assert await groups.commit(broker, client, places(broker))


NOW_MS = 1_790_000_000_000


def places(broker: Broker) -> list[groups.Committed]:
    return [
        groups.Committed(broker.prefix, broker.topic(topics.EVENTS), 0, 7),
        groups.Committed(broker.prefix, broker.topic(topics.EVENTS), 1, 12),
        groups.Committed(broker.prefix, broker.topic(topics.RECORDS), 1, 9),
    ]


def expected(before: Sequence[Record]) -> list[Record]:
    """Kept topics: the same offsets. Compacted ones: the newest of each key, from 0 on."""
    compacted = {spec.name for spec in topics.SPECS if spec.cleanup == "compact"}
    found = []
    for record in before:
        if record.topic in compacted:
            continue
        value = verdict(Written(record.offset, record.topic, record.key, record.value))
        found.append(record._replace(value=value) if value else record._replace(key=None, value=None, headers=()))
    for name in compacted:
        for partition in range(PARTITIONS):
            newest = {r.key: r for r in before if (r.topic, r.partition) == (name, partition)}
            staying = [r for r in sorted(newest.values(), key=lambda r: r.offset) if r.value and GONE not in r.value]
            found += [record._replace(offset=offset) for offset, record in enumerate(staying)]
    return sorted(found, key=lambda record: record[:3])


EVERY = tuple(spec.name for spec in topics.SPECS)


def rewritten(broker: Broker, names: Sequence[str] = EVERY) -> None:
    with rewriter(broker, "mail") as found:
        found.rewrite(names, verdict)


async def offsets(broker: Broker) -> list[groups.Committed]:
    async with admin_client(broker) as client:
        return await groups.committed_offsets(client, {broker.topic(spec.name) for spec in topics.SPECS})


async def configs(broker: Broker) -> dict[str, dict[str, str]]:
    async with admin_client(broker) as client:
        return {spec.name: await own_configs(client, broker.topic(spec.name)) for spec in topics.SPECS}


def test_what_stays_keeps_its_offset_key_headers_and_time(broker: Broker) -> None:
    asyncio.run(filled(broker))
    before, settings = asyncio.run(records(broker)), asyncio.run(configs(broker))
    rewritten(broker)
    reopen(broker)
    after = asyncio.run(records(broker))
    assert after == expected(before)
    assert len(after) > 100
    assert not [record for record in after if GONE in (record.value or b"")]
    assert asyncio.run(offsets(broker)) == sorted(places(broker))
    assert asyncio.run(configs(broker)) == settings


def test_a_reader_passes_over_what_went(broker: Broker) -> None:
    async def read() -> list[tuple[int, bytes | None]]:
        log = await open_kafka_log(broker, topics.SPECS)
        try:
            found, at = [], 0
            while entries := await log.read(topics.EVENTS, 0, at, 2):
                found += [(entry.offset, entry.value) for entry in entries]
                at = entries[-1].offset + 1
            return found
        finally:
            await log.close()

    asyncio.run(filled(broker))
    before = asyncio.run(read())
    rewritten(broker)
    reopen(broker)
    assert asyncio.run(read()) == [(offset, value) for offset, value in before if GONE not in (value or b"")]


def test_a_log_that_is_being_rewritten_is_open_to_nobody_else(broker: Broker) -> None:
    asyncio.run(filled(broker))
    rewritten(broker)
    assert rewritten_for(broker) == "mail"
    with pytest.raises(ConfigError, match="half rewritten") as caught:
        asyncio.run(open_kafka_log(broker, topics.SPECS))
    assert "--erase" in caught.value.remedy
    with pytest.raises(ConfigError, match="'mail' was begun"), rewriter(broker, "bank"):
        pass
    reopen(broker)
    assert rewritten_for(broker) == ""
    asyncio.run(_opened(broker))


@pytest.mark.parametrize(
    ("target", "command"), [("event:4711", "events erase 4711"), ("memory:4712", "memory forget 4712 --erase")]
)
def test_what_was_begun_for_an_event_or_a_note_says_how_to_end_it(broker: Broker, target: str, command: str) -> None:
    asyncio.run(filled(broker))
    with rewriter(broker, target) as found:
        found.rewrite([topics.DEAD], verdict)
    with pytest.raises(ConfigError, match=f"'{target}' was begun") as caught, rewriter(broker, "mail"):
        pass
    assert f"'forewatch {command}'" in caught.value.remedy


@pytest.mark.parametrize("is_staged", [False, True])
def test_of_two_that_erase_at_once_the_older_one_stops_before_its_next_step(
    broker: Broker, monkeypatch: pytest.MonkeyPatch, is_staged: bool
) -> None:
    asyncio.run(filled(broker))
    before = asyncio.run(records(broker))
    with rewriter(broker, "mail") as older:
        if is_staged:
            stage(older, monkeypatch)
        with rewriter(broker, "mail") as younger:
            assert younger.is_decided is is_staged
            with pytest.raises(ConfigError, match="another process goes on"):
                older.rewrite(EVERY, verdict)
            younger.rewrite(EVERY, verdict)
    reopen(broker)
    assert asyncio.run(records(broker)) == expected(before)


def test_a_step_that_the_older_one_was_at_does_no_harm(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    """It had looked whose turn it was before the mark was made: it ends that step while the younger one waits."""
    asyncio.run(filled(broker))
    before = asyncio.run(records(broker))
    looks = []
    with rewriter(broker, "mail") as older, monkeypatch.context() as patched:
        stage(older, monkeypatch, "_replace_one")
        real = rewrite.KafkaRewriter._is_mine

        async def is_mine(self: rewrite.KafkaRewriter) -> None:
            looks.append(self is older)
            if self is not older or looks.count(True) > 1:
                await real(self)

        async def meanwhile() -> None:
            with pytest.raises(ConfigError, match="another process goes on"):
                await asyncio.to_thread(older.rewrite, EVERY, verdict)

        patched.setattr(rewrite.KafkaRewriter, "_is_mine", is_mine)
        patched.setattr(rewrite, "others_end", meanwhile)
        rewritten(broker)
    reopen(broker)
    assert looks.count(True) == 2, "it made its first topic anew, and no other"
    assert asyncio.run(records(broker)) == expected(before)


def stage(found: Rewriter, monkeypatch: pytest.MonkeyPatch, dies_before: str = "_replace") -> None:
    """Everything is copied, and nothing deleted yet."""

    async def dies(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(rewrite.KafkaRewriter, dies_before, dies)
        with pytest.raises(Killed):
            found.rewrite(EVERY, verdict)


async def _opened(broker: Broker) -> None:
    await (await open_kafka_log(broker, topics.SPECS)).close()


def test_a_group_at_work_is_not_pulled_its_topics_from_under_its_feet(broker: Broker) -> None:
    async def scenario() -> None:
        consumer = AIOKafkaConsumer(
            broker.topic(topics.EVENTS), bootstrap_servers=list(broker.servers), group_id=broker.prefix
        )
        await consumer.start()
        try:
            await consumer.getmany(timeout_ms=2_000)
            with pytest.raises(ConfigError, match="is at work"):
                await asyncio.to_thread(rewritten, broker)
        finally:
            await consumer.stop()

    asyncio.run(filled(broker))
    before = asyncio.run(records(broker))
    asyncio.run(scenario())
    assert asyncio.run(records(broker)) == before


def test_what_was_written_while_it_was_copied_is_not_lost(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    """By somebody who had opened the log before."""
    asyncio.run(filled(broker))
    real = rewrite.KafkaRewriter._nothing_was_added

    async def late(self: rewrite.KafkaRewriter) -> None:
        producer = AIOKafkaProducer(bootstrap_servers=list(broker.servers))
        await producer.start()
        await producer.send_and_wait(broker.topic(topics.COMMANDS), b"late", b"key", 0)
        await producer.stop()
        await real(self)

    monkeypatch.setattr(rewrite.KafkaRewriter, "_nothing_was_added", late)
    with pytest.raises(ConfigError, match="meanwhile"):
        rewritten(broker)
    monkeypatch.undo()
    rewritten(broker)
    reopen(broker)
    assert [record for record in asyncio.run(records(broker)) if record.value == b"late"]


class Killed(BaseException):
    """Nothing catches it, as nothing catches SIGKILL."""


class Steps:
    """Everything that a rewriting does to the broker, in order; the one at ``fatal`` is not done any more, or is the
    last one that is done."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.done = 0
        self.fatal = -1
        self.is_done_first = False
        for owner, name in (
            (rewrite, "create_topics"),
            (rewrite, "delete_topics"),
            (rewrite, "commit"),
            (copying.Copying, "write"),
            (admin.AIOKafkaAdminClient, "delete_records"),
        ):
            monkeypatch.setattr(owner, name, self._mortal(getattr(owner, name)))

    def _mortal(self, real: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def step(*arguments: Any, **named: Any) -> Any:
            is_last = self.done == self.fatal
            self.done += 1
            if is_last and not self.is_done_first:
                raise Killed
            result = await real(*arguments, **named)
            if is_last:
                raise Killed
            return result

        return step


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> Iterator[Steps]:
    yield Steps(monkeypatch)
    monkeypatch.undo()


@pytest.mark.kill
@pytest.mark.parametrize("is_done_first", [False, True])
def test_killed_at_one_step_after_the_other_it_ends_the_same(broker: Broker, steps: Steps, is_done_first: bool) -> None:
    """Each attempt gets further into what the one before left, by one step more than that."""
    names = (topics.RECORDS, topics.EVENTS, topics.CURSORS)
    asyncio.run(filled(broker))
    before = asyncio.run(records(broker))
    steps.is_done_first = is_done_first
    deaths = 0
    while True:
        steps.done, steps.fatal = 0, deaths
        try:
            rewritten(broker, names)
        except Killed:
            deaths += 1
            continue
        break
    assert deaths > 5
    reopen(broker)
    untouched = [record for record in before if record.topic not in names]
    remade = [record for record in before if record.topic in names]
    assert asyncio.run(records(broker)) == sorted([*untouched, *expected(remade)], key=lambda record: record[:3])
    assert asyncio.run(offsets(broker)) == sorted(places(broker))
