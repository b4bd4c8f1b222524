"""The process that runs the statements that make ``history.duckdb``; see ``viewfile.py`` for who starts it."""

from __future__ import annotations

import json
import sys

import duckdb

from forewatch.storage import process


def main() -> None:
    process.die_with_parent()
    connection = duckdb.connect(config={"threads": 1})
    try:
        for statement in json.load(sys.stdin):
            connection.execute(statement)
    except duckdb.Error as error:
        sys.exit(str(error).split("\n")[0])


if __name__ == "__main__":
    main()
