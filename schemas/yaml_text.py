"""YAML 1.2 with the place of every value: bounded, without anchors, tags or duplicate keys."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    DocumentStartEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceStartEvent,
)

from schemas.document import Document, Place, Trail
from schemas.errors import Location, RuleError

MAX_BYTES = 1_000_000
MAX_LINE = 10_000
"""Characters; the scanner takes time quadratic in the length of some lines."""
MAX_DEPTH = 16
MAX_VALUES = 50_000

_READ_DIFFERENTLY = re.compile(r"[\t\x85\u2028\u2029\ufeff]|[^\n]\Z")
"""Where libyaml, fifteen times as fast as the parser in Python but for YAML 1.1, does not mean the same: tabs, some
line breaks, and the place of an empty value in a last line without an end."""

_CORE = (
    (re.compile(r"null|Null|NULL|~|"), lambda text: None),
    (re.compile(r"true|True|TRUE"), lambda text: True),
    (re.compile(r"false|False|FALSE"), lambda text: False),
    (re.compile(r"[-+]?[0-9]{1,18}"), int),
    (re.compile(r"[-+]?(\.[0-9]{1,18}|[0-9]{1,18}(\.[0-9]{0,18})?)([eE][-+]?[0-9]{1,2})?"), float),
)
"""YAML 1.2's core schema, so that ``on`` stays a word and ``12:30`` a text; numbers are bounded."""


def _scalar(event: ScalarEvent) -> Any:
    if event.implicit[0]:
        for pattern, make in _CORE:
            if pattern.fullmatch(event.value):
                return make(event.value)
    return event.value


def _place(event: Any) -> Place:
    style = getattr(event, "style", None)
    inset = {None: 0, "": 0, "'": 1, '"': 1}.get(style) if isinstance(event, ScalarEvent) else 0
    if event.start_mark.line != event.end_mark.line:
        inset = None
    return Place(event.start_mark.line + 1, event.start_mark.column + 1, inset)


class _Builder:
    """Folds YAML events into data and places, without recursion, refusing what such files never need."""

    def __init__(self, file: str, noun: str) -> None:
        self._noun = noun
        self.document = Document(file)
        self._stack: list[tuple[Any, Trail]] = []
        self._keys: list[str | None] = []
        self._values = 0
        self._documents = 0

    def take(self, event: Any) -> None:
        if isinstance(event, AliasEvent) or getattr(event, "anchor", None):
            raise self._error(event, f"anchors and aliases are not allowed in {self._noun}s", "write the value out")
        if getattr(event, "tag", None):
            raise self._error(event, f"tags are not allowed in {self._noun}s", "remove the '!...'")
        if isinstance(event, DocumentStartEvent):
            self._start_document(event)
        elif isinstance(event, (MappingStartEvent, SequenceStartEvent)):
            self._open(event, {} if isinstance(event, MappingStartEvent) else [])
        elif isinstance(event, CollectionEndEvent):
            self._stack.pop()
            self._keys.pop()
        elif isinstance(event, ScalarEvent):
            self._take_scalar(event)

    def _start_document(self, event: Any) -> None:
        self._documents += 1
        if self._documents > 1:
            raise self._error(event, f"a {self._noun} holds one document", "remove the second '---'")

    def _open(self, event: Any, container: Any) -> None:
        if len(self._stack) >= MAX_DEPTH:
            raise self._error(event, f"nested deeper than {MAX_DEPTH} levels", "flatten it")
        if self._expects_key():
            raise self._error(event, "a key must be a word", "put a text that begins with '{' in quotes")
        path = self._attach(event, container)
        self._stack.append((container, path))
        self._keys.append(None)

    def _take_scalar(self, event: ScalarEvent) -> None:
        if not self._expects_key():
            self._attach(event, _scalar(event))
            return
        container, path = self._stack[-1]
        if event.value in container:
            raise self._error(event, f"the key {event.value!r} is here twice", "keep one of them")
        container[event.value] = None
        self._keys[-1] = event.value
        self.document.places[(*path, event.value, "?")] = _place(event)

    def _expects_key(self) -> bool:
        return bool(self._stack) and isinstance(self._stack[-1][0], dict) and self._keys[-1] is None

    def _attach(self, event: Any, value: Any) -> Trail:
        self._values += 1
        if self._values > MAX_VALUES:
            raise self._error(event, f"more than {MAX_VALUES:,} values in one file", "split it")
        if not self._stack:
            self.document.data = value
            self.document.places[()] = _place(event)
            return ()
        container, path = self._stack[-1]
        key: str | int = len(container)
        if isinstance(container, dict):
            key = str(self._keys[-1])
            self._keys[-1] = None
            container[key] = value
        else:
            container.append(value)
        self.document.places[(*path, key)] = _place(event)
        return (*path, key)

    def _error(self, event: Any, message: str, remedy: str) -> RuleError:
        place = _place(event)
        return RuleError(message, Location(self.document.file, place.line, place.column), remedy=remedy)


def read(text: str, file: str, noun: str = "rule file") -> Document:
    """The data of a YAML text with places; RuleError at the first thing that is not allowed. ``noun``: what the
    messages call such a file."""
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > MAX_LINE:
            message = f"a line longer than {MAX_LINE:,} characters"
            raise RuleError(message, Location(file, number, MAX_LINE), remedy="break it")
    if not _READ_DIFFERENTLY.search(text):
        with suppress(YAMLError):  # the slow parser words mistakes better, and takes a little more
            return _built(YAML(typ="safe").parse(text), file, noun)
    try:
        return _built(YAML(typ="safe", pure=True).parse(text), file, noun)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = Location(file, mark.line + 1, mark.column + 1) if mark else Location(file, 1, 1)
        remedy = "indent with spaces" if "'\\t'" in str(error.problem) else ""
        raise RuleError(f"not YAML: {error.problem or error.context}", where, remedy=remedy) from error
    except YAMLError as error:
        first = str(error).splitlines()[0]
        raise RuleError(f"not YAML: {first}", Location(file, 1, 1)) from error


def _built(events: Iterable[Any], file: str, noun: str) -> Document:
    builder = _Builder(file, noun)
    for event in events:
        builder.take(event)
    return builder.document


def text_of(path: Path) -> str:
    """The text of a small UTF-8 file; RuleError for one that cannot be read. Blocks."""
    where = Location(str(path), 1, 1)
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise RuleError(f"cannot read the file: {error.strerror}", where, remedy="check its name and rights") from error
    if len(raw) > MAX_BYTES:
        raise RuleError(f"larger than {MAX_BYTES:,} bytes", where, remedy="split it into several files")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RuleError("not UTF-8", where, remedy="save the file as UTF-8") from error
