"""Values as SQL text, for the places where DuckDB takes no parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def literal(value: str | Iterable[str]) -> str:
    """A string, or a list of strings."""
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return "[" + ", ".join(map(literal, value)) + "]"


def identifiers(names: Iterable[str]) -> str:
    return ", ".join('"' + name.replace('"', '""') + '"' for name in names)


def struct(columns: Mapping[str, str]) -> str:
    """Names and types, as ``read_json`` takes its ``columns``."""
    return "{" + ", ".join(f"{identifiers([name])}: {literal(kind)}" for name, kind in columns.items()) + "}"
