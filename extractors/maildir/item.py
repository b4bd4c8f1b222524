"""Item: one mail that a folder or file lists, before it is read."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

FLAGS = ("seen", "answered", "flagged", "draft", "deleted", "passed")
"""The flags that we keep, in the order of their bits."""


@dataclass(frozen=True, slots=True)
class Item:
    """``id`` is the native id. ``at``: when it was delivered, by the word of the file system. ``read`` opens it."""

    id: str
    name: str
    folder: str
    flags: tuple[str, ...]
    at: datetime
    role: str
    read: Callable[[], bytes] = field(compare=False)


def short_hash(text: str | bytes) -> str:
    """20 hex digits of sha256: short enough to remember 50,000 of them, long enough for nobody to find two alike."""
    raw = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
    return hashlib.sha256(raw).hexdigest()[:20]
