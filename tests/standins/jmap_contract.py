"""What RFC 8620 (core) and RFC 8621 (mail) say of the shapes of sessions, requests and answers, as JSON Schema."""

from __future__ import annotations

from typing import Any

from jsonschema import Draft202012Validator

_ID = {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,255}$"}
_IDS = {"type": "array", "items": _ID, "uniqueItems": True}
_STRING = {"type": "string"}
_COUNT = {"type": "integer", "minimum": 0, "maximum": 2**53 - 1}
_DATE = {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d*[1-9])?Z$"}
_SET = {"type": "object", "additionalProperties": {"const": True}}
_REFERENCE = {
    "type": "object",
    "required": ["resultOf", "name", "path"],
    "properties": {"resultOf": _STRING, "name": _STRING, "path": {"type": "string", "pattern": "^/"}},
    "additionalProperties": False,
}


def _object(required: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    properties = {**required, **(optional or {})}
    return {"type": "object", "required": [*required], "properties": properties, "additionalProperties": False}


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]}


_INVOCATION = {
    "type": "array",
    "prefixItems": [_STRING, {"type": "object"}, _STRING],
    "minItems": 3,
    "items": False,
}
_ACCOUNT = _object(
    {
        "name": _STRING,
        "isPersonal": {"type": "boolean"},
        "isReadOnly": {"type": "boolean"},
        "accountCapabilities": {"type": "object"},
    }
)
_CORE = _object(
    {
        "maxSizeUpload": _COUNT,
        "maxConcurrentUpload": _COUNT,
        "maxSizeRequest": _COUNT,
        "maxConcurrentRequests": _COUNT,
        "maxCallsInRequest": _COUNT,
        "maxObjectsInGet": _COUNT,
        "maxObjectsInSet": _COUNT,
        "collationAlgorithms": {"type": "array", "items": _STRING},
    }
)
SESSION = _object(
    {
        "capabilities": {
            "type": "object",
            "required": ["urn:ietf:params:jmap:core"],
            "properties": {"urn:ietf:params:jmap:core": _CORE},
        },
        "accounts": {"type": "object", "propertyNames": _ID, "additionalProperties": _ACCOUNT},
        "primaryAccounts": {"type": "object", "additionalProperties": _ID},
        "username": _STRING,
        "apiUrl": _STRING,
        "downloadUrl": {"type": "string", "pattern": r"\{accountId\}.*\{blobId\}"},
        "uploadUrl": _STRING,
        "eventSourceUrl": _STRING,
        "state": _STRING,
    }
)
REQUEST = _object(
    {"using": {"type": "array", "items": _STRING}, "methodCalls": {"type": "array", "items": _INVOCATION}},
    {"createdIds": {"type": "object"}},
)
RESPONSE = _object(
    {"methodResponses": {"type": "array", "items": _INVOCATION}, "sessionState": _STRING},
    {"createdIds": {"type": "object"}},
)

_GET = {
    "ids": _nullable(_IDS),
    "#ids": _REFERENCE,
    "properties": _nullable({"type": "array", "items": _STRING}),
}
_SORT = _object({"property": _STRING}, {"isAscending": {"type": "boolean"}, "collation": _STRING})
_FILTER = _object({}, {"after": _DATE, "before": _DATE, "inMailbox": _ID, "inMailboxOtherThan": _IDS})
ARGUMENTS: dict[str, dict[str, Any]] = {
    "Mailbox/get": _object({"accountId": _ID}, _GET),
    "Email/get": _object({"accountId": _ID}, _GET),
    "Email/changes": _object({"accountId": _ID, "sinceState": _STRING}, {"maxChanges": {**_COUNT, "minimum": 1}}),
    "Email/query": _object(
        {"accountId": _ID},
        {
            "filter": _nullable(_FILTER),
            "sort": _nullable({"type": "array", "items": _SORT}),
            "position": {"type": "integer"},
            "anchor": _nullable(_ID),
            "anchorOffset": {"type": "integer"},
            "limit": _nullable(_COUNT),
            "calculateTotal": {"type": "boolean"},
            "collapseThreads": {"type": "boolean"},
        },
    ),
}

_MAILBOX = _object(
    {"id": _ID},
    {
        "name": {"type": "string", "minLength": 1},
        "parentId": _nullable(_ID),
        "role": _nullable({"type": "string", "pattern": "^[a-z]+$"}),
        "sortOrder": _COUNT,
        "totalEmails": _COUNT,
        "unreadEmails": _COUNT,
        "isSubscribed": {"type": "boolean"},
    },
)
_EMAIL = _object(
    {"id": _ID},
    {
        "blobId": _ID,
        "threadId": _ID,
        "mailboxIds": {**_SET, "propertyNames": _ID, "minProperties": 1},
        "keywords": {**_SET, "propertyNames": {"pattern": r"^[^A-Z()\]{}%*\"\\\s]{1,255}$"}},
        "size": _COUNT,
        "receivedAt": _DATE,
    },
)


def _got(item: dict[str, Any]) -> dict[str, Any]:
    return _object({"accountId": _ID, "state": _STRING, "list": {"type": "array", "items": item}, "notFound": _IDS})


ANSWERS: dict[str, dict[str, Any]] = {
    "Mailbox/get": _got(_MAILBOX),
    "Email/get": _got(_EMAIL),
    "Email/changes": _object(
        {
            "accountId": _ID,
            "oldState": _STRING,
            "newState": _STRING,
            "hasMoreChanges": {"type": "boolean"},
            "created": _IDS,
            "updated": _IDS,
            "destroyed": _IDS,
        }
    ),
    "Email/query": _object(
        {
            "accountId": _ID,
            "queryState": _STRING,
            "canCalculateChanges": {"type": "boolean"},
            "position": _COUNT,
            "ids": _IDS,
        },
        {"total": _COUNT, "limit": _COUNT},
    ),
    "error": {"type": "object", "required": ["type"], "properties": {"type": _STRING, "description": _STRING}},
}


def violations(schema: dict[str, Any], document: Any) -> list[str]:
    found = Draft202012Validator(schema).iter_errors(document)
    return [f"{error.message[:200]} at {error.json_path}" for error in found]


def exchange(request: Any, response: Any) -> list[str]:
    """What of one API request and its answer is against the RFCs."""
    found = [*violations(REQUEST, request), *violations(RESPONSE, response)]
    if found:
        return found
    for method, arguments, _ in request["methodCalls"]:
        found += [f"{method}: {each}" for each in violations(ARGUMENTS[method], arguments)]
        if "ids" in arguments and "#ids" in arguments:
            found.append(f"{method}: both ids and a reference to them")
    asked = [id for _, _, id in request["methodCalls"]]
    if [id for _, _, id in response["methodResponses"]] != asked:
        found.append("the answers are not those of the calls")
    for method, answer, _ in response["methodResponses"]:
        found += [f"{method}: {each}" for each in violations(ANSWERS[method], answer)]
    return found
