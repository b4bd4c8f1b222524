"""How the command line speaks: data to stdout, talk to stderr, one exit code for each kind of outcome."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Any, NoReturn

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from schemas import errors


class Exit(IntEnum):
    """Documented in docs/reference/cli.md."""

    OK = 0
    FAILED = 1
    USAGE = 2
    NOT_FOUND = 3
    UNHEALTHY = 4
    NEEDS_SIGN_IN = 5
    UNREACHABLE = 6
    REFUSED = 7
    INTERRUPTED = 130


_EXITS: tuple[tuple[type[errors.ForewatchError], Exit], ...] = (
    (errors.ConfigError, Exit.USAGE),
    (errors.NotFound, Exit.NOT_FOUND),
    (errors.AuthError, Exit.NEEDS_SIGN_IN),
    (errors.Unreachable, Exit.UNREACHABLE),
    (errors.Refused, Exit.REFUSED),
)

out = Console(highlight=False, soft_wrap=True)
talk = Console(stderr=True, highlight=False, soft_wrap=True)


def exit_code(error: errors.ForewatchError) -> Exit:
    return next((code for kind, code in _EXITS if isinstance(error, kind)), Exit.FAILED)


def say(text: str) -> None:
    """A line for the person, never data."""
    talk.print(escape(text))


def show_json(value: Any) -> None:
    """One JSON document; text as it is, not as \\u escapes, where stdout can say it."""
    is_utf8 = sys.stdout.encoding.lower().replace("-", "") == "utf8"
    sys.stdout.write(json.dumps(value, ensure_ascii=not is_utf8, indent=None, default=str) + "\n")
    sys.stdout.flush()


def show_table(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, empty: str) -> None:
    """A table on a terminal, tab-separated lines elsewhere; ``empty`` is said when there are no rows."""
    lines = [["" if cell is None else str(cell) for cell in row] for row in rows]
    if not lines:
        say(empty)
    elif out.is_terminal:
        table = Table(*columns, box=None, header_style="bold", pad_edge=False)
        for line in lines:
            table.add_row(*map(escape, line))
        out.print(table)
    else:
        for line in lines:
            sys.stdout.write("\t".join(cell.replace("\t", " ").replace("\n", " ") for cell in line) + "\n")


def fail(error: errors.ForewatchError) -> NoReturn:
    say(f"error: {error}")
    raise SystemExit(exit_code(error))
