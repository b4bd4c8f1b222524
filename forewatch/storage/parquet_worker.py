"""The process that turns hot segments or small parts into Parquet parts; see ``parquet.py`` for who starts it."""

from __future__ import annotations

import json
import sys
from typing import Any

import duckdb

from forewatch.storage import process, schema
from forewatch.storage.sql import identifiers, literal, struct


def main() -> None:
    process.die_with_parent()
    job = json.load(sys.stdin)
    connection = duckdb.connect(config={"threads": 2, "memory_limit": "512MB", "temp_directory": job["scratch"]})
    connection.execute("SET enable_progress_bar = false")  # stdout is for the answer
    connection.execute("SET TimeZone = 'UTC'")
    write = _fold if job["kind"] == "fold" else _merge
    try:
        json.dump(write(connection, job), sys.stdout)
    except duckdb.Error as error:
        sys.exit(str(error).split("\n")[0])


def _fold(connection: duckdb.DuckDBPyConnection, job: dict[str, Any]) -> list[int]:
    """Hot segments into one part per folder. A line that cannot be read fails the whole of it."""
    connection.execute(
        f"CREATE TABLE hot AS SELECT * FROM read_json({literal(job['sources'])}, format = 'newline_delimited',"
        f" maximum_object_size = {schema.LINE_MAX}, columns = {struct(schema.hot_columns())})"
    )
    return [
        _copy(connection, part, f"FROM hot WHERE folder = {literal(part['folder'])}", _columns(part))
        for part in job["parts"]
    ]


def _merge(connection: duckdb.DuckDBPyConnection, job: dict[str, Any]) -> list[int]:
    """Small parts into one; columns that an older part lacks become NULL."""
    source = f"FROM read_parquet({literal(job['sources'])}, union_by_name = true, hive_partitioning = false)"
    return [_copy(connection, part, source, "*") for part in job["parts"]]


def _columns(part: dict[str, Any]) -> str:
    stream = schema.stream_of(part["folder"].split("/")[0])
    return identifiers([*schema.PLACE, *stream.columns])


def _copy(connection: duckdb.DuckDBPyConnection, part: dict[str, Any], source: str, columns: str) -> int:
    order = schema.stream_of(part["folder"].split("/")[0]).order
    copied = connection.execute(
        f"COPY (SELECT {columns} {source} ORDER BY {order}, seq) TO {literal(part['path'])}"
        " (FORMAT parquet, COMPRESSION zstd)"
    ).fetchone()
    return int(copied[0]) if copied else 0


if __name__ == "__main__":
    main()
