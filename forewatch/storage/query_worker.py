"""The process that runs one query of a person and ends; see ``query.py`` for who starts it and what it is told."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import duckdb

from forewatch.storage import engine, process
from forewatch.storage.confinement import confine
from forewatch.storage.guard import ALLOWED, check
from forewatch.storage.page import page
from forewatch.storage.sql import literal
from schemas.errors import Refused

_SAID_MAX = 2_000  # characters of an error; the parent reads stderr last, so it must fit into a pipe

_TOO_LARGE = (
    "the query needed more memory than it may have",
    "too_large",
    "narrow it, or aggregate in smaller steps",
)


def main() -> None:
    process.die_with_parent()
    job = json.load(sys.stdin)
    confine(Path(job["root"]), job["limits"]["memory_mb"], job["cpu_s"])
    try:
        _answer(job)
    except Refused as refused:
        _say(refused.message, refused.code, refused.remedy)
    except duckdb.Error as error:
        _say(*explain(error))
    except MemoryError:
        _say(*_TOO_LARGE)


def _say(message: str, code: str, remedy: str) -> None:
    json.dump({"message": message[:_SAID_MAX], "code": code, "remedy": remedy}, sys.stderr)
    sys.exit(process.REFUSED)


def _answer(job: dict[str, Any]) -> None:
    query = check(duckdb.connect(), job["sql"])
    connection = engine.locked(job, query)
    if job["form"] == "page":
        found = page(connection, query.text, job["rows"], job["limits"]["page_bytes"])
        json.dump(found, sys.stdout, ensure_ascii=False)
    else:
        options = "FORMAT csv, HEADER" if job["form"] == "csv" else "FORMAT parquet, COMPRESSION zstd"
        connection.execute(f"COPY (SELECT * FROM (\n{query.text}\n)) TO {literal(engine.OUT)} ({options})")


def explain(error: duckdb.Error) -> tuple[str, str, str]:
    """Message, code and remedy for what DuckDB refused. Its own hints stay ("Candidate bindings: ...")."""
    said = " ".join(str(error).split("\n\nLINE")[0].split())
    match error:
        case duckdb.PermissionException():
            return "the query reaches for a file or a setting", "not_allowed", ALLOWED
        case duckdb.OutOfMemoryException():
            return _TOO_LARGE
        case duckdb.ParserException():
            return said, "syntax", ALLOWED
        case duckdb.BinderException() | duckdb.CatalogException():
            return said, "schema", "see `forewatch history query 'SHOW TABLES'` and 'DESCRIBE events'"
        case duckdb.IOException() if "No such file" in said or "No files found" in said:
            return "a file of history went away under the query", "vanished", "ask again"
    return said, "failed", ""


if __name__ == "__main__":
    main()
