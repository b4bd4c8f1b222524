"""Erasures on the log: what one home has erased, every other home with a history of it erases at its next start."""

from __future__ import annotations

from collections.abc import Iterable

from forewatch.settings import Settings
from forewatch.storage.history import History
from forewatch.storage.memory import MemoryIndex
from schemas.model import Instant, Model
from streams import topics
from streams.codec import decode, encode
from streams.work import Log, Output

_READ_AT_ONCE = 100
_COUNT = "erasures"
"""File of the home: how many of the log's erasures it has carried out."""


class Erasure(Model):
    """``keys``: names of what erased runs have left in an outbox, and of what their tools have kept."""

    at: Instant
    keys: tuple[str, ...] = ()


async def announce(log: Log, erasure: Erasure) -> None:
    """Durable when it returns; said twice it does no harm."""
    await log.append([Output(topics.ERASURES, None, encode(erasure), 0)])


async def follow(settings: Settings, log: Log) -> None:
    """Carry out here what was erased elsewhere. Only while this home's history is closed."""
    count = settings.home / _COUNT
    done = int(count.read_text("ascii")) if count.is_file() else 0
    at = done
    while entries := await log.read(topics.ERASURES, 0, at, _READ_AT_ONCE):
        for entry in entries:
            clear_outbox(settings, decode(Erasure, entry.value or b"").keys)
        at = entries[-1].offset + 1
    if at > done:
        History.reset(settings.history)
        MemoryIndex(settings.home).reset()
        count.write_text(str(at), "ascii")


def clear_outbox(settings: Settings, keys: Iterable[str]) -> None:
    for key in keys:
        if key.isalnum():
            for folder in (settings.place("outbox"), settings.effects):
                (folder / f"{key}.json").unlink(missing_ok=True)
