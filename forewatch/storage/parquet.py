"""Writes the parts that a compaction promised: DuckDB in a short-lived process, then fsync and rename.

A process, because DuckDB would stay in the memory of the service (60 MB) for work of a second every few hours. It
writes under temporary names only; what it leaves behind when both processes are killed is removed by the next attempt.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from forewatch.storage import manifest
from forewatch.storage.catalogue import Compaction, Part
from forewatch.storage.process import Workers
from schemas.errors import TransientError

WORKER = "forewatch.storage.parquet_worker"
SCRATCH = "scratch"
"""Folder for what DuckDB cannot hold in memory while it sorts."""


def write_parts(root: Path, compaction: Compaction, workers: Workers, after_each: Callable[[], None]) -> None:
    """All new parts exist, whole and durable, when it returns. Idempotent. Blocks for seconds.

    TransientError when a part has not the rows that the catalogue promises, or the worker failed.
    """
    temporary = _temporary(root, compaction.new)
    for part in compaction.new:
        _clear(root / part.path)
    try:
        written = _run(root, compaction, workers, temporary)
        for part, path, rows in zip(compaction.new, temporary, written, strict=True):
            if rows != part.rows:
                raise TransientError(f"{root / part.path}: found {rows} rows where {part.rows} belong")
            _publish(path, root / part.path)
            after_each()
    finally:
        for path in temporary:  # gone already where all went well; else they must not fill the disk
            path.unlink(missing_ok=True)


def _clear(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    for leftover in path.parent.glob(f"{path.name}.*.tmp"):
        leftover.unlink(missing_ok=True)


def _temporary(root: Path, parts: Sequence[Part]) -> list[Path]:
    """Named after this process too, so that a dying worker of an earlier one never writes into our file."""
    return [root / f"{part.path}.{os.getpid()}.tmp" for part in parts]


def _run(root: Path, compaction: Compaction, workers: Workers, targets: Sequence[Path]) -> list[int]:
    """Rows written into each target."""
    job = {
        "kind": compaction.kind,
        "scratch": str(root / SCRATCH),
        "sources": [str(root / path) for path in compaction.old],
        "parts": [{"folder": p.folder, "path": str(target)} for p, target in zip(compaction.new, targets, strict=True)],
    }
    return [int(rows) for rows in json.loads(workers.run(WORKER, job, f"write Parquet in {root}"))]


def _publish(temporary: Path, path: Path) -> None:
    os.chmod(temporary, 0o444)
    fd = os.open(temporary, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
    temporary.rename(path)
    manifest.sync_folder(path.parent)
