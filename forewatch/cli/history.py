"""history query|tables."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from forewatch.cli.console import say, show_json, show_table
from forewatch.cli.place import AsJson, settings
from schemas.errors import ConfigError

app = typer.Typer(no_args_is_help=True)


@app.callback()
def group() -> None:
    """Your history, by SQL."""


@app.command()
def query(
    sql: Annotated[str, typer.Argument(help="One SELECT, or @file.")],
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="Rows at most.")] = 1000,
    export: Annotated[str, typer.Option(help="csv or parquet: the whole result to stdout.")] = "",
    as_json: AsJson = False,
) -> None:
    """Ask your history. Works while the service runs, and without it."""
    from forewatch.storage.query import HistoryQuery

    if export and as_json:
        raise ConfigError("--export and --json exclude one another", remedy="choose one")
    chosen = settings()
    history, text = HistoryQuery(chosen.history, chosen.timezone), _text(sql)
    if not text.isprintable() and any("\ud800" <= sign <= "\udfff" for sign in text):
        raise ConfigError("the query holds bytes that are no text", remedy="write it as UTF-8")
    if export:
        history.export(text, _form(export), sys.stdout.buffer)
        return
    found = history.page(text, limit)
    if as_json:
        columns = [{"name": column.name, "type": column.type} for column in found.columns]
        show_json({"columns": columns, "rows": found.rows, "truncated": found.truncated})
        return
    show_table([column.name for column in found.columns], found.rows, empty="no rows")
    if found.truncated:
        say(f"only the first {limit} rows are shown; use --limit or --export csv")


def _form(name: str) -> Literal["csv", "parquet"]:
    if name == "csv":
        return "csv"
    if name != "parquet":
        raise ConfigError(f"there is no export format {name!r}", remedy="use csv or parquet")
    if sys.stdout.isatty():
        raise ConfigError("Parquet is not for a terminal", remedy="redirect stdout to a file")
    return "parquet"


def _text(sql: str) -> str:
    if not sql.startswith("@"):
        return sql
    try:
        return Path(sql[1:]).read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{sql[1:]}: {error.strerror}", remedy="check the path") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{sql[1:]}: not a text file", remedy="save it as UTF-8") from error
