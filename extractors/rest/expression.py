"""Expressions over rows and answers: JMESPath, a standard language that can only read JSON."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Annotated, Any

import jmespath
from jmespath.exceptions import JMESPathError, ParseError
from jmespath.functions import Functions
from pydantic import AfterValidator, Field

from schemas.model import Json
from schemas.suggest import did_you_mean

LENGTH_CAP = 500


class Misplaced(ValueError):
    """A mistake inside a text of the definition, ``offset`` characters from its start."""

    def __init__(self, message: str, offset: int = 0, remedy: str = "") -> None:
        super().__init__(message)
        self.message, self.offset, self.remedy = message, offset, remedy


class Unfit(ValueError):
    """An expression that does not fit this row or answer: a function was given what it cannot work on."""


def _checked(text: str) -> str:
    try:
        parsed = _compiled(text).parsed
    except ParseError as error:
        raise Misplaced(f"not a JMESPath expression: {text!r}", max(error.lex_position, 0)) from error
    except (JMESPathError, RecursionError, ValueError) as error:
        raise Misplaced(f"not a JMESPath expression: {text!r}") from error
    for name in _functions(parsed):
        if name not in Functions.FUNCTION_TABLE:
            remedy = did_you_mean(name, Functions.FUNCTION_TABLE)
            raise Misplaced(f"JMESPath has no function {name!r}", max(text.find(name), 0), remedy)
    return text


Expression = Annotated[str, Field(min_length=1, max_length=LENGTH_CAP), AfterValidator(_checked)]
"""The text of a JMESPath expression that parses and calls functions that exist."""


def search(expression: str, document: Json) -> Json:
    """What the expression finds; None where nothing is. Unfit when it cannot be evaluated here."""
    try:
        found: Json = _compiled(expression).search(document)
    except (JMESPathError, RecursionError, ArithmeticError, TypeError, ValueError) as error:
        first = str(error).partition("\n")[0]
        raise Unfit(f"{expression!r}: {first[:200]}") from error
    return found


def holds(expression: str, document: Json) -> bool:
    """JMESPath's truth: null, false and what is empty are false; so is what cannot be evaluated."""
    try:
        found = search(expression, document)
    except Unfit:
        return False
    return found is not None and found is not False and found not in ("", [], {})


@lru_cache(maxsize=2_000)
def _compiled(text: str) -> Any:
    return jmespath.compile(text)


def _functions(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if node.get("type") == "function_expression":
            yield str(node["value"])
        for child in node.get("children", ()):
            yield from _functions(child)
