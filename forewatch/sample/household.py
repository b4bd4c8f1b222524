"""Household: one invented year as files that appear on disk, and what should be noticed in it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal

from forewatch.sample.labels import Label


@dataclass(frozen=True, slots=True)
class Drop:
    """One change on disk at one instant. ``path`` is relative, with slashes; ``content`` is empty for ``delete``."""

    at: datetime
    path: str
    action: Literal["add", "replace", "delete"]
    content: bytes = b""


@dataclass(frozen=True, slots=True)
class Household:
    """``drops`` are in the order of time. The year is [start, end) in local days of ``zone``."""

    seed: int
    zone: str
    start: date
    end: date
    owner_name: str
    owner_address: str
    drops: tuple[Drop, ...]
    labels: tuple[Label, ...]

    @property
    def situations(self) -> tuple[Label, ...]:
        return tuple(label for label in self.labels if label.expect == "notice")

    @property
    def look_alikes(self) -> tuple[Label, ...]:
        return tuple(label for label in self.labels if label.expect == "silence")
