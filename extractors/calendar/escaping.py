"""Escaping: TEXT values as people wrote them (RFC 5545, 3.3.11)."""

from __future__ import annotations

import re

_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_COMMA = re.compile(r"(?<!\\),")


def unescape(value: str) -> str:
    """A backslash before anything but ``n`` stands for what follows it."""
    return _ESCAPE.sub(lambda found: "\n" if found[1] in "nN" else found[1], value)


def split_list(value: str) -> list[str]:
    return [unescape(item).strip() for item in _COMMA.split(value)]
