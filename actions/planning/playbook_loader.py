"""Reads playbooks from YAML; what is wrong is said with file, line and column, and what to do about it."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from actions.planning.playbook import FORMS, Playbook, RefArg, StepSpec, TextArg, places, text_refs
from actions.run import waits
from actions.tools.tool import Manifest, Registry
from schemas.document import KEY, Document, Trail
from schemas.errors import RuleError
from schemas.yaml_text import read, text_of

SHIPPED = Path(__file__).parents[1] / "playbooks"
PLUGINS = "mcp."
"""How the names of tools begin that come and go with a plugin."""


def load_all(
    tools: Registry, folders: tuple[Path, ...] = (SHIPPED,), *, partial: Collection[Path] = ()
) -> dict[str, Playbook]:
    """Playbooks by id; one of a later folder replaces its namesake. ConfigError for the first that is wrong.

    ``partial``: folders whose playbooks may name tools that are not set up here; such steps are left out of plans, and
    so are those of a plugin that is gone.
    """
    files = [(file, folder in partial) for folder in folders for file in sorted(folder.glob("*.yaml"))]
    read_ = [_read(file, tools, is_partial=is_partial) for file, is_partial in files]
    found = {playbook.id: playbook for playbook, _ in read_}
    for playbook, document in read_:
        for at, step in _everywhere(playbook.steps, ("steps",)):
            for number, way in enumerate(step.otherwise):
                if way.playbook and (way.playbook not in found or way.playbook == playbook.id):
                    others = [name for name in found if name != playbook.id]
                    message = f"no other playbook {way.playbook!r}; {_suggest(way.playbook, others)}"
                    raise _wrong(document, (*at, "otherwise", number, "playbook"), message)
    return found


def load(file: Path, tools: Registry) -> Playbook:
    """One playbook, checked against the tools that are there."""
    return _read(file, tools)[0]


def _read(file: Path, tools: Registry, *, is_partial: bool = False) -> tuple[Playbook, Document]:
    text = text_of(file)
    document = read(text, str(file), "playbook")
    if not isinstance(document.data, dict):
        raise document.error("a playbook is a mapping", (), remedy="start with `id: my-playbook`")
    try:
        playbook = Playbook.model_validate(document.data | {"sha": hashlib.sha256(text.encode()).hexdigest()})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        at = tuple(part for part in first["loc"] if part not in (*FORMS, "literal"))
        raise _wrong(document, at, _words(first, at)) from error
    for at, message in _faults(playbook, tools, is_partial=is_partial):
        raise _wrong(document, at, message)
    return playbook, document


def _everywhere(steps: Sequence[StepSpec], at: Trail) -> Iterator[tuple[Trail, StepSpec]]:
    """Every step with its place, those of other ways on too."""
    for number, step in enumerate(steps):
        yield (*at, number), step
        for other, way in enumerate(step.otherwise):
            yield from _everywhere(way.steps, (*at, number, "otherwise", other, "steps"))


def _words(error: Mapping[str, Any], at: Trail) -> str:
    name = ".".join(str(part) for part in at)
    if error["type"] == "extra_forbidden":
        return f"unknown key {name!r}; remove it"
    if error["type"] == "missing":
        return f"{name!r} is missing; add it"
    message = str(error["msg"]).removeprefix("Value error, ")
    return f"{name}: {message[:1].lower()}{message[1:]}"


def _faults(playbook: Playbook, tools: Registry, *, is_partial: bool) -> Iterator[tuple[Trail, str]]:
    named: set[str] = set()
    for at, step in _everywhere(playbook.steps, ("steps",)):
        if step.id in named:
            yield (*at, "id"), f"step {step.id} is there twice; number the steps s1, s2, ..."
        named.add(step.id)
        if tools.known(step.tool) or not (is_partial or step.tool.startswith(PLUGINS)):
            yield from _tool_faults(step, at, tools)
        yield from _slot_faults(playbook, step, at)
    yield from _order_faults(playbook.steps, ("steps",), [])


def _order_faults(steps: Sequence[StepSpec], at: Trail, before: list[str]) -> Iterator[tuple[Trail, str]]:
    """Another way on knows what came before the step whose place it takes, and not that step."""
    seen = list(before)
    for number, step in enumerate(steps):
        for name in (*step.after, *step.only_after, *_referenced(step)):
            if name not in seen:
                message = f"{step.id} refers to {name!r}, which is not an earlier step; earlier: {', '.join(seen)}"
                yield (*at, number), message
        for other, way in enumerate(step.otherwise):
            yield from _order_faults(way.steps, (*at, number, "otherwise", other, "steps"), seen)
        seen.append(step.id)


def _referenced(step: StepSpec) -> list[str]:
    refs = [arg.step for arg in step.args.values() if isinstance(arg, RefArg)]
    refs += [ref.step for arg in step.args.values() if isinstance(arg, TextArg) for ref in text_refs(arg.text)]
    return [*refs, step.when.ref.split(".")[0]] if step.when else refs


def _tool_faults(step: StepSpec, at: Trail, tools: Registry) -> Iterator[tuple[Trail, str]]:
    manifest = tools.known(step.tool)
    if manifest is None:
        yield (*at, "tool"), f"unknown tool {step.tool!r}; {_suggest(step.tool, tools.names())}"
        return
    for name in step.args:
        if manifest.arg(name) is None and not manifest.is_open(name):
            yield (*at, "args", name), f"{step.tool} has no argument {name!r}; {_suggest(name, list(manifest.args))}"
        elif step.tool == waits.EVENT and name.startswith(waits.MATCH) and waits.field_fault(name):
            yield (*at, "args", name), waits.field_fault(name)
    yield from _repeat_faults(step, at, manifest)
    for name, arg in manifest.args.items():
        if arg.required and name not in step.args:
            yield at, f"{step.tool} needs the argument {name!r} ({arg.type}); add it"


def _repeat_faults(step: StepSpec, at: Trail, manifest: Manifest) -> Iterator[tuple[Trail, str]]:
    if step.repeat is None:
        return
    if manifest.effect_class != "pure" or manifest.effect == "wait":
        yield (*at, "repeat"), f"{step.tool} cannot be repeated: only a question can"
    elif step.repeat.field not in manifest.returns:
        has = list(manifest.returns)
        yield (
            (*at, "repeat", "field"),
            f"{step.tool} returns no {step.repeat.field!r}; {_suggest(step.repeat.field, has)}",
        )


def _slot_faults(playbook: Playbook, step: StepSpec, at: Trail) -> Iterator[tuple[Trail, str]]:
    known = playbook.types()
    if step.repeat and step.repeat.slot and step.repeat.slot not in known:
        yield (*at, "repeat", "slot"), f"unknown slot {step.repeat.slot!r}; {_suggest(step.repeat.slot, list(known))}"
    for name in step.needs:
        if name not in known:
            yield (*at, "needs"), f"unknown slot {name!r}; {_suggest(name, list(known))}"
    for arg_name, arg in step.args.items():
        used = places(arg.text) if isinstance(arg, TextArg) else step.slots(arg_name)
        for name in sorted(used - set(known)):
            yield (*at, "args", arg_name), f"unknown slot {name!r}; {_suggest(name, list(known))}"


def _suggest(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, 1)
    return f"did you mean {close[0]!r}?" if close else f"use one of {', '.join(known)}"


def _wrong(document: Document, at: Trail, message: str) -> RuleError:
    """At the key of the deepest part of ``at`` that is in the file, or at the item of a list."""
    while at and at not in document.places:
        at = at[:-1]
    key = (*at, KEY)
    return document.error(message, key if key in document.places else at)
