"""Creates our topics before anybody reads or writes them: a broker that creates them by itself guesses the counts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from contextlib import asynccontextmanager
from typing import Any

from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import TopicAlreadyExistsError, UnknownTopicOrPartitionError, for_code

from schemas.errors import ConfigError
from streams.broker import Broker
from streams.topics import TopicSpec

MAX_BATCH = 16 << 20
"""The largest record batch: a raw mail with its attachments, or all that one batch changed in an agent's state."""
_OVERHEAD = 1 << 20
_REPLICAS = 3
_DAY_MS = 86_400_000
_LOOK_S = 0.05
_SEEN_WITHIN_S = 60.0
_SET_ON_TOPIC = 1
"""Kafka's number for a setting that somebody gave to the topic itself."""
REWRITING = "rewriting"
"""Name of the topic that is there while others are made anew (``streams.kafka.rewrite``)."""


@asynccontextmanager
async def admin_client(broker: Broker) -> Any:
    admin = AIOKafkaAdminClient(bootstrap_servers=list(broker.servers))
    await admin.start()
    try:
        yield admin
    finally:
        await admin.close()


async def ensure_topics(broker: Broker, specs: Sequence[TopicSpec], *, is_rewriting: bool = False) -> None:
    """Creates what is missing. ConfigError if one is there with another partition count, or if the log is being
    rewritten by somebody else."""
    async with admin_client(broker) as admin:
        found = await partition_counts(admin)
        if broker.topic(REWRITING) in found and not is_rewriting:
            raise ConfigError(
                f"the log {broker.url} is half rewritten: an erasure was begun and has not ended",
                remedy="run the same command again ('forewatch accounts remove ID --erase', 'events erase ID' or "
                "'memory forget ID --erase'); until then nothing is lost",
            )
        _check(broker, specs, found)
        missing = [spec for spec in specs if broker.topic(spec.name) not in found]
        if missing:
            replicas = min(_REPLICAS, len((await admin.describe_cluster())["brokers"]))
            await create_topics(admin, [_new_topic(broker, spec, replicas) for spec in missing])


async def partition_counts(admin: Any) -> dict[str, int]:
    """Of every topic on the broker."""
    return {topic["topic"]: len(topic["partitions"]) for topic in await admin.describe_topics()}


def _check(broker: Broker, specs: Sequence[TopicSpec], found: dict[str, int]) -> None:
    for spec in specs:
        count = found.get(broker.topic(spec.name), broker.partitions)
        if count != broker.partitions:
            raise ConfigError(
                f"topic {broker.topic(spec.name)!r} on {broker.url} has {count} partitions, "
                f"the settings say {broker.partitions}",
                remedy=f"set partitions to {count}, or choose another prefix",
            )


def _new_topic(broker: Broker, spec: TopicSpec, replicas: int) -> NewTopic:
    return NewTopic(broker.topic(spec.name), broker.partitions, replicas, topic_configs=topic_configs(spec))


def topic_configs(spec: TopicSpec) -> dict[str, str]:
    """A compacted topic rolls its segments daily, because Kafka never compacts the one that it writes to."""
    configs = {"max.message.bytes": str(MAX_BATCH + _OVERHEAD)}
    if spec.cleanup == "compact":
        return configs | {"cleanup.policy": "compact", "segment.ms": str(_DAY_MS), "segment.bytes": str(64 << 20)}
    retention_ms = -1 if spec.retention_s is None else int(spec.retention_s * 1000)
    return configs | {"cleanup.policy": "delete", "retention.ms": str(retention_ms)}


async def create_topics(admin: Any, topics: Sequence[NewTopic], *, may_exist: bool = True) -> None:
    """Returns when clients see them: a broker tells that it made them before it shows them, and a group that looks in
    between deals out none of their partitions. ``may_exist``: those that are there stay as they are, because another
    worker was quicker."""
    response = await admin.create_topics(list(topics))
    for name, code, *reason in response.topic_errors:
        if code and not (may_exist and code == TopicAlreadyExistsError.errno):
            raise for_code(code)(f"cannot create {name}: {reason[0] if reason else code}")
    names = {topic.name for topic in topics}
    await _seen(admin, lambda there: names <= there)


async def delete_topics(admin: Any, names: Collection[str]) -> None:
    """Returns when no broker client sees them any more; those that are not there are no error."""
    if not names:
        return
    response = await admin.delete_topics(list(names))
    for name, code in response.topic_error_codes:
        if code not in (0, UnknownTopicOrPartitionError.errno):
            raise for_code(code)(f"cannot delete {name}")
    await _seen(admin, lambda there: there.isdisjoint(names))


async def _seen(admin: Any, wanted: Callable[[Set[str]], bool]) -> None:
    """Waits until the broker shows such topics."""
    async with asyncio.timeout(_SEEN_WITHIN_S):
        while not wanted((await partition_counts(admin)).keys()):
            await asyncio.sleep(_LOOK_S)


async def own_configs(admin: Any, topic: str) -> dict[str, str]:
    """What was set on the topic itself, by us or by an administrator."""
    (response,) = await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])
    ((code, reason, _, _, entries),) = response.resources
    if code:
        raise for_code(code)(f"cannot read the settings of {topic}: {reason}")
    return {name: value for name, value, _, source, *_ in entries if source == _SET_ON_TOPIC}


async def replicas(admin: Any, topic: str) -> int:
    (found,) = await admin.describe_topics([topic])
    return min(len(partition["replicas"]) for partition in found["partitions"])


def new_topic(name: str, partitions: int, replication: int, configs: Mapping[str, str]) -> NewTopic:
    return NewTopic(name, partitions, replication, topic_configs=dict(configs))
