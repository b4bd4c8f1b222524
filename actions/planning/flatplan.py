"""The flat profile of a plan's schema, for servers whose strict mode refuses unions: arguments as name, kind, value."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from actions.planning.brief import Brief
from actions.tools.tool import Manifest
from schemas.model import Json

_KINDS = ("literal", "fact", "from", "days", "text")
_PLACE = re.compile(r"\{([a-z0-9_.]+)\}")
_REPEAT = re.compile(r"([a-z0-9_]+) ([a-z_]+) (.{0,60}) every ([0-9]+[hdw]) at_most ([0-9]{1,6})(?: (fail|go_on))?")
_STEP_FIELD = re.compile(r"(s[0-9]{1,2})\.([a-z0-9_]+)")

SAYS = """\
Each argument is {"name", "kind", "value"}: kind literal has the value itself as text; fact the name of a fact; from a \
result as "s1.path"; days a day and a number as "today 3" or "fact.due -2"; text a text with places in braces, as \
"Due on {fact.due}: {s1.path}". repeat is "" or a rule as "text contains approved every 1d at_most 30"."""


def schema(brief: Brief, ids: Sequence[str], known: Sequence[str], frame: dict[str, Any]) -> dict[str, Json]:
    """No unions, no patterns, no lengths: the keywords that strict modes refuse most."""
    text = {"type": "string"}
    argument = _obj(name=text, kind={"type": "string", "enum": list(_KINDS)}, value=text)
    step = _obj(
        tool={"type": "string", "enum": [manifest.name for manifest in brief.tools]},
        id={"type": "string", "enum": list(ids)},
        depends_on={"type": "array", "items": {"type": "string", "enum": list(known)}},
        args={"type": "array", "items": argument},
        repeat=text,
        ask_first={"type": "boolean"},
        why=text,
    )
    question = _obj(slot=text, type=frame["properties"]["questions"]["items"]["properties"]["type"], text=text)
    return _obj(steps={"type": "array", "items": step}, questions={"type": "array", "items": question})


def expand(flat: Json, brief: Brief) -> Json:
    """The same plan in the strict shape; what is not understood stays as it is, for the checks to point at."""
    if not isinstance(flat, dict):
        return flat
    steps = flat.get("steps")
    return {**flat, "steps": [_step(step, brief) for step in steps]} if isinstance(steps, list) else flat


def _step(step: Json, brief: Brief) -> Json:
    if not isinstance(step, dict):
        return step
    manifest = brief.manifest(str(step.get("tool")))
    given = step.get("args")
    args = _args(given, manifest) if manifest and isinstance(given, list) else given
    evidence: list[Json] = []
    evidence += list(brief.evidence)[:4]
    return {**step, "args": args, "when": None, "repeat": _repeat(step.get("repeat")), "evidence": evidence}


def _repeat(text: Json) -> Json:
    if not text:
        return None
    found = _REPEAT.fullmatch(str(text).strip())
    if found is None:
        return text
    field, op, value, every, at_most, on_end = found.groups()
    wanted: Json = {"fact": value.strip("{} ")} if value.startswith("{") else _held_against(value)
    return {
        "field": field,
        "op": op,
        "value": wanted,
        "every": every,
        "at_most": int(at_most),
        "on_end": on_end or "fail",
    }


def _held_against(value: str) -> Json:
    try:
        found: Json = json.loads(value)
    except ValueError:
        return value
    return found if isinstance(found, bool | int | float) else value


def _args(given: list[Json], manifest: Manifest) -> Json:
    found: dict[str, Json] = {name: None for name, arg in manifest.args.items() if not arg.required}
    prefix = manifest.open_args
    further: list[Json] = []
    for item in given:
        name = str(item.get("name")) if isinstance(item, dict) else ""
        if prefix and name.startswith(prefix):
            further.append({"name": name.removeprefix(prefix), "value": _value(item, "Text")})
        elif name:
            found[name] = _value(item, manifest.args[name].type if name in manifest.args else "Text")
    return {**found, prefix.rstrip("."): further} if prefix else found


def _value(item: Json, type_: str) -> Json:
    kind = item.get("kind") if isinstance(item, dict) else None
    text = str(item.get("value", "")) if isinstance(item, dict) else ""
    match kind:
        case "fact":
            return {"fact": text.strip("{} ")}
        case "from" if reference := _STEP_FIELD.fullmatch(text.strip("{} ")):
            return {"from": reference[1], "field": reference[2]}
        case "days":
            name, _, days = text.strip().rpartition(" ")
            return {"days_from": name.strip("{} "), "days": int(days) if days.lstrip("+-").isdecimal() else days}
        case "text":
            return _template(text)
    return _literal(text, type_)


def _template(text: str) -> Json:
    parts: list[Json] = []

    def place(match: re.Match[str]) -> str:
        step = _STEP_FIELD.fullmatch(match[1])
        parts.append({"from": step[1], "field": step[2]} if step else {"fact": match[1]})
        return f"{{{len(parts) - 1}}}"

    return {"tpl": _PLACE.sub(place, text), "parts": parts}


def _literal(text: str, type_: str) -> Json:
    """As JSON where the type is no text; text that is none stays, and is then told to be of the wrong type."""
    if type_ not in ("Days", "Minutes", "Number", "Bool", "Money"):
        return text
    try:
        found: Json = json.loads(text)
    except ValueError:
        return text
    return found


def _obj(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
