"""From a server's JSON Schemas to our nominal types, and from our arguments to what the server wants."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from actions.plugins.manifest import PluginArg
from actions.tools.tool import Arg, Args
from schemas.errors import StepFailed
from schemas.model import Json

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,40}")
_FORMATS = {"email": "Email", "idn-email": "Email", "uri": "Url", "url": "Url", "date": "Date", "date-time": "DateTime"}
_SCALARS = {"string": "Text", "number": "Number", "integer": "Number", "boolean": "Bool"}
MOST_ARGUMENTS = 24


def arguments(schema: Mapping[str, Json], known: Mapping[str, PluginArg], *, goes_out: bool) -> dict[str, Arg]:
    """By name. ValueError says why a tool cannot be offered.

    What is no plain value is given as JSON text, whose sink is ``command``: structure never comes from outside words.
    ``goes_out``: what is asked leaves the machine, so that plain text in it is a ``query``.
    """
    properties = schema.get("properties") or {}
    if not isinstance(properties, dict) or len(properties) > MOST_ARGUMENTS:
        raise ValueError(f"its arguments are not a list of at most {MOST_ARGUMENTS}")
    required = schema.get("required") or []
    wanted = {str(name) for name in required} if isinstance(required, list) else set()
    if strange := [name for name in (*properties, *wanted, *known) if not _NAME.fullmatch(name)]:
        raise ValueError(f"the argument {strange[0][:60]!r} has a name that could be read as words")
    if missing := sorted((set(known) | wanted) - set(properties)):
        raise ValueError(f"its schema has no argument {missing[0]!r}")
    return {
        name: _argument(_form(part), known.get(name, PluginArg()), required=name in wanted, goes_out=goes_out)
        for name, part in properties.items()
    }


def _argument(form: str | None, known: PluginArg, *, required: bool, goes_out: bool) -> Arg:
    if form is None:
        return Arg(type="Text", sink="command", required=required, says=known.says or "JSON text, fixed in the plan")
    type_ = known.type or form
    sink = known.sink or ("query" if goes_out and type_ == "Text" else None)
    return Arg(type=type_, sink=sink, required=required, says=known.says)


def _form(part: Json) -> str | None:
    """The nominal type of a schema; None for what is no plain value."""
    if not isinstance(part, dict):
        return None
    kind: Any = part.get("type")
    variants = part.get("anyOf")
    if kind is None and isinstance(variants, list):
        some = [each for each in variants if not (isinstance(each, dict) and each.get("type") == "null")]
        return _form(some[0]) if len(some) == 1 else None
    if isinstance(kind, list):
        kind = next((each for each in kind if each != "null"), None) if len(kind) == 2 and "null" in kind else None
    if kind == "string":
        return _FORMATS.get(str(part.get("format")), "Text")
    return _SCALARS.get(str(kind))


def returns(schema: Mapping[str, Json] | None) -> dict[str, str]:
    """What a later step may refer to: the text, and each plain value that the server promises always to give."""
    promised: dict[str, str] = {"text": "Text"}
    properties = (schema or {}).get("properties")
    required = (schema or {}).get("required")
    if isinstance(properties, dict) and isinstance(required, list):
        for name in map(str, required):
            form = _form(properties.get(name))
            if form and _NAME.fullmatch(name) and name not in promised:
                promised[name] = form
    return promised


def given(args: Args, schema: Mapping[str, Json]) -> dict[str, Json]:
    """The arguments as the server's schema wants them. StepFailed, before anything is sent, for what cannot be."""
    properties = schema.get("properties") or {}
    assert isinstance(properties, dict)
    out: dict[str, Json] = {}
    for name, value in args.items():
        part = properties.get(name)
        if part is None:
            raise StepFailed(f"the tool has no argument {name!r}", code="invalid")
        out[name] = _given(name, value, part)
    return out


def _given(name: str, value: Json, part: Json) -> Json:
    if _form(part) is None and isinstance(value, str):
        try:
            parsed: Json = json.loads(value)
        except ValueError as error:
            raise StepFailed(f"{name} is not JSON: {error}", code="invalid") from error
        return parsed
    is_whole = isinstance(part, dict) and part.get("type") == "integer" and isinstance(value, float)
    return int(value) if is_whole and isinstance(value, float) and value.is_integer() else value
