"""Exchanges with Google against its discovery documents, as JSON Schema.

A discovery document says which methods there are, with which parameters, and what each field of an answer is; it does
not say which fields must be there. What we know of that from Google's reference is in ``ALWAYS``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

from extractors.testing.standin import Asked, Reply
from tests.peers.google import document

ALWAYS: Mapping[str, list[str]] = {
    "Message": ["id"],
    "History": ["id"],
    "HistoryMessageAdded": ["message"],
    "HistoryMessageDeleted": ["message"],
    "HistoryLabelAdded": ["message", "labelIds"],
    "HistoryLabelRemoved": ["message", "labelIds"],
    "ListHistoryResponse": ["historyId"],
    "Profile": ["emailAddress", "historyId"],
    "Events": ["kind", "items"],
    "Event": ["id", "status"],
    "CalendarList": ["kind", "items"],
    "CalendarListEntry": ["id", "accessRole"],
    "EventAttendee": ["responseStatus"],
}
ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message", "errors"],
            "properties": {
                "code": {"type": "integer"},
                "message": {"type": "string"},
                "status": {"type": "string"},
                "errors": {"type": "array", "items": {"type": "object", "required": ["reason", "domain"]}},
                "details": {"type": "array"},
            },
            "additionalProperties": False,
        }
    },
    "additionalProperties": False,
}
_FORMATS = {
    "int64": r"^-?[0-9]{1,19}$",
    "uint64": r"^[0-9]{1,20}$",
    "byte": r"^[A-Za-z0-9_=-]*$",
    "date": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
    "date-time": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})?$",
}


@dataclass(frozen=True)
class Method:
    name: str
    verb: str
    path: re.Pattern[str]
    query: Draft202012Validator
    kinds: Mapping[str, str]
    answer: Draft202012Validator
    request: Draft202012Validator


def violations(name: str, asked: Asked, reply: Reply, *, may_write: bool = False) -> list[str]:
    """What of this exchange breaks the published contract of that API. PeerMissing where the contract is not here.
    Connectors may only read; tools may write."""
    known = (each for each in methods(name) if each.verb == asked.method and each.path.fullmatch(asked.path))
    method = next(known, None)
    if method is None or (asked.method != "GET" and not may_write):
        return [f"no method to read with: {asked.method} {asked.path}"]
    found = [f"{method.name}: {error.message}" for error in method.query.iter_errors(_typed(asked.query, method))]
    if not asked.headers.get("authorization", "").startswith("Bearer "):
        found.append(f"{method.name}: asked without a token")
    if asked.body:
        found += [
            f"{method.name}: asked with {e.json_path}: {e.message[:200]}"
            for e in method.request.iter_errors(asked.json())
        ]
    if not reply.body:
        return found
    judge = method.answer if reply.status == 200 else Draft202012Validator(ERROR)
    for error in judge.iter_errors(json.loads(reply.body)):
        found.append(f"{method.name}: {error.json_path}: {error.message[:200]}")
    return found


@cache
def methods(name: str) -> tuple[Method, ...]:
    published = document(name)
    definitions = {key: _object(key, schema) for key, schema in published["schemas"].items()}
    return tuple(_method(published, definitions, each) for each in _listed(published))


def _listed(resource: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from resource.get("methods", {}).values()
    for inner in resource.get("resources", {}).values():
        yield from _listed(inner)


def _method(published: Mapping[str, Any], definitions: Mapping[str, Any], given: Mapping[str, Any]) -> Method:
    parts = re.split(r"\{\+?[A-Za-z]+\}", given["path"])
    parameters = {key: each for key, each in given.get("parameters", {}).items() if each["location"] == "query"}
    known = {**published.get("parameters", {}), **parameters}
    query = {
        "type": "object",
        "properties": {key: _schema(each) for key, each in known.items()},
        "required": [key for key, each in parameters.items() if each.get("required")],
        "additionalProperties": False,
    }
    answer = {"$ref": f"#/$defs/{given['response']['$ref']}"} if "response" in given else {}
    request = _request(published, given)
    path = "/" + re.escape(published["servicePath"]) + "([^/]+)".join(map(re.escape, parts))
    return Method(
        name=given["id"],
        verb=given["httpMethod"],
        path=re.compile(path),
        query=Draft202012Validator(query),
        kinds={key: each["type"] for key, each in known.items()},
        answer=Draft202012Validator({**answer, "$defs": definitions}),
        request=Draft202012Validator(request),
    )


def _request(published: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """What may be sent: its fields and their kinds; which must be there is said of answers alone."""
    definitions = {key: _schema(schema) for key, schema in published["schemas"].items()}
    wanted = {"$ref": f"#/$defs/{given['request']['$ref']}"} if "request" in given else {"not": {}}
    return {**wanted, "$defs": definitions}


def _typed(query: Mapping[str, str], method: Method) -> dict[str, Any]:
    """The words of a query as their parameters have them; what does not fit stays text and is found."""
    return {key: _value(value, method.kinds.get(key, "string")) for key, value in query.items()}


def _value(value: str, kind: str) -> Any:
    if kind == "integer" and re.fullmatch(r"-?[0-9]+", value):
        return int(value)
    return {"true": True, "false": False}.get(value, value) if kind == "boolean" else value


def _object(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    return {**_schema(given), "required": ALWAYS.get(name, [])}


def _schema(given: Mapping[str, Any]) -> dict[str, Any]:
    """One discovery schema as JSON Schema; an object has the fields that it lists and no others."""
    if "$ref" in given:
        return {"$ref": f"#/$defs/{given['$ref']}"}
    schema: dict[str, Any] = {} if given.get("type", "any") == "any" else {"type": given["type"]}
    if given.get("type") == "string" and given.get("format") in _FORMATS:
        schema["pattern"] = _FORMATS[given["format"]]
    for bound in ("minimum", "maximum"):
        if bound in given:
            schema[bound] = int(given[bound])
    if "enum" in given:
        schema["enum"] = given["enum"]
    if "items" in given:
        schema["items"] = _schema(given["items"])
    if "properties" in given:
        schema["properties"] = {key: _schema(each) for key, each in given["properties"].items()}
        schema["additionalProperties"] = False
    elif "additionalProperties" in given:
        schema["additionalProperties"] = _schema(given["additionalProperties"])
    return schema
