"""aiokafka's errors, told in our own words."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from aiokafka.errors import (
    ClusterAuthorizationFailedError,
    InvalidReplicationFactorError,
    KafkaConnectionError,
    KafkaError,
    KafkaTimeoutError,
    MessageSizeTooLargeError,
    NotEnoughReplicasError,
    TopicAuthorizationFailedError,
    UnknownError,
    UnsupportedVersionError,
)

from streams.broker import Broker
from streams.failure import LogFailed

REMEDIES: dict[type[KafkaError], str] = {
    KafkaConnectionError: "check that the broker runs and that this machine reaches it",
    KafkaTimeoutError: "the broker answers too slowly or not at all: check it, then start again",
    MessageSizeTooLargeError: "raise max.message.bytes of that topic",
    TopicAuthorizationFailedError: "let this user create, read and write the topics",
    ClusterAuthorizationFailedError: "let this user create topics and write idempotently",
    NotEnoughReplicasError: "bring the missing brokers back, then start again",
    InvalidReplicationFactorError: "create the topics by hand with a replication factor the cluster can hold",
    UnknownError: "see the broker's own log; one without idempotent producers (Tansu) needs '?idempotence=off'",
    UnsupportedVersionError: "use Apache Kafka 2.4 or newer",
}


@contextlib.contextmanager
def told(broker: Broker) -> Iterator[None]:
    """LogFailed for whatever aiokafka raises inside."""
    try:
        yield
    except (TimeoutError, KafkaError, OSError) as error:
        raise failed(broker, error) from error


def failed(broker: Broker, error: BaseException) -> LogFailed:
    remedy = next((text for kind, text in REMEDIES.items() if isinstance(error, kind)), "see the broker's own log")
    return LogFailed(f"the log {broker.url} failed: {error or type(error).__name__}", remedy=remedy)
