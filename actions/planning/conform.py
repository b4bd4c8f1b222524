"""Does a JSON value fit a schema? The subset of JSON Schema that a plan's schema is written in, with faults that say
where and what to do. A schema that a server was given is never taken to have been obeyed."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from actions.planning.validate import Fault
from schemas.model import Json

Schema = Mapping[str, Any]

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "integer": (int,), "number": (int, float),
    "boolean": (bool,), "null": (type(None),),
}  # fmt: skip


def misfits(value: Json, schema: Schema, root: Schema, at: str = "") -> Iterator[Fault]:
    """Keys that an object's schema does not name are no fault (nothing reads them), but for unknown arguments."""
    schema = _resolved(schema, root)
    if "anyOf" in schema:
        yield from _any(value, [_resolved(option, root) for option in schema["anyOf"]], root, at)
    elif not _is_type(value, schema["type"]):
        yield Fault(at, "wrong_type", f"{_short(value)} is no {schema['type']}", f"give {_wanted(schema)}")
    elif isinstance(value, dict):
        yield from _object(value, schema, root, at)
    elif isinstance(value, list):
        yield from _array(value, schema, root, at)
    else:
        yield from _scalar(value, schema, at)


def _resolved(schema: Schema, root: Schema) -> Schema:
    if "$ref" not in schema:
        return schema
    found: Schema = root["$defs"][schema["$ref"].removeprefix("#/$defs/")]
    return found


def _is_type(value: Json, wanted: str) -> bool:
    if isinstance(value, bool):
        return wanted == "boolean"
    return isinstance(value, _TYPES[wanted])


def _any(value: Json, options: Sequence[Schema], root: Schema, at: str) -> Iterator[Fault]:
    flat = [inner for option in options for inner in _flattened(option, root)]
    fitting = [option for option in flat if _is_type(value, option["type"]) and _is_meant(value, option)]
    if fitting:
        yield from misfits(value, fitting[0], root, at)
        return
    tools = [option["properties"]["tool"]["const"] for option in flat if "tool" in option.get("properties", {})]
    if tools and isinstance(value, dict):
        yield _unknown_tool(value.get("tool"), tools, at)
        return
    wanted = " or ".join(dict.fromkeys(_wanted(option) for option in flat))
    yield Fault(at, "wrong_type", f"{_short(value)} does not fit here", f"give {wanted}")


def _flattened(schema: Schema, root: Schema) -> list[Schema]:
    if "anyOf" not in schema:
        return [schema]
    return [inner for option in schema["anyOf"] for inner in _flattened(_resolved(option, root), root)]


def _is_meant(value: Json, option: Schema) -> bool:
    """Of several kinds of object, the first key tells which: its presence, or its constant."""
    if not isinstance(value, dict):
        return True
    key, first = next(iter(option["properties"].items()))
    return key in value and ("const" not in first or first["const"] == value[key])


def _unknown_tool(name: Json, tools: list[str], at: str) -> Fault:
    close = difflib.get_close_matches(str(name), tools, 1)
    hint = f"did you mean {close[0]!r}?" if close else f"use one of {', '.join(tools)}"
    return Fault(f"{at}/tool", "unknown_tool", f"no tool {_short(name)}", hint)


def _object(value: dict[str, Json], schema: Schema, root: Schema, at: str) -> Iterator[Fault]:
    known: Mapping[str, Schema] = schema["properties"]
    for name in schema["required"]:
        if name not in value:
            yield Fault(
                f"{at}/{name}", "missing", f"{name!r} is missing", f"give {_wanted(_resolved(known[name], root))}"
            )
    for name, item in value.items():
        if name in known:
            yield from misfits(item, known[name], root, f"{at}/{name}")
        elif at.endswith("/args"):
            hint = f"it takes {', '.join(known) or 'none'}"
            yield Fault(f"{at}/{_short(name)}", "unknown_argument", f"there is no {_short(name)} here", hint)


def _array(value: list[Json], schema: Schema, root: Schema, at: str) -> Iterator[Fault]:
    if len(value) > schema.get("maxItems", len(value)):
        yield Fault(at, "too_long", f"{len(value)} items; at most {schema['maxItems']}", "leave the rest out")
        return
    for number, item in enumerate(value):
        yield from misfits(item, schema["items"], root, f"{at}/{number}")


def _scalar(value: Json, schema: Schema, at: str) -> Iterator[Fault]:
    if "const" in schema and value != schema["const"]:
        yield Fault(at, "bad_value", f"{_short(value)} is not {schema['const']!r}", f"use {schema['const']!r}")
    elif "enum" in schema and value not in schema["enum"]:
        close = difflib.get_close_matches(str(value), [str(item) for item in schema["enum"]], 1)
        hint = f"did you mean {close[0]!r}?" if close else f"use one of {', '.join(map(str, schema['enum'][:20]))}"
        yield Fault(at, "bad_value", f"{_short(value)} is not known here", hint)
    elif isinstance(value, str) and len(value) > schema.get("maxLength", len(value)):
        yield Fault(at, "too_long", f"{len(value)} characters; at most {schema['maxLength']}", "say it shorter")
    elif isinstance(value, str) and not re.fullmatch(schema.get("pattern", r"(?s).*"), value):
        yield Fault(at, "bad_value", f"{_short(value)} does not fit", f"give {_wanted(schema)}")


def _wanted(schema: Schema) -> str:
    """The schema in a few words."""
    if "anyOf" in schema:
        return "one of its forms"
    if "const" in schema:
        return repr(schema["const"])
    if "description" in schema:
        return str(schema["description"])
    if schema["type"] == "object":
        return f"an object with {', '.join(schema['required'])}"
    article = "an" if schema["type"] in ("array", "integer") else "a"
    return "null" if schema["type"] == "null" else f"{article} {schema['type']}"


def _short(value: Json) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
