"""The shape of a model's plan, compiled for one brief: only tools and facts that are there can be named.

Each argument is a union of what its nominal type takes: a literal, a fact, a field of an earlier step of a fitting
type, a text made of these. The limits of strict modes are kept (acting.md 1.2): a root object, ``anyOf`` only below
it, no defaults, every key required, objects of a union told apart by their first key, at most five levels.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from actions import nominal
from actions.planning import asked_again, flatplan
from actions.planning.ask import Form
from actions.planning.brief import Brief
from actions.planning.validate import MAX_STEPS
from actions.tools.tool import Arg, Manifest
from schemas.plan import OPS

MAX_QUESTIONS = 2
_TEXTS = {"Text": 400, "Query": 120, "Email": 120, "Url": 300, "FileName": 80}
_PATTERNS = {"Date": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$", "DateTime": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.+Z-]{5,20}$"}
_SAID = {
    "Date": "a day such as 2025-03-31",
    "DateTime": "an instant such as 2025-03-31T09:00:00+00:00",
    "Email": "a mail address",
    "FileName": "a bare file name",
}
_NUMBERS = {"Days": "integer", "Minutes": "integer", "Number": "number", "Bool": "boolean"}
_TEMPLATED = frozenset({"Text", "FileName"})
_ASKABLE = ("Text", "Date", "Email", "Money", "Number", "Bool")
"""What a model may ask the person for."""

Schema = dict[str, Any]


def form(brief: Brief) -> Form:
    """Deterministic: equal briefs give equal schemas, so that a server can cache its grammar."""
    flat = flatplan.schema(brief, brief.ids, known(brief), frame(brief))
    return Form("plan", strict(brief), flat, lambda found: flatplan.expand(found, brief), flatplan.SAYS)


def strict(brief: Brief) -> Schema:
    defs: Schema = _shared(brief)
    variants = [_variant(manifest, brief, defs) for manifest in brief.tools]
    return {**frame(brief, {"anyOf": variants}), "$defs": defs}


def frame(brief: Brief, step: Schema | None = None) -> Schema:
    """The root with its steps and questions."""
    slot = {"type": "string", "maxLength": 40, "pattern": "^[a-z][a-z_]{0,39}$", "description": "a_short_name"}
    question = obj(slot=slot, type=enum(_ASKABLE), text={"type": "string", "maxLength": 160})
    most = MAX_QUESTIONS if brief.may_ask else 0
    return obj(
        steps={"type": "array", "items": step or {}, "maxItems": MAX_STEPS},
        questions={"type": "array", "items": question, "maxItems": most},
    )


def _shared(brief: Brief) -> Schema:
    """What the steps of all tools have in common, defined once: a schema is sent with every request."""
    fields = sorted({field for field, _ in brief.returns})
    guard = obj(
        **{"from": enum(known(brief)), "field": enum(fields or ["none"]), "op": enum(("is", "is_not", "present"))}
    )
    guard["properties"]["value"] = {"anyOf": [{"type": "boolean"}, {"type": "string", "maxLength": 60}]}
    guard["required"].append("value")
    return {
        "id": enum(brief.ids),
        "depends_on": {"type": "array", "items": enum(known(brief)), "maxItems": 6},
        "when": {"anyOf": [guard, {"type": "null"}]},
        "repeat": {"anyOf": [_repeat(brief, fields), {"type": "null"}]},
        "evidence": {"type": "array", "items": enum(list(brief.evidence) or ["ev1"]), "maxItems": 4},
        "why": {"type": "string", "maxLength": 120},
    }


def _repeat(brief: Brief, fields: list[str]) -> Schema:
    """A question that is asked again: what of the answer is held against what, how often, how many times."""
    values = [{"type": "string", "maxLength": 60}, {"type": "number"}, {"type": "boolean"}, *_facts(brief, None)]
    return obj(
        field=enum(fields or ["none"]), op=enum(OPS), value={"anyOf": values}, every=enum(asked_again.EVERY),
        at_most={"type": "integer"}, on_end=enum(("fail", "go_on")),
    )  # fmt: skip


def may_repeat(manifest: Manifest) -> bool:
    """A question without a trace, whose answer says something."""
    return manifest.effect_class == "pure" and manifest.effect != "wait" and bool(manifest.returns)


def known(brief: Brief) -> tuple[str, ...]:
    """Steps that may be referred to: those that are done, and those of the answer."""
    return (*(brief.running.done if brief.running else ()), *brief.ids)


def obj(**properties: Any) -> Schema:
    """An object as strict modes want it."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def enum(values: Iterable[str]) -> Schema:
    return {"type": "string", "enum": list(values)}


def _variant(manifest: Manifest, brief: Brief, defs: Schema) -> Schema:
    args: Schema = {}
    for name, arg in manifest.args.items():
        options = [{"$ref": f"#/$defs/{_define(arg, brief, defs)}"}]
        args[name] = options[0] if arg.required else {"anyOf": [*options, {"type": "null"}]}
    if manifest.open_args:
        args[open_name(manifest)] = _open(brief, defs)
    shared = {name: {"$ref": f"#/$defs/{name}"} for name in ("id", "depends_on", "when", "repeat", "evidence", "why")}
    return obj(
        tool={"type": "string", "const": manifest.name},
        id=shared["id"],
        depends_on=shared["depends_on"],
        args=obj(**args),
        when=shared["when"],
        repeat=shared["repeat"] if may_repeat(manifest) else {"type": "null"},
        evidence=shared["evidence"],
        ask_first={"type": "boolean"},
        why=shared["why"],  # last, so that it cannot use up the tokens of the rest
    )


def open_name(manifest: Manifest) -> str:
    """The key under which further arguments of a tool stand: ``field.`` becomes ``field``."""
    return manifest.open_args.rstrip(".")


def _open(brief: Brief, defs: Schema) -> Schema:
    """Further arguments: no text templates in them, or the schema would be a level too deep."""
    if "any_value" not in defs:
        options = [{"type": "string", "maxLength": 200}, *_facts(brief, None), *_fields(brief, None)]
        defs["any_value"] = {"anyOf": options}
    item = obj(name={"type": "string", "maxLength": 40}, value={"$ref": "#/$defs/any_value"})
    return {"type": "array", "items": item, "maxItems": 10}


def _define(arg: Arg, brief: Brief, defs: Schema) -> str:
    """The name of the definition of what an argument of this type takes."""
    name = arg.type
    if name not in defs:
        options = [*literals(arg.type), *_facts(brief, arg.type), *_fields(brief, arg.type)]
        options += [_moment(brief)] if arg.type == "DateTime" else []
        options += [_template(brief)] if arg.type in _TEMPLATED else []
        defs[name] = {"anyOf": options or [{"type": "null"}]}
    return name


def literals(type_: str) -> list[Schema]:
    """What a model may write itself (``brief.WRITABLE``)."""
    if type_ in _TEXTS:
        return [_described(type_, {"type": "string", "maxLength": _TEXTS[type_]})]
    if type_ in _PATTERNS:
        return [_described(type_, {"type": "string", "maxLength": 32, "pattern": _PATTERNS[type_]})]
    if type_ in _NUMBERS:
        return [{"type": _NUMBERS[type_]}]
    if type_ == "Money":
        return [obj(amount={"type": "string", "maxLength": 14}, currency={"type": "string", "maxLength": 3})]
    return []


def _described(type_: str, schema: Schema) -> Schema:
    return {**schema, "description": _SAID[type_]} if type_ in _SAID else schema


def fitting(values: Mapping[str, str], wanted: str | None) -> list[str]:
    """Names whose type may stand where ``wanted`` (None: anything) is asked for."""
    return [name for name, type_ in values.items() if wanted is None or nominal.fits(type_, wanted)]


def _facts(brief: Brief, wanted: str | None) -> list[Schema]:
    names = fitting({name: value.type for name, value in brief.facts.items()}, wanted)
    return [obj(fact=enum(names))] if names else []


def _fields(brief: Brief, wanted: str | None) -> list[Schema]:
    fields = sorted({field for field, type_ in brief.returns if wanted is None or nominal.fits(type_, wanted)})
    return [obj(**{"from": enum(known(brief)), "field": enum(fields)})] if fields else []


def _moment(brief: Brief) -> Schema:
    """So many days after (or before) a day that is known; the owner's settings say at what o'clock."""
    days = [name for name, value in brief.facts.items() if value.type in ("Date", "DateTime")]
    return obj(days_from=enum(days), days={"type": "integer"})


def _template(brief: Brief) -> Schema:
    parts = {"anyOf": [*_facts(brief, None), *_fields(brief, None)]}
    return obj(tpl={"type": "string", "maxLength": 400}, parts={"type": "array", "items": parts, "maxItems": 4})
