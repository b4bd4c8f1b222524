"""Exchanges with Plaid held against its published OpenAPI description, which is read from beside the repository."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft4Validator
from ruamel.yaml import YAML

from extractors.testing.standin import Asked, Reply

SPEC = Path(__file__).parents[3] / "shared" / "specs" / "plaid-2020-09-14.yml"
_REF = "#/components/schemas/"
_NAMES = {
    "/transactions/sync": "TransactionsSync",
    "/item/get": "ItemGet",
    "/accounts/get": "AccountsGet",
    "/link/token/create": "LinkTokenCreate",
    "/link/token/get": "LinkTokenGet",
    "/item/remove": "ItemRemove",
    "/item/public_token/exchange": "ItemPublicTokenExchange",
}


def is_here() -> bool:
    return SPEC.is_file()


def violations(asked: Asked, reply: Reply) -> list[str]:
    """What of this exchange breaks the description; nothing where the description is not at hand."""
    if not is_here():
        return []
    name = _NAMES.get(asked.path)
    if name is None or asked.method != "POST":
        return [f"there is no {asked.method} {asked.path}"]
    missing = {"plaid-client-id", "plaid-secret", "plaid-version"} - set(asked.headers)
    found = [f"{asked.path}: no header {each}" for each in sorted(missing)]
    found += _faults(f"{name}Request", asked.json(), is_closed=True)
    answer = f"{name}Response" if reply.status == 200 else "PlaidError"
    return found + _faults(answer, json.loads(reply.body))


def _faults(name: str, value: Any, *, is_closed: bool = False) -> list[str]:
    schema = _schema(name)
    if is_closed:
        unknown = sorted(set(value) - set(schema["$defs"][name]["properties"]))
        if unknown:
            return [f"{name}: {unknown} is not known"]
    errors = Draft4Validator(schema).iter_errors(value)
    return [f"{name}: {'/'.join(map(str, error.absolute_path))}: {error.message[:200]}" for error in errors]


def prepare(*paths: str) -> None:
    """Reads what these paths need, which takes longer than a client waits for an answer."""
    if is_here():
        for path in paths:
            for end in ("Request", "Response"):
                _schema(f"{_NAMES[path]}{end}")
        _schema("PlaidError")


@cache
def _schema(name: str) -> dict[str, Any]:
    """The schema with all that it refers to. The description is 3 MB, so only these parts of it are parsed."""
    blocks, wanted, found = _blocks(), [name], {}
    while wanted:
        each = wanted.pop()
        if each not in found:
            found[each] = _plain(YAML(typ="safe").load(blocks[each])[each])
            wanted += re.findall(re.escape(_REF) + r"(\w+)", blocks[each])
    return {"$ref": f"#/$defs/{name}", "$defs": found}


@cache
def _blocks() -> dict[str, str]:
    text = SPEC.read_text("utf-8")
    text = text[text.index("\n  schemas:\n") + len("\n  schemas:\n") :]
    parts = re.split(r"^    (?=\w+:$)", text, flags=re.MULTILINE)
    return {part.partition(":")[0]: part for part in parts if part.strip()}


def _plain(schema: Any) -> Any:
    """OpenAPI 3.0 as JSON Schema: null by type, references by place, nothing that is not about the data."""
    if isinstance(schema, list):
        return [_plain(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: _plain(each) for key, each in schema.items() if not str(key).startswith("x-")}
    if isinstance(found.get("$ref"), str):
        found["$ref"] = found["$ref"].replace(_REF, "#/$defs/")
    if found.pop("nullable", False) is True:
        if "$ref" in found or "allOf" in found or "oneOf" in found:
            return {"anyOf": [found, {"type": "null"}]}
        if isinstance(found.get("type"), str):
            found["type"] = [found["type"], "null"]
        if "enum" in found:
            found["enum"] = [*found["enum"], None]
    return found
