"""Gives each test a broker: the embedded log, Tansu, Apache Kafka."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.peers.brokers import Peer, own_prefix

_TANSU_OPTIONS = "idempotence=off&fetch_wait_ms=100&session_timeout_s=1"
"""Tansu has no InitProducerId, does not wake a waiting fetch, and holds a join back for half the session timeout."""
_KAFKA_OPTIONS = "session_timeout_s=2"


@pytest.fixture
def embedded(tmp_path: Path) -> Peer:
    return Peer("embedded", f"embedded://{tmp_path}/log.db?sync=normal", "fw")


@pytest.fixture
def kafka(kafka_server: str) -> Iterator[Peer]:
    with own_prefix(kafka_server) as prefix:
        yield Peer("kafka", f"kafka://{kafka_server}?{_KAFKA_OPTIONS}", prefix)


@pytest.fixture
def tansu(tansu_server: str) -> Iterator[Peer]:
    with own_prefix(tansu_server) as prefix:
        yield Peer("tansu", f"kafka://{tansu_server}?{_TANSU_OPTIONS}", prefix)


@pytest.fixture(
    params=[
        "embedded",
        pytest.param("tansu", marks=pytest.mark.tansu),
        pytest.param("kafka", marks=pytest.mark.kafka),
    ]
)
def peer(request: pytest.FixtureRequest) -> Peer:
    """The same test on every broker; one partition."""
    chosen: Peer = request.getfixturevalue(request.param)
    return chosen


@pytest.fixture
def wide(peer: Peer) -> Peer:
    """Three partitions."""
    return replace(peer, partitions=3)
