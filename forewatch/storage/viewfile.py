"""``history.duckdb``: a file that holds nothing but views, for the person's own DuckDB shell, notebook or tool."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from forewatch.storage import schema, views
from forewatch.storage.ledger import Ledger
from forewatch.storage.process import Workers
from forewatch.storage.sql import literal

NAME = "history.duckdb"
WORKER = "forewatch.storage.viewfile_worker"


def ensure(root: Path, ledger: Ledger, workers: Workers) -> None:
    """Make the file where it is missing, of an older release, or of a folder that moved. May take a second."""
    statements = _statements(root)
    digest = hashlib.sha256("\0".join(statements).encode()).hexdigest()
    if (root / NAME).exists() and ledger.fact("views") == digest:
        return
    for stream in schema.STREAMS:
        views.empty_part(root, stream).parent.mkdir(parents=True, exist_ok=True)
    _draft(root).unlink(missing_ok=True)
    workers.run(WORKER, statements, f"make {root / NAME}")
    os.chmod(_draft(root), 0o444)  # a shell that opens it for writing would lock everybody else out
    _draft(root).rename(root / NAME)
    ledger.set_fact("views", digest)


def _draft(root: Path) -> Path:
    return root / f"{NAME}.tmp"


def _statements(root: Path) -> list[str]:
    """DuckDB 1.2 to 2 can read the result: the storage version is the oldest of them, the paths are absolute."""
    return [
        *(f"COPY ({_no_rows(s)}) TO {literal(str(views.empty_part(root, s)))}" for s in schema.STREAMS),
        f"ATTACH {literal(str(_draft(root)))} AS history (STORAGE_VERSION 'v1.2.0')",
        "CREATE SCHEMA history.raw",
        "USE history",
        *(f"CREATE VIEW history.raw.{s.name} AS {views.raw_over_patterns(root, s)}" for s in schema.STREAMS),
        *views.public("history"),
        "USE memory",
        "DETACH history",
    ]


def _no_rows(stream: schema.Stream) -> str:
    columns = {**schema.PLACE, **stream.columns}
    return f"SELECT {', '.join(f'NULL::{kind} AS {name}' for name, kind in columns.items())} LIMIT 0"
