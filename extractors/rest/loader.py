"""Definition files: read, checked as a whole, and every mistake told with file, line, column and remedy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from pydantic import ValidationError

from extractors.rest.checks import complaints
from extractors.rest.definition import Definition
from extractors.rest.mistakes import mistakes
from schemas.document import Document
from schemas.errors import ConfigError, Location, RuleError
from schemas.suggest import did_you_mean
from schemas.yaml_text import read, text_of

EXAMPLES = Path(__file__).parent / "examples"
NOUN = "definition"


class DefinitionErrors(ConfigError):
    """All mistakes of one definition; ``str`` has one line for each."""

    def __init__(self, errors: Iterable[RuleError]) -> None:
        self.errors = tuple(sorted(errors, key=lambda e: (e.location.line, e.location.column)))
        super().__init__("\n".join(map(str, self.errors)))


def examples() -> list[str]:
    """The names of the definitions that ship."""
    return sorted(path.stem for path in EXAMPLES.glob("*.yaml"))


def load(source: str) -> Definition:
    """The definition in a file, or the one that ships under this name. Blocks. DefinitionErrors, ConfigError."""
    if source in examples():
        return parsed((EXAMPLES / f"{source}.yaml").read_text("utf-8"), f"{source}.yaml")
    path = Path(source).expanduser()
    if path.suffix not in (".yaml", ".yml"):
        remedy = did_you_mean(source, examples()) or "give the path of a .yaml file"
        raise ConfigError(f"there is no definition {source!r}", remedy=remedy)
    try:
        return parsed(text_of(path), str(path))
    except RuleError as error:
        raise DefinitionErrors([error]) from error


@lru_cache(maxsize=50)
def parsed(text: str, file: str) -> Definition:
    """DefinitionErrors with every mistake that can be told at once."""
    try:
        document = read(text, file, NOUN)
    except RuleError as error:
        raise DefinitionErrors([error]) from error
    if not isinstance(document.data, dict):
        wrong = RuleError("this is no definition", Location(file, 1, 1), remedy="begin with 'kind: rest'")
        raise DefinitionErrors([wrong])
    try:
        definition = Definition.model_validate(document.data)
    except ValidationError as error:
        raise DefinitionErrors(mistakes(document, error, Definition)) from error
    if errors := [*_located(document, definition)]:
        raise DefinitionErrors(errors)
    return definition


def _located(document: Document, definition: Definition) -> Iterator[RuleError]:
    for found in complaints(definition):
        yield document.error(found.message, document.trail((), found.path), offset=found.offset, remedy=found.remedy)
