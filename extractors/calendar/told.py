"""Told: what was rejected is rejected once, however often its file is read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from extractors.connector import Rejected
from schemas.ids import content_hash

TOLD_CAP = 500


def untold(rejected: Iterable[Rejected], told: Sequence[str]) -> tuple[list[Rejected], tuple[str, ...]]:
    """Of ``rejected`` those that are new, and ``told`` (digests, the oldest first) with them."""
    known = dict.fromkeys(told)
    new: list[Rejected] = []
    for item in rejected:
        key = content_hash(item.code, item.reason, item.raw)[:12]
        if key not in known:
            known[key] = None
            new.append(item)
    return new, tuple(known)
