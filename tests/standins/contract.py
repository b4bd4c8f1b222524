"""Exchanges held against JSON schemas that were written from a published API description."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker

from extractors.testing.standin import Asked, Reply

_FORMATS = FormatChecker()
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@_FORMATS.checks("uuid")
def _is_uuid(value: object) -> bool:
    return not isinstance(value, str) or _UUID.fullmatch(value) is not None


@dataclass(frozen=True)
class Operation:
    """``path`` is a pattern. ``query``: the parameters that there are, each with the pattern of its values.
    ``replies``: the schema's name by status; any other status must be ``error``."""

    method: str
    path: str
    replies: Mapping[int, str]
    query: Mapping[str, str] = field(default_factory=dict)
    body: str = ""


class Contract:
    """``schemas``: the components of the description, which refer to one another as ``#/$defs/NAME``."""

    def __init__(self, schemas: Mapping[str, Any], operations: list[Operation], error: str) -> None:
        self._schemas = schemas
        self._operations = operations
        self._error = error

    def violations(self, asked: Asked, reply: Reply) -> list[str]:
        for operation in self._operations:
            if operation.method == asked.method and re.fullmatch(operation.path, asked.path):
                return self._of(operation, asked, reply)
        return [f"there is no {asked.method} {asked.path}"]

    def _of(self, operation: Operation, asked: Asked, reply: Reply) -> list[str]:
        where = f"{asked.method} {asked.path}"
        found = [
            f"{where}: query {name}={value!r}"
            for name, value in asked.query.items()
            if name not in operation.query or not re.fullmatch(operation.query[name], value)
        ]
        if operation.body:
            found += self.faults(operation.body, asked.json(), where)
        elif asked.body:
            found.append(f"{where}: has no body")
        name = operation.replies.get(reply.status, self._error)
        return found + self.faults(name, json.loads(reply.body), f"{where} {reply.status}")

    def faults(self, name: str, value: Any, where: str = "") -> list[str]:
        schema = {"$ref": f"#/$defs/{name}", "$defs": dict(self._schemas)}
        errors = Draft202012Validator(schema, format_checker=_FORMATS).iter_errors(value)
        return [f"{where}: {error.json_path}: {error.message[:200]}" for error in errors]
