"""Keys land where Kafka's own clients put them."""

from __future__ import annotations

from aiokafka.partitioner import murmur2 as reference
from hypothesis import given
from hypothesis import strategies as st

from streams.partition import murmur2, partition_for


@given(st.binary(max_size=40))
def test_the_hash_is_the_one_of_the_java_client(key: bytes) -> None:
    assert murmur2(key) == reference(key)


@given(st.binary(max_size=20), st.integers(1, 12))
def test_a_key_lands_where_the_kafka_client_puts_it(key: bytes, partitions: int) -> None:
    assert partition_for(key, partitions) == (reference(key) & 0x7FFFFFFF) % partitions


def test_a_record_without_a_key_goes_to_the_first_partition() -> None:
    assert partition_for(None, 7) == 0
