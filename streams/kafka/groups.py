"""Consumer groups from outside: whether anybody is in one, and how far it has come."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from aiokafka import AIOKafkaConsumer, TopicPartition

from streams.broker import Broker

_IDLE = frozenset({"Empty", "Dead"})
_TRIES = 20


class Committed(NamedTuple):
    group: str
    topic: str
    """The name on the broker."""
    partition: int
    offset: int


async def committed_offsets(admin: Any, topics: Collection[str]) -> list[Committed]:
    """Of every group that has come anywhere in these topics."""
    found = []
    for group, _ in sorted(await admin.list_consumer_groups()):
        for place, at in (await admin.list_consumer_group_offsets(group)).items():
            if place.topic in topics and at.offset >= 0:
                found.append(Committed(group, place.topic, place.partition, at.offset))
    return sorted(found)


async def busy(admin: Any, groups: Collection[str]) -> str:
    """The first of these groups that somebody is in; empty if nobody is."""
    for response in await admin.describe_consumer_groups(sorted(groups)):
        for _, name, state, *_ in response.groups:
            if state not in _IDLE:
                return str(name)
    return ""


async def commit(broker: Broker, admin: Any, wanted: Sequence[Committed]) -> bool:
    """Set the offsets of groups that nobody is in; whether they are set. They are read back, because a broker forgets
    the offsets of a deleted topic when it finds the time."""
    for _ in range(_TRIES):
        found = await committed_offsets(admin, {each.topic for each in wanted})
        if not (missing := [each for each in wanted if each not in found]):
            return True
        by_group: dict[str, dict[TopicPartition, int]] = defaultdict(dict)
        for each in missing:
            by_group[each.group][TopicPartition(each.topic, each.partition)] = each.offset
        for group, offsets in by_group.items():
            await _set(broker, group, offsets)
    return False


async def _set(broker: Broker, group: str, offsets: dict[TopicPartition, int]) -> None:
    consumer = AIOKafkaConsumer(bootstrap_servers=list(broker.servers), group_id=group, enable_auto_commit=False)
    try:
        await consumer.start()
        consumer.assign(list(offsets))
        await consumer.commit(offsets)
    finally:
        await consumer.stop()
