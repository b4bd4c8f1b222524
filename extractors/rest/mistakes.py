"""Mistakes: what pydantic says about a definition, each at its line and column, with a suggestion."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from extractors.rest.expression import Misplaced
from schemas.document import KEY, Document
from schemas.errors import RuleError
from schemas.suggest import did_you_mean

Step = int | str


def mistakes(document: Document, error: ValidationError, model: type[BaseModel]) -> Iterator[RuleError]:
    """One for each cause: a list whose items are wrong is not also too short."""
    found = error.errors()
    outer = {details["loc"][:length] for details in found for length in range(len(details["loc"]))}
    for details in found:
        if details["type"] == "too_short" and details["loc"] in outer:
            continue
        path, owner = _walk(model, details["loc"])
        yield _located(document, details, path, owner)


def _located(document: Document, details: ErrorDetails, path: Sequence[Step], owner: type[BaseModel]) -> RuleError:
    name = next((str(step) for step in reversed(path) if isinstance(step, str)), "the definition")
    trail = document.trail((), tuple(path))
    match details["type"]:
        case "missing":
            return document.error(f"{name!r} is missing", trail, remedy="add it")
        case "extra_forbidden":
            known = [field.alias or key for key, field in owner.model_fields.items()]
            place = document.trail((), (*path, KEY))
            return document.error(f"unknown key {name!r}", place, remedy=did_you_mean(name, known) or "remove it")
        case "literal_error":
            known = re.findall(r"'([^']*)'", str(details.get("ctx", {}).get("expected", "")))
            remedy = did_you_mean(str(details["input"]), known)
            return document.error(f"unknown {name} {details['input']!r}", trail, remedy=remedy)
        case "union_tag_invalid":
            context = details["ctx"]
            key = str(context["discriminator"]).strip("'")
            known = re.findall(r"'([^']*)'", str(context["expected_tags"]))
            place = document.trail((), (*path, key))
            remedy = did_you_mean(str(context["tag"]), known)
            return document.error(f"unknown {key} {context['tag']!r}", place, remedy=remedy)
        case "union_tag_not_found":
            key = str(details["ctx"]["discriminator"]).strip("'")
            return document.error(f"{name!r} does not say its {key}", trail, remedy=f"add '{key}: ...'")
        case "string_pattern_mismatch":
            message = f"{name} {str(details['input'])[:60]!r} has the wrong form"
            return document.error(message, trail, remedy=f"it must match {details['ctx']['pattern']}")
        case "value_error" if isinstance(wrong := details["ctx"]["error"], Misplaced):
            return document.error(wrong.message, trail, offset=wrong.offset, remedy=wrong.remedy)
        case "value_error":
            message, _, remedy = str(details["ctx"]["error"]).partition("; ")
            return document.error(message, trail, remedy=remedy)
        case _:
            message = details["msg"]
            return document.error(f"{name}: {message[:1].lower()}{message[1:]}", trail)


def _walk(model: type[BaseModel], loc: Sequence[Step]) -> tuple[list[Step], type[BaseModel]]:
    """The steps that stand in the file, without the tags of variants; and the model that holds the last one."""
    path: list[Step] = []
    owner, here = model, [model]
    for step in loc:
        models = [found for found in here if isinstance(found, type) and issubclass(found, BaseModel)]
        if len(models) > 1 and (variant := _variant(models, step)) is not None:
            owner, here = variant, [variant]
            continue
        path.append(step)
        if models:
            owner = models[0]
            here = _inside(_annotation(owner, step))
        else:
            here = [inner for found in here for inner in _items(found)]
    return path, owner


def _annotation(model: type[BaseModel], step: Step) -> Any:
    for key, field in model.model_fields.items():
        if step in (key, field.alias):
            return field.annotation
    return None


def _variant(models: Sequence[type[BaseModel]], tag: Step) -> type[BaseModel] | None:
    for model in models:
        for key in ("type", "mode"):
            field = model.model_fields.get(key)
            if field is not None and tag in get_args(field.annotation):
                return model
    return None


def _inside(annotation: Any) -> list[Any]:
    """The alternatives of an annotation, without Annotated and None."""
    if get_origin(annotation) is Annotated:
        return _inside(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        return [found for arg in get_args(annotation) for found in _inside(arg)]
    return [] if annotation in (None, type(None)) else [annotation]


def _items(annotation: Any) -> list[Any]:
    """What a tuple or the values of a dict hold."""
    args = [arg for arg in get_args(annotation) if arg is not Ellipsis]
    return _inside(args[-1]) if args else []
