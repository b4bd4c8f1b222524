"""From the text of a model's answer to a JSON object, by the rung on which it was asked (pure)."""

from __future__ import annotations

import json

from actions.planning.ask import Answer, Failure, Form, Outcome, Rung
from schemas.model import Json

MAX_DEPTH = 40
"""Deeper nesting is no plan, and costs the parser."""


def read(text: str, rung: Rung, form: Form) -> Outcome:
    """``invalid`` for what is no JSON object."""
    found = first_object(text) if rung in ("object", "text") else text
    document = _parse(found)
    if not isinstance(document, dict):
        return Failure("invalid")
    if rung != "flat":
        return Answer(document)
    expanded = form.expand(document)
    return Answer(expanded) if isinstance(expanded, dict) else Failure("invalid")


def first_object(text: str) -> str:
    """The first balanced ``{...}``, strings respected; "" if there is none. Prose and code fences around it go."""
    start = text.find("{")
    depth, quoted, escaped = 0, False, False
    for at in range(max(start, 0), len(text)):
        char = text[at]
        if escaped:
            escaped = False
        elif quoted:
            escaped, quoted = char == "\\", char != '"'
        elif char == '"':
            quoted = True
        elif char in "{}":
            depth += 1 if char == "{" else -1
            if depth == 0:
                return text[start : at + 1]
    return ""


def _parse(text: str) -> Json:
    try:
        found: Json = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return found if _depth(found) <= MAX_DEPTH else None


def _refuse(constant: str) -> Json:
    raise ValueError(f"{constant} is no JSON")


def _depth(value: Json, at: int = 0) -> int:
    if at > MAX_DEPTH or not isinstance(value, dict | list):
        return at
    inner = value.values() if isinstance(value, dict) else value
    return max((_depth(item, at + 1) for item in inner), default=at)
