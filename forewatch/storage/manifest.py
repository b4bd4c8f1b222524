"""The manifest: which files readers must not look at, because others hold the same rows. Swapped by atomic rename."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Set
from dataclasses import dataclass
from pathlib import Path

from forewatch.storage import hot

NAME = "manifest.json"
COLD = "cold"
NEVER = "0000-00"
"""The month of the parts without rows that the views need, because DuckDB refuses a pattern that matches no file."""


def exists(root: Path) -> bool:
    return (root / NAME).exists()


def read(root: Path) -> frozenset[Path]:
    """The hidden files; FileNotFoundError where there is no history."""
    return frozenset(map(Path, json.loads((root / NAME).read_bytes())["hidden"]))


def write(root: Path, hidden: Set[Path]) -> None:
    """Durable when it returns. Readers see the old list or the new one, never half of it.

    The paths are absolute: DuckDB compares them with the names of the files that it reads.
    """
    temporary = root / f"{NAME}.tmp"
    with open(temporary, "w") as file:
        json.dump({"hidden": sorted(map(str, hidden))}, file)
        file.flush()
        os.fsync(file.fileno())
    temporary.rename(root / NAME)
    sync_folder(root)


def sync_folder(folder: Path) -> None:
    """Make renames and unlinks in this folder survive a power cut."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The files that hold history at one moment, each row in exactly one of them. ``cold``: newest month first."""

    hot: tuple[Path, ...]
    cold: tuple[Path, ...]


def snapshot(root: Path) -> Snapshot:
    """Look again until the manifest held still meanwhile.

    The files of a snapshot stay readable for the grace period, so whoever reads it must be done before that.
    """
    hidden = read(root)
    while True:
        hot_files = tuple(sorted(set((root / hot.FOLDER).glob("*.jsonl")) - hidden))
        cold_files = tuple(sorted(set(_parts(root)) - hidden, key=lambda path: (path.parent.name, path), reverse=True))
        again = read(root)
        if again == hidden:
            return Snapshot(hot_files, cold_files)
        hidden = again


def _parts(root: Path) -> Iterator[Path]:
    return (path for path in (root / COLD).glob("*/*/*.parquet") if path.parent.name != NEVER)
