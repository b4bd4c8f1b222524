"""Sets of UIDs as IMAP writes them: "3:7,9"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

LARGEST = 2**32 - 1
_SET = re.compile(rb"[0-9]{1,10}(?::[0-9]{1,10})?(?:,[0-9]{1,10}(?::[0-9]{1,10})?)*")


def written(uids: Iterable[int]) -> str:
    """In ascending order, with ranges; "" for none."""
    return ",".join(f"{first}:{last}" if last > first else str(first) for first, last in _runs(sorted(set(uids))))


def ranges(text: bytes) -> list[tuple[int, int]]:
    """First and last of each range. ValueError for what is no set; a set may name billions, so nothing is listed."""
    if not _SET.fullmatch(text):
        raise ValueError(f"no set of UIDs: {text[:40]!r}")
    found = []
    for part in text.split(b","):
        first, _, last = part.partition(b":")
        low, high = sorted((int(first), int(last or first)))
        found.append((low, high))
    return found


def _runs(uids: list[int]) -> Iterator[tuple[int, int]]:
    if not uids:
        return
    first = last = uids[0]
    for uid in uids[1:]:
        if uid != last + 1:
            yield first, last
            first = uid
        last = uid
    yield first, last
