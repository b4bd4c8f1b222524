"""Puts the drops of a household on disk, as the mail server, the calendar and the banks would."""

from __future__ import annotations

import json
import os
from bisect import bisect_right
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from forewatch.sample.household import Drop, Household

_PARTIAL = ".partial"
"""Folder of half-written files, outside of everything that is watched and on the same file system."""
_MARK = ".played"
"""File that says how far a root has been played: written first with where it goes, and last with where it is."""


def materialise(household: Household, root: Path, until: datetime, since: datetime | None = None) -> None:
    """Bring ``root`` from ``since`` to ``until``: what happened in (since, until] is on disk afterwards.

    ``since`` None: from where an earlier call on this root came to its end. Each file appears whole or not at all, with
    the time of its drop. After a kill the same call gives the same files.
    """
    mark = _Mark(root / _MARK, household)
    reached = mark.read()
    if since is None:
        since = reached
    mark.write(reached, until)
    for drop in _newest(_between(household.drops, since, until)):
        _apply(drop, root)
    mark.write(until, until)


def shown_until(household: Household, root: Path) -> datetime | None:
    """The latest instant of which something may be on disk, if only in part because the process was killed."""
    return _Mark(root / _MARK, household).read("towards")


def _between(drops: tuple[Drop, ...], since: datetime | None, until: datetime) -> tuple[Drop, ...]:
    first = 0 if since is None else bisect_right(drops, since, key=lambda drop: drop.at)
    return drops[first : bisect_right(drops, until, key=lambda drop: drop.at)]


def _newest(drops: Iterable[Drop]) -> Iterable[Drop]:
    """The last drop of each path: a file that was replaced never goes back to an older state."""
    return {drop.path: drop for drop in drops}.values()


def _apply(drop: Drop, root: Path) -> None:
    path = root / drop.path
    if drop.action == "delete":
        path.unlink(missing_ok=True)
        return
    for folder in _folders(path):
        folder.mkdir(parents=True, exist_ok=True)
    partial = root / _PARTIAL / path.name
    partial.parent.mkdir(parents=True, exist_ok=True)
    partial.write_bytes(drop.content)
    os.utime(partial, (drop.at.timestamp(), drop.at.timestamp()))
    partial.replace(path)


def _folders(path: Path) -> tuple[Path, ...]:
    """A Maildir folder has all its three parts from the beginning."""
    if path.parent.name in ("new", "cur"):
        return tuple(path.parent.parent / part for part in ("new", "cur", "tmp"))
    return (path.parent,)


class _Mark:
    """Belongs to one household: another seed, zone or year on the same root starts from the beginning."""

    def __init__(self, path: Path, household: Household) -> None:
        self._path = path
        self._identity = [household.seed, household.zone, household.start.isoformat()]

    def read(self, name: Literal["until", "towards"] = "until") -> datetime | None:
        try:
            found = json.loads(self._path.read_text("utf-8"))
        except (FileNotFoundError, ValueError):
            return None
        if found.get("household") != self._identity or found.get(name) is None:
            return None
        return datetime.fromisoformat(found[name])

    def write(self, until: datetime | None, towards: datetime) -> None:
        partial = self._path.with_name(f"{_MARK}.partial")
        partial.parent.mkdir(parents=True, exist_ok=True)
        times = {"until": until and until.astimezone(UTC).isoformat(), "towards": towards.astimezone(UTC).isoformat()}
        partial.write_text(json.dumps({"household": self._identity} | times), "utf-8")
        partial.replace(self._path)
