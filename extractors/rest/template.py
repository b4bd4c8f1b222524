"""Templates: texts with ``{bind.id}``, ``{config.region}`` and ``{cursor}`` in them, and nothing else.

A bare ``{id}`` is ``{bind.id}``; ``{{`` and ``}}`` are braces. There is no evaluation: a name is looked up or refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from extractors.rest.expression import Misplaced
from schemas.model import Json
from schemas.suggest import did_you_mean

Scalar = str | int

_PART = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
_NAME = re.compile(r"(?:(bind|config)\.)?([A-Za-z][A-Za-z0-9_]{0,39})")


class Empty(ValueError):
    """A template needs a value that is not there, or that would change what it is put into."""


@dataclass(frozen=True, slots=True)
class Name:
    scope: Literal["bind", "config", "cursor"]
    key: str
    offset: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Scope:
    """What templates may see. ``cursor`` is None where nothing was read yet."""

    bind: Mapping[str, Scalar] = field(default_factory=dict)
    config: Mapping[str, Scalar] = field(default_factory=dict)
    cursor: Scalar | None = None

    def value(self, name: Name) -> Scalar | None:
        if name.scope == "cursor":
            return self.cursor
        values = self.bind if name.scope == "bind" else self.config
        if name.key not in values:
            raise Empty(f"there is no {name.scope}.{name.key}")
        return values[name.key]


def parts(text: str) -> Iterator[str | Name]:
    """The pieces of a template; Misplaced for anything but the three kinds of name."""
    at = 0
    for match in _PART.finditer(text):
        yield text[at : match.start()]
        at = match.end()
        if match.group() in ("{{", "}}"):
            yield match.group()[0]
        else:
            yield _name(match)
    yield text[at:]


def _name(match: re.Match[str]) -> Name:
    inside, offset = match.group(1), match.start()
    if inside == "cursor":
        return Name("cursor", "cursor", offset)
    found = _NAME.fullmatch(inside or "")
    if found is None:
        remedy = "only {cursor}, {bind.NAME} and {config.NAME} may stand in braces; write a brace as '{{' or '}}'"
        raise Misplaced(f"not a name: {match.group()!r}", offset, remedy)
    return Name("config" if found.group(1) == "config" else "bind", found.group(2), offset)


def check(text: str, bind: Collection[str], config: Collection[str], *, cursor: bool) -> None:
    """Misplaced for a name that will not be there."""
    for part in parts(text):
        if not isinstance(part, Name):
            continue
        if part.scope == "cursor":
            if not cursor:
                raise Misplaced("there is no cursor here", part.offset, "give the stream an 'incremental'")
            continue
        known = bind if part.scope == "bind" else config
        if part.key not in known:
            home = "foreach.bind" if part.scope == "bind" else "the top-level 'config'"
            remedy = did_you_mean(part.key, known) or f"name it in {home}"
            raise Misplaced(f"unknown name {part.scope}.{part.key}", part.offset, remedy)


def render(text: str, scope: Scope, safe: Callable[[str], str] = str) -> str | None:
    """The text with every name replaced by ``safe(value)``; None where it needs a cursor and there is none yet."""
    found: list[str] = []
    for part in parts(text):
        if isinstance(part, str):
            found.append(part)
            continue
        value = scope.value(part)
        if value is None:
            return None
        found.append(safe(str(value)))
    return "".join(found)


def fill(value: Json, scope: Scope) -> Json:
    """JSON with the templates in its texts filled in. A text that is one name becomes that value, a number stays one;
    what needs a cursor that is not there is left out."""
    if isinstance(value, str):
        pieces = [part for part in parts(value) if part != ""]
        if len(pieces) == 1 and isinstance(pieces[0], Name):
            return scope.value(pieces[0])
        return render(value, scope)
    if isinstance(value, list):
        return [filled for item in value if (filled := fill(item, scope)) is not None or item is None]
    if isinstance(value, dict):
        return {key: filled for key, item in value.items() if (filled := fill(item, scope)) is not None or item is None}
    return value


def texts(value: Json, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Every text inside JSON, with the way to it."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from texts(item, (*path, number))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from texts(item, (*path, key))
