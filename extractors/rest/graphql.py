"""GraphQL: documents that only read, and the errors that come with status 200."""

from __future__ import annotations

import re
from typing import Any, Literal

from extractors.text import one_line
from schemas.model import Json

Outcome = Literal["retry", "reauth", "missing_scope", "fail"]

_TOKEN = re.compile(r'"""(?:[^"\\]|\\.|"(?!""))*"""|"(?:[^"\\\n]|\\.)*"|#[^\n]*|[{}()]|[A-Za-z_][A-Za-z0-9_]*')
_OPERATIONS = ("query", "mutation", "subscription", "fragment")
_CODES: dict[str, Outcome] = {
    **dict.fromkeys(("THROTTLED", "RATE_LIMITED", "RATELIMITED", "RATE_LIMIT_EXCEEDED", "TOO_MANY_REQUESTS"), "retry"),
    **dict.fromkeys(("UNAUTHENTICATED", "UNAUTHORIZED", "AUTHENTICATION_ERROR"), "reauth"),
    **dict.fromkeys(("FORBIDDEN", "ACCESS_DENIED", "INSUFFICIENT_SCOPES", "INSUFFICIENT_SCOPE"), "missing_scope"),
}
"""Words that servers put into ``extensions.code`` or ``type``."""


def refusal(document: str) -> str:
    """Why this document may not be sent; empty for exactly one query, with fragments or without."""
    depth = 0
    operations: list[str] = []
    for match in _TOKEN.finditer(document):
        token = match.group()
        if token in ("{", "("):
            if token == "{" and depth == 0 and (not operations or operations[-1] == "}"):
                operations.append("query")
            depth += 1
        elif token in ("}", ")"):
            depth -= 1
            if depth == 0 and token == "}":
                operations.append("}")
        elif depth == 0 and token in _OPERATIONS and (not operations or operations[-1] == "}"):
            operations.append(token)
        if depth < 0:
            break
    if depth != 0:
        return "the braces of the document do not match"
    kinds = [kind for kind in operations if kind not in ("}", "fragment")]
    if kinds and kinds[0] in ("mutation", "subscription"):
        return f"a {kinds[0]} is no query"
    return "" if kinds == ["query"] else "the document holds not exactly one query"


def errors(document: Json) -> list[dict[str, Any]]:
    found = document.get("errors") if isinstance(document, dict) else None
    return [error for error in found if isinstance(error, dict)] if isinstance(found, list) else []


def outcome(found: list[dict[str, Any]]) -> Outcome:
    """What the codes of the errors mean together; fail where none is known."""
    for error in found:
        extensions = error.get("extensions")
        inner = extensions if isinstance(extensions, dict) else {}
        for code in (inner.get("code"), inner.get("type"), error.get("type")):
            if isinstance(code, str) and code.upper() in _CODES:
                return _CODES[code.upper()]
    return "fail"


def message(found: list[dict[str, Any]]) -> str:
    return one_line(str(found[0].get("message") or "no message"), 200) if found else ""
