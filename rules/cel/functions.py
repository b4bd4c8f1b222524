"""The functions that expressions may call: what they take, what they give, and how they are computed."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from rules.cel.pattern import Pattern, PatternError
from rules.cel.types import Type


@dataclass(frozen=True, slots=True)
class Function:
    """``prepare`` turns the last argument, which must be a literal text, into a value when the rule is loaded."""

    takes: tuple[tuple[Type, ...], ...]
    gives: Type
    about: str
    prepare: Callable[[Any], Any] | None = None


_UNITS = {"w": 604_800, "d": 86_400, "h": 3600, "m": 60, "s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_PART = re.compile(r"(\d{1,12}(?:\.\d{1,9})?|\.\d{1,9})(ms|us|ns|[wdhms])")


def parse_duration(text: str) -> timedelta:
    """CEL's form (``1h30m``, ``-1.5s``) and, beyond it, ``d`` (24 hours) and ``w``."""
    body = text[1:] if text[:1] in ("-", "+") else text
    if body == "0":
        return timedelta()
    if not body or _PART.sub("", body):
        raise ValueError(f"not a duration: {text!r}; write such as '36h' or '5d'")
    seconds = sum(float(count) * _UNITS[unit] for count, unit in _PART.findall(body))
    if seconds > 315_576_000_000:
        raise ValueError(f"too long: {text!r}")
    return timedelta(seconds=-seconds if text[0] == "-" else seconds)


def parse_timestamp(text: str) -> datetime:
    """RFC 3339 with an offset."""
    try:
        value = datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f"not a timestamp: {text!r}; write such as '2026-01-31T00:00:00Z'") from error
    if value.tzinfo is None:
        raise ValueError(f"the timestamp {text!r} has no offset; end it with 'Z' or '+01:00'")
    return value.astimezone(UTC)


def parse_pattern(text: str) -> Pattern:
    try:
        return Pattern(text)
    except PatternError as error:
        raise ValueError(f"the pattern {text!r} is not supported: {error}") from error


_TEXT: tuple[Type, ...] = ("string",)

FUNCTIONS: dict[str, Function] = {
    "size": Function((("string", "list"),), "int", "characters of a text, items of a list"),
    "contains": Function((_TEXT, _TEXT), "bool", "the text holds the other text"),
    "startsWith": Function((_TEXT, _TEXT), "bool", "the text begins with the other"),
    "endsWith": Function((_TEXT, _TEXT), "bool", "the text ends with the other"),
    "matches": Function((_TEXT, _TEXT), "bool", "the pattern (RE2's syntax) is found in the text", parse_pattern),
    "lower": Function((_TEXT,), "string", "the text in lower case"),
    "abs": Function((("int", "double", "money"),), "dyn", "without its sign"),
    "resembles": Function((_TEXT, _TEXT), "bool", "two names share a telling word: 'ACME GmbH' and 'Acme Energy'"),
    "weekday": Function((("timestamp",),), "string", "the day of the week, in the owner's zone: 'mon', 'tue', ..."),
    "hour": Function((("timestamp",),), "int", "the hour of the day, in the owner's zone: 0 to 23"),
    "duration": Function((_TEXT,), "duration", "a length of time: '36h', '5d' (days of 24 hours)", parse_duration),
    "timestamp": Function((_TEXT,), "timestamp", "an instant: '2026-01-31T00:00:00Z'", parse_timestamp),
}
