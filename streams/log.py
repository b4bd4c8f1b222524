"""Opens the log behind a broker URL, with or without a running service."""

from __future__ import annotations

from collections.abc import Sequence

from streams.broker import parse_broker
from streams.topics import SPECS, TopicSpec
from streams.work import Log


async def open_log(
    url: str, prefix: str, partitions: int, *, topics: Sequence[TopicSpec] = SPECS, is_rewriting: bool = False
) -> Log:
    """Creates the topics that are missing. Faust is not needed and not imported; aiokafka only for Kafka.

    ``is_rewriting``: by whoever rewrites the log (``streams.rewriting``); to all others it is closed meanwhile.
    """
    broker = parse_broker(url, prefix, partitions)
    if broker.kind == "embedded":
        from streams.embedded.log import open_embedded_log

        return await open_embedded_log(broker, topics)
    from streams.kafka.log import open_kafka_log

    return await open_kafka_log(broker, topics, is_rewriting=is_rewriting)
