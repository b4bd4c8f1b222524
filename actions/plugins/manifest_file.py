"""Reads plugin manifests from YAML; what is wrong is said with file, line and column, and what to do about it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from actions.plugins.manifest import PluginManifest, PluginTool
from schemas.document import KEY, Document, Trail
from schemas.errors import RuleError
from schemas.yaml_text import read, text_of

_NOUN = "plugin manifest"


def load(file: Path, home: Path) -> PluginManifest:
    """RuleError names the place of the first mistake. ``home``: the folder that no plugin may be let into."""
    manifest = parse(text_of(file), str(file))
    document = read(text_of(file), str(file), _NOUN)
    if manifest.plugin != file.stem:
        raise document.error(f"plugin {manifest.plugin!r} is in the file of another name", ("plugin",),
                             remedy=f"name the file {manifest.plugin}.yaml")  # fmt: skip
    for place in manifest.forbidden_places(home):
        trail = next((at for at, _ in document.places.items() if _value(document, at) == str(place)), ())
        raise document.error(f"{place} would let the plugin into Forewatch's own files", trail,
                             remedy="declare a folder beside it")  # fmt: skip
    return manifest


def parse(text: str, file: str) -> PluginManifest:
    document = read(text, file, _NOUN)
    if not isinstance(document.data, dict):
        raise document.error(f"a {_NOUN} is a mapping", (), remedy="start with `plugin: name`")
    try:
        return PluginManifest.model_validate(document.data)
    except ValidationError as error:
        raise wrong(document, (), error) from error


def wrong(document: Document, start: Trail, error: ValidationError) -> RuleError:
    """The first fault of a model that was made from ``start`` on, at its place in the file."""
    first = error.errors(include_url=False)[0]
    at = (*start, *first["loc"])
    message, trail = _words(first, at), at
    if first["type"] == "extra_forbidden":
        trail = (*at, KEY)
    while trail and trail not in document.places:
        trail = trail[:-1]
    return document.error(message, trail)


def _words(error: Mapping[str, Any], at: Trail) -> str:
    name = ".".join(str(part) for part in at)
    if error["type"] == "extra_forbidden":
        return f"unknown key {name!r}; {_suggestion(str(at[-1]))}"
    if error["type"] == "missing":
        return f"{name!r} is missing; add it"
    message = str(error["msg"]).removeprefix("Value error, ")
    message = f"{message[:1].lower()}{message[1:]}"
    return f"{name}: {message}" if name else message


def _suggestion(word: str) -> str:
    known = [*PluginManifest.model_fields, *(f.alias or name for name, f in PluginTool.model_fields.items())]
    near = difflib.get_close_matches(word, _known(known), 1)
    return f"did you mean {near[0]!r}?" if near else "remove it"


def _known(names: Iterable[str]) -> list[str]:
    return sorted(set(names) | {"hosts", "files", "limits", "read", "write", "host", "methods", "paths", "credential"})


def _value(document: Document, trail: Trail) -> object:
    here: Any = document.data
    for step in trail:
        if step == KEY:
            return None
        here = here[step]
    return here
