"""From the arguments of a plan to labelled values: a derived value has the least trust of all that went into it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import assert_never

from actions import nominal
from actions.policy.identifiers import Identifier, find, strip
from actions.tools.tool import SELF_EFFECTS, SPANS, Manifest
from schemas.plan import Argument, Fixed, Guard, Plan, Ref, Step, Template
from schemas.value import Integrity, Value, least

Results = Mapping[str, Mapping[str, Value]]
"""Step uid -> field -> value, of the steps that ended ``ok``."""
Source = Callable[[Ref], Value | None]

_PLACE = re.compile(r"\{(\d+)\}")


class Unresolved(Exception):
    """An argument points at a result that is not there (its step was skipped)."""

    def __init__(self, ref: Ref) -> None:
        super().__init__(f"{ref.step}.{ref.field}")
        self.ref = ref


Removed = tuple[tuple[str, Identifier], ...]
"""(argument, identifier) that was taken out of what leaves."""


def resolve(
    plan: Plan, step: Step, results: Results, manifest: Manifest | None, kept: Collection[str] = ()
) -> dict[str, Value]:
    """The exact arguments of a step whose inputs are there; Unresolved for one that is not.

    Outside words that leave the owner lose their addresses and numbers, but for those that are ``kept``.
    """
    return resolved(plan, step, results, manifest, kept)[0]


def resolved(
    plan: Plan, step: Step, results: Results, manifest: Manifest | None, kept: Collection[str] = ()
) -> tuple[dict[str, Value], Removed]:
    """The exact arguments, and what was taken out of them."""

    def source(ref: Ref) -> Value | None:
        return results.get(plan.step(ref.step).uid, {}).get(ref.field)

    guard = _guard_value(step.when, source)
    args, gone = {}, []
    for name, arg in step.args.items():
        value = _typed(name, _value(arg, source, guard), manifest)
        args[name], removed = _stripped(name, arg, value, source, manifest, kept)
        gone += [(name, identifier) for identifier in removed]
    return args, tuple(gone)


def foreseen(plan: Plan, step: Step, manifests: Callable[[str], Manifest | None]) -> dict[str, Value]:
    """Arguments as the plan alone tells: results that do not exist yet have a type and a label, and no value."""

    def source(ref: Ref) -> Value | None:
        other = plan.step(ref.step)
        manifest = manifests(other.tool)
        type_ = manifest.returns.get(ref.field) if manifest else None
        if manifest is None or type_ is None:
            return None
        return Value(type=type_, sources=(other.uid,), integrity=manifest.integrity_out, how="tool")

    found = {}
    for name, arg in step.args.items():
        try:
            value = _typed(name, _value(arg, source, None), manifests(step.tool))
            found[name] = _stripped(name, arg, value, source, manifests(step.tool), ())[0]
        except (Unresolved, KeyError):
            continue
    return found


def is_exact(step: Step) -> bool:
    """Does the plan alone fix every argument, so that an approval of the plan is an approval of the arguments?"""
    return not any(refs(arg) for arg in step.args.values())


def refs(argument: Argument) -> list[Ref]:
    match argument:
        case Ref():
            return [argument]
        case Template():
            return [part for part in argument.parts if isinstance(part, Ref)]
        case Fixed():
            return []
    assert_never(argument)


def label(out: Mapping[str, object], step: Step, args: Iterable[Value], manifest: Manifest) -> dict[str, Value]:
    """A tool's answer as labelled values: no better than the manifest says and, but for what the tool itself minted,
    no better than what went in."""
    inputs = tuple(args)
    joined = least(manifest.integrity_out, *(value.integrity for value in inputs))
    labels: dict[str, object] = {"sources": (step.uid,), "how": "tool", "readers": _readers(inputs)}
    spans = out.get(SPANS)
    where = spans if isinstance(spans, Mapping) and SPANS not in manifest.returns else {}
    return {
        name: Value.model_validate(
            {"v": out[name], "type": type_, "integrity": manifest.integrity_out if name in manifest.minted else joined}
            | labels
            | ({"span": where[name], "how": "extracted"} if name in where else {})
        )
        for name, type_ in manifest.returns.items()
        if name in out
    }


def _value(argument: Argument, source: Source, guard: Value | None) -> Value:
    match argument:
        case Fixed():
            return argument.value
        case Ref():
            return _tainted(_must(argument, source), guard)
        case Template():
            parts = [part.value if isinstance(part, Fixed) else _must(part, source) for part in argument.parts]
            return _tainted(_fill(argument.text, parts), guard)
    assert_never(argument)


def _must(ref: Ref, source: Source) -> Value:
    value = source(ref)
    if value is None:
        raise Unresolved(ref)
    return value


def _fill(text: str, parts: list[Value]) -> Value:
    """One pass, so that a ``{1}`` inside of a value stays what it is: text."""
    shown = [nominal.display(part.type, part.v) for part in parts]
    filled = _PLACE.sub(lambda m: shown[int(m[1])] if int(m[1]) < len(shown) else m[0], text)
    return Value(
        v=filled,
        type="Text",
        sources=tuple(dict.fromkeys(s for part in parts for s in part.sources)),
        integrity=least(Integrity.SYSTEM, *(part.integrity for part in parts)),
        readers=_readers(parts),
        how="template",
        span=next((part.span for part in parts if part.span), None),
    )


def _stripped(
    name: str, argument: Argument, value: Value, source: Source, manifest: Manifest | None, kept: Collection[str]
) -> tuple[Value, tuple[Identifier, ...]]:
    """What comes from outside and leaves may not tell its reader where to go, call or pay; a template's own words
    and its trusted parts may."""
    text = value.v
    if manifest is None or manifest.effect in SELF_EFFECTS or manifest.role(name, value) != "content":
        return value, ()
    declared = manifest.arg(name)
    if (declared is not None and declared.type != "Text") or not isinstance(text, str):
        return value, ()
    if value.integrity != Integrity.UNTRUSTED or value.how == "endorsed":
        return value, ()
    allowed = {*kept, *(one.canonical for words in _trusted(argument, source) for one in find(words))}
    left, removed = strip(text, allowed)
    return (value.model_copy(update={"v": left, "type": "Text"}), removed) if removed else (value, ())


def _trusted(argument: Argument, source: Source) -> Iterator[str]:
    if not isinstance(argument, Template):
        return
    yield from _PLACE.split(argument.text)
    for part in argument.parts:
        value = part.value if isinstance(part, Fixed) else source(part)
        if value is not None and value.integrity != Integrity.UNTRUSTED:
            yield nominal.display(value.type, value.v)


def _readers(values: Iterable[Value]) -> tuple[str, ...] | None:
    """Who may read what is made of all of these; None: anybody."""
    limited = [set(value.readers) for value in values if value.readers is not None]
    return tuple(sorted(set.intersection(*limited))) if limited else None


def _tainted(value: Value, guard: Value | None) -> Value:
    if guard is None or least(value.integrity, guard.integrity) == value.integrity:
        return value
    return value.model_copy(update={"integrity": guard.integrity})


def _guard_value(guard: Guard | None, source: Source) -> Value | None:
    return source(Ref(step=guard.step, field=guard.field)) if guard else None


def _typed(name: str, value: Value, manifest: Manifest | None) -> Value:
    """A filled template takes the type that is asked for, if its text is a valid one (a FileName, say)."""
    arg = manifest.arg(name) if manifest else None
    if arg is None or value.how != "template" or arg.type == value.type or nominal.fault(arg.type, value.v):
        return value
    return value.model_copy(update={"type": arg.type})
