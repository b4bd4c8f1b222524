"""The DuckDB that answers one query: the views over one snapshot of history, and then locked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb

from forewatch.storage import manifest, schema, views
from forewatch.storage.guard import Query
from forewatch.storage.manifest import Snapshot
from forewatch.storage.sql import literal

OUT = "/dev/stdout"
"""Where an export is written: the pipe that the parent reads."""


def locked(job: dict[str, Any], query: Query) -> duckdb.DuckDBPyConnection:
    """An engine over the newest snapshot that answers this query, exports it if that was asked, and can do no more."""
    files = manifest.snapshot(Path(job["root"]))
    limits = job["limits"]
    connection = duckdb.connect(
        config={
            "threads": limits["threads"],
            "memory_limit": f"{limits['memory_mb']}MB",
            "temp_directory": "",
            "autoload_known_extensions": False,
            "autoinstall_known_extensions": False,
            "python_enable_replacements": False,
        }
    )
    connection.execute(f"SET TimeZone = {literal(job['zone'])}")
    connection.execute("SET enable_progress_bar = false")  # it would be drawn into the result
    connection.execute("SET parquet_metadata_cache = true")  # each view opens the parts again, and they never change
    _make_views(connection, files, query)
    reachable = [*map(str, files.cold), *([OUT] if job["form"] != "page" else [])]
    connection.execute(f"SET allowed_paths = {literal(reachable)}")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


def _make_views(connection: duckdb.DuckDBPyConnection, files: Snapshot, query: Query) -> None:
    connection.execute("CREATE SCHEMA raw")
    for statement in views.hot_table(files.hot):
        connection.execute(statement)
    for stream in schema.STREAMS:
        parts = [path for path in files.cold if schema.stream_of(path.parts[-3]) is stream]
        connection.execute(f"CREATE VIEW raw.{stream.name} AS {views.raw_over_files(stream, parts)}")
    for statement in views.public("memory", query.tables):
        connection.execute(statement)
