"""What SQL of a person may be: one SELECT over the views, told apart on DuckDB's own parse tree, never on the text.

It is the first of several fences (see docs/decisions/0006): behind it the engine is locked and the process sandboxed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from schemas.errors import Refused

Node = dict[str, Any]
"""An object of the parse tree, as DuckDB writes it in JSON."""

LENGTH_MAX = 100_000
"""Characters of one query."""

NODES = frozenset({"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"})
"""The statements that only read; DuckDB 2 allows COPY, INSERT, UPDATE and DELETE inside of WITH as well."""

TABLE_FUNCTIONS = frozenset({"unnest", "range", "generate_series", "json_each", "json_tree"})
"""The functions that may stand after FROM: none of them reaches a file, a setting or another query."""

ALLOWED = "history query takes one SELECT over the views of history (events, mail, bank, proposals, ...)"


@dataclass(frozen=True, slots=True)
class Query:
    """``text`` may be put in brackets. ``tables`` are the names that it reads from and does not define itself; None
    where it asks what there is to read."""

    text: str
    tables: frozenset[str] | None


def check(connection: duckdb.DuckDBPyConnection, sql: str) -> Query:
    """Refused with a line that says what is wrong and what is allowed. Nothing of the query is run or looked up."""
    if len(sql) > LENGTH_MAX:
        raise Refused(f"the query is longer than {LENGTH_MAX} characters", code="too_long", remedy=ALLOWED)
    statements = connection.extract_statements(sql)
    if len(statements) != 1:
        found = f"{len(statements)} statements" if statements else "no statement"
        raise Refused(f"the query has {found}", code="not_one_statement", remedy=ALLOWED)
    if statements[0].type != duckdb.StatementType.SELECT:
        kind = _kind(statements[0])
        raise Refused(f"{kind} is not allowed", code="not_a_select", remedy=ALLOWED)
    text = _without_end(sql)
    nodes = list(_nodes(_tree(connection, text)))
    for node in nodes:
        _check_node(node)
    return Query(text, _tables(nodes))


def _without_end(sql: str) -> str:
    """The text before the semicolon that ends the statement; what follows it can only be comments."""
    text = sql.encode()
    for offset, kind in duckdb.tokenize(sql):
        if kind == duckdb.token_type.operator and text[offset : offset + 1] == b";":
            return text[:offset].decode()
    return sql


def _kind(statement: duckdb.Statement) -> str:
    if statement.type == duckdb.StatementType.MULTI:
        return "a PIVOT statement (write SELECT ... FROM x PIVOT (...), or GROUP BY)"
    return statement.type.name.replace("_", " ")


def _tree(connection: duckdb.DuckDBPyConnection, query: str) -> Any:
    found = connection.execute("SELECT json_serialize_sql(?)", [query]).fetchone()
    tree = json.loads(found[0]) if found else {}
    if tree.get("error", True):
        raise Refused("this form of SELECT cannot be checked", code="not_a_select", remedy=ALLOWED)
    return tree


def _check_node(node: Node) -> None:
    kind = str(node.get("type", ""))
    if kind.endswith("_NODE") and kind not in NODES:
        inner = kind.removesuffix("_NODE").removesuffix("_QUERY")
        raise Refused(f"{inner} inside of the query is not allowed", code="not_a_select", remedy=ALLOWED)
    if kind == "TABLE_FUNCTION":
        name = str((node.get("function") or {}).get("function_name", "")).lower()
        if name not in TABLE_FUNCTIONS:
            raise Refused(f"the table function {name}() is not allowed", code="not_allowed", remedy=ALLOWED)


def _tables(nodes: Sequence[Node]) -> frozenset[str] | None:
    if any(node.get("type") == "SHOW_REF" for node in nodes):
        return None
    defined = {entry["key"].lower() for node in nodes for entry in (node.get("cte_map") or {}).get("map", ())}
    read = {str(node.get("table_name", "")).lower() for node in nodes if node.get("type") == "BASE_TABLE"}
    return frozenset(read - defined)


def _nodes(tree: Any) -> Iterator[Node]:
    """Every object of the tree. Not recursive: a query may nest deeper than Python's stack."""
    waiting = [tree]
    while waiting:
        match waiting.pop():
            case dict() as node:
                yield node
                waiting.extend(node.values())
            case list() as items:
                waiting.extend(items)
