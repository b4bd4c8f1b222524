"""A page of a result as JSON: each DuckDB type has one form, chosen so that no value loses digits or its zone."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import duckdb

from forewatch.storage.sql import identifiers
from schemas.errors import Refused


def page(connection: duckdb.DuckDBPyConnection, query: str, rows: int, bytes_max: int) -> dict[str, Any]:
    """Columns, rows as JSON (see ``query.Table``), and whether there are more. Refused when it grows too large."""
    described = connection.execute(f"DESCRIBE SELECT * FROM (\n{query}\n)").fetchall()
    columns = [(str(name), str(kind)) for name, kind, *_ in described]
    aliases = [f"c{number}" for number in range(len(columns))]  # names may repeat, and may be anything
    casts = ", ".join(_cast(alias, kind) for alias, (_, kind) in zip(aliases, columns, strict=True))
    result = connection.execute(
        f"SELECT {casts} FROM (SELECT * FROM (\n{query}\n) LIMIT {rows + 1}) AS page({identifiers(aliases)})"
    )
    converters = [_converter(kind) for _, kind in columns]
    found = _convert(result, converters, bytes_max)
    return {"columns": columns, "rows": found[:rows], "truncated": len(found) > rows}


def _convert(
    result: duckdb.DuckDBPyConnection, converters: Sequence[Callable[[Any], Any]], bytes_max: int
) -> list[list[Any]]:
    found: list[list[Any]] = []
    size = 0
    while chunk := result.fetchmany(50):
        for row in chunk:
            found.append([None if v is None else convert(v) for v, convert in zip(row, converters, strict=True)])
            size += sum(len(v) if isinstance(v, str) else 8 for v in row)
        if size > bytes_max:
            raise Refused(
                f"the result is larger than {bytes_max >> 20} MB",
                code="too_large",
                remedy="select fewer rows or columns, or export it as CSV or Parquet",
            )
    return found


_PLAIN = frozenset(
    {"BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"}
)
_FLOATS = frozenset({"FLOAT", "DOUBLE"})
_MOMENTS = frozenset({"TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"})


def _is_nested(kind: str) -> bool:
    return kind == "JSON" or kind.endswith("]") or kind.startswith(("STRUCT(", "MAP(", "UNION("))


def _cast(alias: str, kind: str) -> str:
    if kind in _PLAIN or kind in _FLOATS:
        return alias
    if _is_nested(kind):
        return f"CAST(to_json({alias}) AS VARCHAR)"
    return alias if kind == "BLOB" else f"CAST({alias} AS VARCHAR)"


def _converter(kind: str) -> Callable[[Any], Any]:
    if _is_nested(kind):
        return json.loads
    if kind in _MOMENTS:
        return _iso
    if kind in _FLOATS:
        return lambda number: number if math.isfinite(number) else str(number)
    if kind == "BLOB":
        return lambda raw: base64.b64encode(raw).decode()
    return lambda value: value


def _iso(text: str) -> str:
    """DuckDB writes ``2026-03-01 09:00:00+01``; infinity and years beyond 9999 stay as they are."""
    try:
        return datetime.fromisoformat(text).isoformat()
    except ValueError:
        return text
