"""Faust's consumer where a session was lost: what it looks at is not there yet."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.consumer.subscription_state import SubscriptionState
from faust.transport.drivers.aiokafka import AIOKafkaConsumerThread
from faust.types import TP

from streams.kafka.consumer import ConsumerThread

TOPIC, THERE, GONE = "events", TP("events", 0), TP("events", 1)


def looking(subscriptions: SubscriptionState) -> Any:
    """A thread that holds this and nothing else."""
    thread: Any = object.__new__(ConsumerThread)
    thread._consumer = SimpleNamespace(_subscription=subscriptions)
    return thread


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[TP]:
    """Where Faust itself was let look."""
    found: list[TP] = []
    monkeypatch.setattr(AIOKafkaConsumerThread, "verify_event_path", lambda self, now, tp: found.append(tp))
    return found


def test_a_partition_without_a_place_is_looked_at_later(looked: list[TP]) -> None:
    asyncio.run(_looked_at_later(looked))


async def _looked_at_later(looked: list[TP]) -> None:
    subscriptions = SubscriptionState()
    thread = looking(subscriptions)
    thread.verify_event_path(0.0, THERE)
    subscriptions.subscribe({TOPIC})
    thread.verify_event_path(0.0, THERE)
    subscriptions.assign_from_subscribed({TopicPartition(*THERE)})
    thread.verify_event_path(0.0, THERE)
    thread.verify_event_path(0.0, GONE)
    assert looked == []
    subscriptions.subscription.assignment.state_value(TopicPartition(*THERE)).reset_to(7)
    thread.verify_event_path(0.0, THERE)
    assert looked == [THERE]
