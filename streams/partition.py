"""Which partition a key lands in: murmur2, the placement that Kafka's own clients use."""

from __future__ import annotations

from functools import lru_cache

_MASK = 0xFFFFFFFF
_SEED = 0x9747B28C
_MULTIPLIER = 0x5BD1E995


def partition_for(key: bytes | None, partitions: int) -> int:
    """A record without a key goes to partition 0: all of ours that need spreading have one."""
    if key is None or partitions == 1:
        return 0
    return _hash(key) % partitions


@lru_cache(65_536)
def _hash(key: bytes) -> int:
    return murmur2(key) & 0x7FFFFFFF


def murmur2(data: bytes) -> int:
    """32-bit MurmurHash2 as in ``org.apache.kafka.common.utils.Utils``."""
    h = _SEED ^ len(data)
    whole = len(data) & ~3
    for i in range(0, whole, 4):
        k = int.from_bytes(data[i : i + 4], "little") * _MULTIPLIER & _MASK
        k = (k ^ k >> 24) * _MULTIPLIER & _MASK
        h = (h * _MULTIPLIER & _MASK) ^ k
    if tail := data[whole:]:
        h = (h ^ int.from_bytes(tail, "little")) * _MULTIPLIER & _MASK
    h = (h ^ h >> 13) * _MULTIPLIER & _MASK
    return h ^ h >> 15
