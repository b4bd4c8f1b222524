"""Broker URLs: what they mean, and what is said about bad ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from schemas.errors import ConfigError
from streams.broker import parse_broker


def test_an_embedded_url_names_a_file_and_how_safe_it_is() -> None:
    broker = parse_broker("embedded:///var/lib/my%20log.db?sync=normal", "fw", 2)
    assert (broker.kind, broker.path, broker.options) == ("embedded", Path("/var/lib/my log.db"), {"sync": "normal"})


def test_a_kafka_url_names_its_servers() -> None:
    broker = parse_broker("kafka://one:9093;two", "fw", 2)
    assert (broker.kind, broker.servers) == ("kafka", ("one:9093", "two:9092"))


def test_topics_are_named_after_the_prefix() -> None:
    broker = parse_broker("kafka://one", "fw", 2)
    assert broker.topic("events") == "fw.events"
    assert broker.bare("fw.events") == "events"


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("log.db", "unknown broker 'log.db'; use 'embedded:///"),
        ("redis://host", "unknown broker"),
        ("embedded://log.db", "needs an absolute path; use three slashes"),
        ("embedded:///", "needs an absolute path"),
        ("embedded:///log.db?sync=never", "sync is 'never'; use full or normal"),
        ("embedded:///log.db?linger=1", "unknown option 'linger'; known are sync"),
        ("kafka://", "has no usable host in ''"),
        ("kafka://host:port", "has no usable host in 'host:port'"),
        ("kafka://host?fetch_wait_ms=soon", "fetch_wait_ms is 'soon'; use a whole number"),
    ],
)
def test_a_bad_url_is_told_with_the_remedy(url: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_broker(url, "fw", 1)
    assert says in str(caught.value)


@pytest.mark.parametrize(("prefix", "partitions"), [("", 1), ("a b", 1), ("fw", 0), ("fw", 5_000)])
def test_a_bad_prefix_or_count_is_refused(prefix: str, partitions: int) -> None:
    with pytest.raises(ConfigError):
        parse_broker("kafka://host", prefix, partitions)
