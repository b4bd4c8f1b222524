"""Rewriting the topics of a group that nobody is in: Kafka takes nothing out of a topic, so each is made anew.

What stays is copied into a staging topic beside each. From then on these are the truth, until every topic was deleted,
created again and filled from its own (docs/decisions/0018). A topic of its own, ``rewriting``, says how far that is:
while it is there nobody else can open the log, and the same rewriting, begun again, goes on from there.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Iterable, Iterator, Sequence
from typing import Any, Literal, TypeVar

from aiokafka import TopicPartition
from aiokafka.admin.records_to_delete import RecordsToDelete
from aiokafka.errors import TopicAlreadyExistsError

from schemas.errors import ConfigError
from schemas.model import Model
from streams.broker import Broker
from streams.codec import decode, encode
from streams.failure import LogFailed
from streams.kafka.admin import (
    REWRITING,
    admin_client,
    create_topics,
    delete_topics,
    new_topic,
    own_configs,
    partition_counts,
    replicas,
)
from streams.kafka.copying import Row, copying, empty_rows
from streams.kafka.failure import told
from streams.kafka.groups import Committed, busy, commit, committed_offsets
from streams.rewriting import Verdict, Written, command_of
from streams.topics import SPECS

_KEPT_FOR_EVER = {"cleanup.policy": "delete", "retention.ms": "-1"}
_COMPACTED = frozenset(spec.name for spec in SPECS if spec.cleanup == "compact")
"""Where only the newest record of each key counts, and no offset."""
_PAGE = 1000
_TAKEOVER_S = 3.0
"""Longer than any one request of another process can be under way that has looked whose turn it is."""

T = TypeVar("T")


class Remade(Model):
    """A topic, by its bare name: how it is created again, the first offset of each partition and the one after its
    last. ``seen``: where the topic ended when it was copied."""

    name: str
    partitions: int
    replicas: int
    configs: dict[str, str]
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    seen: tuple[int, ...]


class Plan(Model):
    """How far a rewriting is. ``by``: the process that wrote it; of two, the one that came later goes on. ``account``:
    for whose sake, also where that is an event or a note."""

    account: str
    by: str
    step: Literal["begun", "staged", "replacing"] = "begun"
    topics: tuple[Remade, ...] = ()
    replaced: tuple[str, ...] = ()
    offsets: tuple[Committed, ...] = ()


class KafkaRewriter:
    """A ``streams.rewriting.Rewriter``."""

    def __init__(self, broker: Broker, account: str) -> None:
        self._broker = broker
        self._plan = Plan(account=account, by=uuid.uuid4().hex)

    @property
    def is_decided(self) -> bool:
        return self._plan.step != "begun"

    def __enter__(self) -> KafkaRewriter:
        self._runner = asyncio.Runner()
        try:
            self._run(self._begin())
        except BaseException:
            self._runner.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._runner.close()

    def read(self, topic: str) -> Iterator[Written]:
        pages = self._pages(topic)
        try:
            while page := self._runner.run(_next(pages)):
                yield from page
        finally:
            self._runner.run(pages.aclose())

    def rewrite(self, names: Iterable[str], verdict: Verdict) -> None:
        if not self.is_decided:
            self._run(self._stage(list(names), verdict))
        self._run(self._replace())

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        async def go() -> T:
            with told(self._broker):
                async with admin_client(self._broker) as self._admin:
                    return await work

        return self._runner.run(go())

    # -- how far it is

    async def _begin(self) -> None:
        await self._nobody_is_in()
        if await self._is_first():
            await self._mark()
        else:
            await self._take_over()

    async def _is_first(self) -> bool:
        """The broker makes the topic for one process alone."""
        name = self._broker.topic(REWRITING)
        if name in await partition_counts(self._admin):
            return False
        count = len((await self._admin.describe_cluster())["brokers"])
        try:
            await create_topics(self._admin, [new_topic(name, 1, min(3, count), _KEPT_FOR_EVER)], may_exist=False)
        except TopicAlreadyExistsError as error:
            raise ConfigError("another process begins an erasure just now", remedy="let it end") from error
        return True

    async def _take_over(self) -> None:
        """From a process that died, or that did not: it sees the mark before its next step. What it had under way when
        the mark was made has ended after the wait, and then counts."""
        self._go_on_from(await self._marks())
        await self._mark()
        await others_end()
        await self._is_mine()
        self._go_on_from([mark for mark in await self._marks() if mark.by != self._plan.by])
        await self._mark()

    def _go_on_from(self, marks: Sequence[Plan]) -> None:
        if not marks:
            return
        if (target := marks[-1].account) != self._plan.account:
            raise ConfigError(
                f"the erasure of {target!r} was begun on {self._broker.url} and has not ended",
                remedy=f"run '{command_of(target)}' first",
            )
        self._plan = marks[-1].model_copy(update={"by": self._plan.by})

    async def _marks(self) -> list[Plan]:
        return await _marks_on(self._broker, self._admin)

    async def _save(self, **changes: Any) -> None:
        await self._is_mine()
        self._plan = Plan.model_validate({**self._plan.model_dump(), **changes})
        await self._mark()

    async def _mark(self) -> None:
        async def record() -> AsyncIterator[Row]:
            yield Row(0, value=encode(self._plan))

        async with copying(self._broker) as copier:
            await copier.write(self._broker.topic(REWRITING), 0, record())

    async def _is_mine(self) -> None:
        """Asked before anything is deleted, and before the mark is made anew."""
        marks = await self._marks()
        if not marks or marks[-1].by != self._plan.by:
            raise _taken()

    async def _nobody_is_in(self) -> None:
        ours = {self._broker.topic(spec.name) for spec in SPECS}
        groups = {each.group for each in await committed_offsets(self._admin, ours)} | {self._broker.prefix}
        if group := await busy(self._admin, groups):
            raise ConfigError(
                f"group {group!r} is at work on the log {self._broker.url}",
                remedy="stop every service that runs on it; one that was killed is missed after session_timeout_s",
            )

    # -- deciding what stays

    async def _pages(self, name: str) -> AsyncGenerator[list[Written], None]:
        topic = self._broker.topic(name)
        page = []
        with told(self._broker):
            async with copying(self._broker) as copier:
                _, ends = await copier.bounds(topic, self._broker.partitions)
                for partition, end in enumerate(ends):
                    async for row in copier.rows(topic, partition, end):
                        page.append(Written(row.offset, name, row.key, row.value))
                        if len(page) == _PAGE:
                            yield page
                            page = []
        if page:
            yield page

    async def _stage(self, names: list[str], verdict: Verdict) -> None:
        there = await partition_counts(self._admin)
        here = [name for name in names if self._broker.topic(name) in there]
        await self._is_mine()
        await delete_topics(self._admin, [self._staging(name) for name in here])
        topics = [await self._stage_one(name, verdict) for name in here]
        await self._nobody_is_in()
        offsets = await committed_offsets(self._admin, {self._broker.topic(name) for name in here})
        await self._save(step="staged", topics=topics, offsets=offsets)

    async def _stage_one(self, name: str, verdict: Verdict) -> Remade:
        topic, staging = self._broker.topic(name), self._staging(name)
        configs = await own_configs(self._admin, topic)
        kept = {key: value for key, value in configs.items() if key == "max.message.bytes"}
        count, copies = self._broker.partitions, await replicas(self._admin, topic)
        await create_topics(self._admin, [new_topic(staging, count, copies, {**kept, **_KEPT_FOR_EVER})])
        async with copying(self._broker) as source, copying(self._broker) as target:
            starts, seen = await source.bounds(topic, count)
            for partition in range(count):
                rows = source.rows(topic, partition, seen[partition])
                staying = (
                    _newest(name, rows, verdict)
                    if name in _COMPACTED
                    else _in_place(name, rows, verdict, starts[partition], seen[partition])
                )
                await target.write(staging, partition, staying)
            _, staged = await target.bounds(staging, count)
        if name in _COMPACTED:
            starts = (0,) * count
        ends = tuple(start + length for start, length in zip(starts, staged, strict=True))
        if name not in _COMPACTED and ends != seen:
            raise LogFailed(f"the copy of {topic} on {self._broker.url} is not whole", remedy="begin again")
        return Remade(
            name=name, partitions=count, replicas=copies, configs=configs, starts=starts, ends=ends, seen=seen
        )

    def _staging(self, name: str) -> str:
        return self._broker.topic(f"{REWRITING}.{name}")

    # -- making anew

    async def _replace(self) -> None:
        if self._plan.step == "staged":
            await self._nothing_was_added()
            await self._save(step="replacing")
        for topic in self._plan.topics:
            if topic.name not in self._plan.replaced:
                await self._replace_one(topic)
                await self._save(replaced=(*self._plan.replaced, topic.name))
        if not await commit(self._broker, self._admin, self._plan.offsets):
            raise LogFailed(f"the broker of {self._broker.url} does not keep the group's offsets", remedy="begin again")
        await self._is_mine()
        await delete_topics(self._admin, [self._staging(topic.name) for topic in self._plan.topics])

    async def _nothing_was_added(self) -> None:
        """By a command that had opened the log before. What was staged is staged again by the next attempt."""
        async with copying(self._broker) as copier:
            for topic in self._plan.topics:
                _, ends = await copier.bounds(self._broker.topic(topic.name), topic.partitions)
                if ends != topic.seen:
                    await self._save(step="begun", topics=(), offsets=())
                    raise ConfigError("something was written to the log meanwhile", remedy="run the command again")

    async def _replace_one(self, topic: Remade) -> None:
        name, staging = self._broker.topic(topic.name), self._staging(topic.name)
        await self._is_mine()
        await delete_topics(self._admin, [name])
        made = new_topic(name, topic.partitions, topic.replicas, topic.configs)
        await create_topics(self._admin, [made], may_exist=False)
        async with copying(self._broker) as source, copying(self._broker) as target:
            for partition, (start, end) in enumerate(zip(topic.starts, topic.ends, strict=True)):
                await target.write(name, partition, empty_rows(start, 0))
                await target.write(name, partition, source.rows(staging, partition, end - start))
            _, ends = await target.bounds(name, topic.partitions)
        if ends != topic.ends:
            raise LogFailed(f"topic {name} on {self._broker.url} was written to meanwhile", remedy="begin again")
        if trimmed := {TopicPartition(name, n): RecordsToDelete(at) for n, at in enumerate(topic.starts) if at}:
            await self._admin.delete_records(trimmed)


async def _next(pages: AsyncGenerator[list[Written], None]) -> list[Written]:
    return await anext(pages, [])


async def _in_place(name: str, rows: AsyncIterator[Row], verdict: Verdict, start: int, end: int) -> AsyncIterator[Row]:
    """One record for each offset from ``start`` on: an empty one where it goes, or where there was none."""
    at, timestamp_ms = start, 0
    async for row in rows:
        async for hole in empty_rows(row.offset - at, row.timestamp_ms):
            yield hole
        value = verdict(Written(row.offset, name, row.key, row.value)) if row.value is not None else None
        yield Row(row.timestamp_ms) if value is None else row._replace(value=value)
        at, timestamp_ms = row.offset + 1, row.timestamp_ms
    async for hole in empty_rows(end - at, timestamp_ms):
        yield hole


async def _newest(name: str, rows: AsyncIterator[Row], verdict: Verdict) -> AsyncIterator[Row]:
    """The newest record of each key, where it has a value and stays."""
    newest: dict[bytes | None, Row] = {}
    async for row in rows:
        newest.pop(row.key, None)
        if row.value is not None:
            newest[row.key] = row
    for row in newest.values():
        value = verdict(Written(row.offset, name, row.key, row.value))
        if value is not None:
            yield row._replace(value=value)


async def others_end() -> None:
    """A process that has looked whose turn it is has made its request."""
    await asyncio.sleep(_TAKEOVER_S)


def _taken() -> ConfigError:
    return ConfigError("another process goes on with this erasure", remedy="let it end")


async def _marks_on(broker: Broker, admin: Any) -> list[Plan]:
    """The oldest first. None where nothing is being rewritten, or was killed before it had said for whom."""
    topic = broker.topic(REWRITING)
    if topic not in await partition_counts(admin):
        return []
    async with copying(broker) as copier:
        _, (end,) = await copier.bounds(topic, 1)
        return [decode(Plan, row.value or b"") async for row in copier.rows(topic, 0, end)]


def rewritten_for(broker: Broker) -> str:
    async def go() -> str:
        with told(broker):
            async with admin_client(broker) as admin:
                marks = await _marks_on(broker, admin)
        return marks[-1].account if marks else ""

    return asyncio.run(go())


def reopen(broker: Broker) -> None:
    async def go() -> None:
        with told(broker):
            async with admin_client(broker) as admin:
                await delete_topics(admin, [broker.topic(REWRITING)])

    asyncio.run(go())
